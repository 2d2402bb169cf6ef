import { describe, expect, test } from "bun:test";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { manualNodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { MemoryStore } from "#ledger/testing/memory-store.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { BatchedLedger } from "./batched-ledger.ts";

const usd = nanoUsd;
const settled = (id: string, actual: NanoUsd = usd(3)): Resolution => ({
  id,
  kind: "settled",
  actual,
  source: "upstream_cost",
});

/** A ledger in manual time, and the kinds of operations of each batch that its store has received. */
async function openDelaying() {
  const time = manualTime();
  const store = new MemoryStore(time.clock);
  const ledger = await BatchedLedger.open(store, "a", manualNodeOptions(time));
  const batches: string[][] = [];
  let before = async () => {};
  store.commit = async (batch) => {
    batches.push(batch.operations.map(({ kind }) => kind));
    await before();
    return store.commitNow(batch);
  };
  const held = async () => {
    const reservation = reservationOf({ amount: usd(10) });
    expect((await ledger.reserve(reservation)).kind).toBe("held");
    batches.length = 0;
    return reservation.id;
  };
  return {
    ledger,
    store,
    time,
    batches,
    held,
    /** What happens to each batch before it is written. */
    beforeCommit: (does: () => Promise<void>) => {
      before = does;
    },
    state: (id: string) => store.reservations.get(id)?.state,
  };
}

describe("a resolution in the background", () => {
  test("shares the commit of the next reservation", async () => {
    const { ledger, time, batches, held, state } = await openDelaying();
    const first = await held();
    ledger.resolveInBackground([settled(first)]);
    await time.advanceAsync(4.9);
    expect(batches).toEqual([]);
    expect((await ledger.reserve(reservationOf({ amount: usd(10) }))).kind).toBe("held");
    expect(batches).toEqual([["resolve", "reserve"]]);
    expect(state(first)).toBe("SETTLED");
    await time.advanceAsync(100);
    expect(batches).toHaveLength(1);
  });

  test("waits at most 5 ms, counted from the oldest", async () => {
    const { ledger, time, batches, held } = await openDelaying();
    const ids = [await held(), await held()] as const;
    ledger.resolveInBackground([settled(ids[0])]);
    await time.advanceAsync(3);
    ledger.resolveInBackground([settled(ids[1])]);
    await time.advanceAsync(1.9);
    expect(batches).toEqual([]);
    await time.advanceAsync(0.1);
    expect(batches).toEqual([["resolve", "resolve"]]);
  });

  test.each([
    ["a read", (ledger: BatchedLedger) => ledger.read("session/goal")],
    ["a resolution that somebody waits for", (ledger: BatchedLedger) => ledger.resolve([settled("nobody-made-me")])],
    ["a reservation", (ledger: BatchedLedger) => ledger.reserve(reservationOf({ amount: usd(1) }))],
    ["closing", (ledger: BatchedLedger) => ledger.close(1_000)],
  ])("is written at once for %s", async (_, does) => {
    const { ledger, time, held, state } = await openDelaying();
    const id = await held();
    ledger.resolveInBackground([settled(id)]);
    await time.advanceAsync(1);
    expect(state(id)).toBe("HELD");
    await does(ledger);
    expect(state(id)).toBe("SETTLED");
    await ledger.close(1_000);
  });
});
