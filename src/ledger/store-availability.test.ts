import { expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import { StoreFailure } from "#ledger/store.ts";
import { manualNodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { MemoryStore } from "#ledger/testing/memory-store.ts";
import { manualTime } from "#platform/manual-time.ts";
import { BatchedLedger } from "./batched-ledger.ts";
import type { LedgerEvent } from "./store.ts";
import { StoreAvailability } from "./store-availability.ts";

function someAvailability() {
  let nowMs = 0;
  const logged: string[] = [];
  const log = (event: LedgerEvent) => void logged.push(event.kind === "store_unavailable" ? event.message : event.kind);
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { availability: new StoreAvailability({ clock, random: () => 0.5, log }), logged, advance };
}

test("the log names the cause once, also if the time limit has passed before the store says it", () => {
  const { availability, logged, advance } = someAvailability();
  advance(1_000);
  availability.timedOut(0);
  availability.timedOut(0);
  expect([availability.unavailable, logged]).toEqual([true, ["the budget store does not answer"]]);
  availability.failed("SQLITE_BUSY: database is locked");
  availability.failed("SQLITE_BUSY: database is locked");
  availability.timedOut(0);
  availability.succeeded();
  expect(logged).toEqual(["the budget store does not answer", "SQLITE_BUSY: database is locked", "store_available"]);

  // The next time, it is logged again.
  availability.failed("SQLITE_FULL: database or disk is full");
  advance(300);
  availability.failed("SQLITE_FULL: database or disk is full");
  availability.timedOut(0);
  expect(logged.slice(3)).toEqual(["SQLITE_FULL: database or disk is full"]);
});

test("a store that fails for a moment is available", () => {
  const { availability, logged, advance } = someAvailability();
  availability.failed("SQLITE_BUSY: database is locked");
  advance(200);
  availability.failed("SQLITE_BUSY: database is locked");
  availability.succeeded();
  expect([availability.unavailable, logged]).toEqual([false, []]);
});

test("a store on a full disk stays unavailable while only cancellations that find nothing get through", async () => {
  const time = manualTime();
  const store = new MemoryStore(time.clock);
  const logged: string[] = [];
  const ledger = await BatchedLedger.open(store, "a", {
    ...manualNodeOptions(time),
    log: ({ kind }) => void (kind.startsWith("store_") && logged.push(kind)),
  });
  let isFull = true;
  let cancelled = 0;
  store.commit = async (batch) => {
    if (isFull && batch.operations.some(({ kind }) => kind === "reserve")) {
      throw new StoreFailure("transient", "53100: could not extend file");
    }
    cancelled += batch.operations.filter(({ kind }) => kind === "cancel").length;
    return store.commitNow(batch);
  };
  const ask = async () => {
    const reply = ledger.reserve(reservationOf({ amount: nanoUsd(1) }));
    await time.advanceAsync(1_200);
    return (await reply).kind;
  };
  for (let n = 0; n < 3; n++) expect(await ask()).toBe("unavailable");
  expect([ledger.status().ok, cancelled > 0, logged]).toEqual([false, true, ["store_unavailable"]]);
  isFull = false;
  expect(await ask()).toBe("held");
  expect([ledger.status().ok, logged]).toEqual([true, ["store_unavailable", "store_available"]]);
  await ledger.close(0);
});
