import { expect, test } from "bun:test";
import fc from "fast-check";
import { LruMap, limitedMemory } from "./lru-map.ts";

const step = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), key: fc.nat(5), value: fc.nat(99) }),
  fc.record({ kind: fc.constant("delete" as const), key: fc.nat(5) }),
  fc.record({ kind: fc.constant("clear" as const), key: fc.nat(5) }),
);

test("has the same entries as a plain ordered list, after any operations", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 6 }), (steps, max) => {
      const map = new LruMap<number, number>(max);
      let list: (readonly [number, number])[] = [];
      for (const { key, ...done } of steps) {
        if (done.kind === "clear") {
          map.clear();
          list = [];
          continue;
        }
        list = list.filter(([other]) => other !== key);
        if (done.kind === "delete") map.delete(key);
        else {
          map.set(key, done.value);
          list = [...list, [key, done.value] as const].slice(-max);
        }
        expect(map.get(key)).toBe(done.kind === "set" ? done.value : undefined);
      }
      expect([...map.values()]).toEqual(list.map(([, value]) => value));
      expect(map.size).toBe(list.length);
    }),
  );
});

test("a memory forgets what nobody has remembered for too long, and the oldest when it is full", () => {
  const memory = limitedMemory<string>({ remembered: 2, remembered_ms: 1_000 });
  memory.remember("a", "flash", 0);
  memory.remember("b", "flash", 0);
  memory.remember("a", "pro", 1);
  memory.remember("c", "flash", 1);
  expect(["a", "b", "c"].map((key) => memory.recall(key, 1_001))).toEqual(["pro", undefined, "flash"]);
  expect(memory.recall("a", 1_002)).toBeUndefined();
});
