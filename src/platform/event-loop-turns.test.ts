import { describe, expect, test } from "bun:test";
import { endsOfTurns, oneTaskPerTurn } from "./event-loop-turns.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("the end of a turn of the event loop", () => {
  test("is one for all who wait in that turn, who go on in their order", async () => {
    const endOfTurn = endsOfTurns();
    const ended: string[] = [];
    const wait = (name: string) => endOfTurn().then(() => ended.push(name));
    void wait("a");
    await Promise.resolve();
    void wait("b");
    expect(ended).toEqual([]);
    await nextTurn();
    expect(ended).toEqual(["a", "b"]);
    void wait("c");
    await nextTurn();
    expect(ended).toEqual(["a", "b", "c"]);
  });

  test("is that of the next turn for who asks after it", async () => {
    const endOfTurn = endsOfTurns();
    const ended: number[] = [];
    void endOfTurn().then(async () => {
      ended.push(1);
      await endOfTurn();
      ended.push(2);
    });
    await nextTurn();
    expect(ended).toEqual([1]);
    await nextTurn();
    expect(ended).toEqual([1, 2]);
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
