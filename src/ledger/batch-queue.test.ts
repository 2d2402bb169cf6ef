import { describe, expect, test } from "bun:test";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { StoreFailure } from "#ledger/store.ts";
import { manualNodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { MemoryStore } from "#ledger/testing/memory-store.ts";
import { manualTime } from "#platform/manual-time.ts";
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

  test("is written before the operations of a sweep, so that a known cost is charged and not the hold", async () => {
    const { ledger, time, held, state, store } = await openDelaying();
    const id = await held();
    time.setWallClock(time.clock.now() + 3_600_000);
    ledger.resolveInBackground([settled(id)]);
    await ledger.sweep();
    expect(state(id)).toBe("SETTLED");
    expect([...store.accounts.values()].map(({ spent }) => spent)).toEqual([3, 3]);
  });

  test("behind a batch in flight is sent when that batch is answered, if a read waits for it", async () => {
    const { ledger, time, batches, held, beforeCommit } = await openDelaying();
    const id = await held();
    const answering = Promise.withResolvers<void>();
    beforeCommit(() => answering.promise);
    const reserved = ledger.reserve(reservationOf({ amount: usd(1) }));
    await time.advanceAsync(0);
    ledger.resolveInBackground([settled(id)]);
    const read = ledger.read("session/goal");
    // Longer than reads end the delay for: only that this one waits counts.
    await time.advanceAsync(200);
    ledger.resolveInBackground([settled(id)]);
    answering.resolve();
    await reserved;
    expect((await read)?.goalAccount).toEqual({ spent: usd(3), held: usd(1) });
    expect(batches[0]).toEqual(["reserve"]);
  });

  test("is not delayed again after its batch has failed, nor while the ledger closes", async () => {
    const { ledger, time, batches, held, beforeCommit, state } = await openDelaying();
    const [id, other] = [await held(), await held()];
    let failures = 1;
    beforeCommit(async () => {
      if (failures-- > 0) throw new StoreFailure("transient", "away");
    });
    ledger.resolveInBackground([settled(id)]);
    // 5 ms of delay and three quarters of the first back-off of 20 ms.
    await time.advanceAsync(20);
    expect(batches).toEqual([["resolve"], ["resolve"]]);
    expect(state(id)).toBe("SETTLED");

    const answering = Promise.withResolvers<void>();
    beforeCommit(() => answering.promise);
    const reserved = ledger.reserve(reservationOf({ amount: usd(1) }));
    await time.advanceAsync(0);
    ledger.resolveInBackground([settled(other)]);
    const closed = ledger.close(1_000);
    answering.resolve();
    await Promise.all([reserved, closed]);
    expect(state(other)).toBe("SETTLED");
  });

  test("leaves no timer behind when the ledger closes", async () => {
    const { ledger, time, held } = await openDelaying();
    ledger.resolveInBackground([settled(await held())]);
    await ledger.close(1_000);
    await time.advanceAsync(50);
    expect(time.pending).toBe(0);
  });
});
