import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MemoryKind, MemoryRow, RoutingMemoryStore } from "./routing-memory-store.ts";

const row = (
  keyHash: string,
  lastSeenMs: number,
  kind: MemoryKind = "conversation",
  value = `"${lastSeenMs}"`,
): MemoryRow => ({
  kind,
  keyHash,
  value,
  lastSeenMs,
});

/** The requirements on every store of the routing memory. `open` returns an empty store. */
export function routingMemoryStoreContract(name: string, open: () => Promise<RoutingMemoryStore>): void {
  describe(`${name}: a store of routing memory`, () => {
    let store: RoutingMemoryStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const loaded = async (...keys: string[]) =>
      (await store.load("conversation", keys)).map(({ keyHash }) => keyHash).toSorted();

    test("creates one salt, and keeps it", async () => {
      const salt = await store.salt();
      expect(salt).toMatch(/^[0-9a-f]{32}$/);
      expect(await store.salt()).toBe(salt);
    });

    test("returns the saved rows of the requested keys, by kind", async () => {
      await store.save([row("a", 1), row("b", 2), row("a", 3, "task", `{"x":"o'k"}`)]);
      expect(await store.load("task", ["a"])).toEqual([row("a", 3, "task", `{"x":"o'k"}`)]);
      expect(await loaded("a", "c")).toEqual(["a"]);
      expect(await store.load("task", [])).toEqual([]);
    });

    test("returns when a key of a kind was last used", async () => {
      expect(await store.newest("task")).toBeUndefined();
      await store.save([row("a", 1_800_000_000_002), row("b", 1_800_000_000_001), row("a", 7, "task")]);
      expect(await store.newest("conversation")).toBe(1_800_000_000_002);
      expect(await store.newest("task")).toBe(7);
    });

    test("does not replace a row by one that was used earlier", async () => {
      await store.save([row("a", 1_800_000_000_002)]);
      await store.save([row("a", 1_800_000_000_001)]);
      expect((await store.load("conversation", ["a"]))[0]?.lastSeenMs).toBe(1_800_000_000_002);
      await store.save([row("a", 1_800_000_000_003)]);
      expect((await store.load("conversation", ["a"]))[0]?.lastSeenMs).toBe(1_800_000_000_003);
    });

    test("deletes old rows, and the oldest above the limit, of that kind only", async () => {
      await store.save([row("t", 1, "task"), row("a", 10), row("b", 20), row("c", 30), row("d", 40)]);
      await store.prune("conversation", { rows: 10, fromMs: 20 });
      expect(await loaded("a", "b", "c", "d")).toEqual(["b", "c", "d"]);
      await store.prune("conversation", { rows: 2, fromMs: 0 });
      expect(await loaded("a", "b", "c", "d")).toEqual(["c", "d"]);
      await store.prune("conversation", { rows: 0, fromMs: 0 });
      expect(await loaded("a", "b", "c", "d")).toEqual([]);
      expect(await store.load("task", ["t"])).toHaveLength(1);
    });
  });
}
