import { describe, expect, test } from "bun:test";
import { coalescePerTurn, oneTaskPerTurn } from "./event-loop-turns.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("items of one turn of the event loop", () => {
  test("are delivered together and in order at its end, not before", async () => {
    const handedOver: string[][] = [];
    const coalesce = coalescePerTurn<string>((items) => handedOver.push([...items]));
    coalesce("a");
    await Promise.resolve();
    coalesce("b");
    expect(handedOver).toEqual([]);
    await nextTurn();
    expect(handedOver).toEqual([["a", "b"]]);
    coalesce("c");
    await nextTurn();
    expect(handedOver).toEqual([["a", "b"], ["c"]]);
  });

  test("go to the next turn if they are added during the delivery of the last one", async () => {
    const handedOver: number[][] = [];
    const coalesce = coalescePerTurn<number>((items) => {
      handedOver.push([...items]);
      if (items[0] === 1) coalesce(2);
    });
    coalesce(1);
    await nextTurn();
    expect(handedOver).toEqual([[1]]);
    await nextTurn();
    expect(handedOver).toEqual([[1], [2]]);
  });
});

describe("turns for long work", () => {
  test("are granted one by one, in the requested order, with a turn of the event loop before each", async () => {
    const turn = oneTaskPerTurn();
    const order: string[] = [];
    const work = async (name: string) => {
      await turn();
      order.push(`${name}1`);
      await turn();
      order.push(`${name}2`);
    };
    const both = Promise.all([work("a"), work("b")]);
    await Promise.resolve();
    expect(order).toEqual([]);
    for (const seen of [["a1"], ["a1", "b1"], ["a1", "b1", "a2"], ["a1", "b1", "a2", "b2"]]) {
      await nextTurn();
      expect(order).toEqual(seen);
    }
    await both;
  });
});
