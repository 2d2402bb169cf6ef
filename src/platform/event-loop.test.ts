import { describe, expect, test } from "bun:test";
import { endsOfTicks, oneTaskPerTick } from "./event-loop.ts";

const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("the end of a tick of the event loop", () => {
  test("is one for all who wait in that tick, who go on in their order", async () => {
    const endOfTick = endsOfTicks();
    const ended: string[] = [];
    const wait = (name: string) => endOfTick().then(() => ended.push(name));
    void wait("a");
    await Promise.resolve();
    void wait("b");
    expect(ended).toEqual([]);
    await nextTick();
    expect(ended).toEqual(["a", "b"]);
    void wait("c");
    await nextTick();
    expect(ended).toEqual(["a", "b", "c"]);
  });
});

describe("ticks for long work", () => {
  test("are granted one by one, in the requested order, with a tick of the event loop before each", async () => {
    const tick = oneTaskPerTick();
    const order: string[] = [];
    const work = async (name: string) => {
      await tick();
      order.push(`${name}1`);
      await tick();
      order.push(`${name}2`);
    };
    const both = Promise.all([work("a"), work("b")]);
    await Promise.resolve();
    expect(order).toEqual([]);
    for (const seen of [["a1"], ["a1", "b1"], ["a1", "b1", "a2"], ["a1", "b1", "a2", "b2"]]) {
      await nextTick();
      expect(order).toEqual(seen);
    }
    await both;
  });
});
