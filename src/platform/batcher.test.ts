import { describe, expect, jest, test } from "bun:test";
import { createBatcher } from "./batcher.ts";

function scene() {
  const handedOver: string[][] = [];
  const batches = createBatcher<string>({ size: 3, withinMs: 20, onFlush: (items) => handedOver.push([...items]) });
  return { handedOver, batches };
}

describe("what nobody waits for", () => {
  test("is handed over in order once enough has gathered, not before", () => {
    const { handedOver, batches } = scene();
    for (const item of ["a", "b"]) batches.add(item);
    expect(handedOver).toEqual([]);
    for (const item of ["c", "d", "e", "f", "g"]) batches.add(item);
    batches.flush();
    expect(handedOver).toEqual([["a", "b", "c"], ["d", "e", "f"], ["g"]]);
  });

  test("is handed over after a while, however little it is", () => {
    jest.useFakeTimers();
    try {
      const { handedOver, batches } = scene();
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

  test("is handed over at once by a flush, and only once", () => {
    const { handedOver, batches } = scene();
    batches.add("a");
    batches.flush();
    batches.flush();
    expect(handedOver).toEqual([["a"]]);
  });
});
