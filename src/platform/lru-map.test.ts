import { expect, test } from "bun:test";
import fc from "fast-check";
import { LruMap } from "./lru-map.ts";

test("the entries longest without a set are removed first", () => {
  const map = new LruMap<string, number>();
  map.set("a", 1);
  map.set("b", 2);
  map.set("c", 3);
  map.set("a", 4);
  map.get("b");
  map.trim(2);
  expect([...map.values()]).toEqual([3, 4]);
  expect(map.get("b")).toBeUndefined();
  map.trim(0);
  expect(map.size).toBe(0);
  map.set("b", 5);
  expect([...map.values()]).toEqual([5]);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), key: fc.nat(5), value: fc.nat(99) }),
  fc.record({ kind: fc.constant("delete" as const), key: fc.nat(5) }),
  fc.record({ kind: fc.constant("trim" as const), key: fc.nat(5) }),
);

test("has the same entries as a plain ordered list, after any operations", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new LruMap<number, number>();
      let list: (readonly [number, number])[] = [];
      for (const { key, ...done } of steps) {
        if (done.kind === "trim") {
          map.trim(key);
          list = list.slice(Math.max(0, list.length - key));
          continue;
        }
        list = list.filter(([other]) => other !== key);
        if (done.kind === "delete") map.delete(key);
        else {
          map.set(key, done.value);
          list.push([key, done.value]);
        }
        expect(map.get(key)).toBe(done.kind === "set" ? done.value : undefined);
      }
      expect([...map.values()]).toEqual(list.map(([, value]) => value));
      expect(map.size).toBe(list.length);
    }),
  );
});
