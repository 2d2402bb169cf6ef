import { describe, expect, test } from "bun:test";
import { eachTurn } from "./turn.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("what a turn of the event loop brings", () => {
  test("is handed over together and in order at its end, not before", async () => {
    const handedOver: string[][] = [];
    const gather = eachTurn<string>((items) => handedOver.push([...items]));
    gather("a");
    await Promise.resolve();
    gather("b");
    expect(handedOver).toEqual([]);
    await nextTurn();
    expect(handedOver).toEqual([["a", "b"]]);
    gather("c");
    await nextTurn();
    expect(handedOver).toEqual([["a", "b"], ["c"]]);
  });

  test("goes to the next turn when it comes up while the last one's is handed over", async () => {
    const handedOver: number[][] = [];
    const gather = eachTurn<number>((items) => {
      handedOver.push([...items]);
      if (items[0] === 1) gather(2);
    });
    gather(1);
    await nextTurn();
    expect(handedOver).toEqual([[1]]);
    await nextTurn();
    expect(handedOver).toEqual([[1], [2]]);
  });
});
