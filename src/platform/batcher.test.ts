import { describe, expect, jest, test } from "bun:test";
import { createBatcher } from "./batcher.ts";

function setUp() {
  const handedOver: string[][] = [];
  const batches = createBatcher<string>({ size: 3, withinMs: 20, onFlush: (items) => handedOver.push([...items]) });
  return { handedOver, batches };
}

describe("a batch", () => {
  test("is delivered in order once it is large enough, not before", () => {
    const { handedOver, batches } = setUp();
    for (const item of ["a", "b"]) batches.add(item);
    expect(handedOver).toEqual([]);
    for (const item of ["c", "d", "e", "f", "g"]) batches.add(item);
    batches.flush();
    expect(handedOver).toEqual([["a", "b", "c"], ["d", "e", "f"], ["g"]]);
  });

  test("is delivered after a delay, however small it is", () => {
    jest.useFakeTimers();
    try {
      const { handedOver, batches } = setUp();
      batches.add("a");
      jest.advanceTimersByTime(19);
      expect(handedOver).toEqual([]);
      jest.advanceTimersByTime(1);
      expect(handedOver).toEqual([["a"]]);
      batches.add("b");
      jest.advanceTimersByTime(20);
      expect(handedOver).toEqual([["a"], ["b"]]);
    } finally {
      jest.useRealTimers();
    }
  });
});
