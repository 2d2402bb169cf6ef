import { expect, test } from "bun:test";
import type { LedgerEvent } from "./ledger-event.ts";
import { StoreAvailability } from "./store-availability.ts";

function someAvailability() {
  let nowMs = 0;
  const logged: string[] = [];
  const log = (event: LedgerEvent) => void logged.push(event.kind === "store_unavailable" ? event.message : event.kind);
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { availability: new StoreAvailability(clock, () => 0.5, log), logged, advance };
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
