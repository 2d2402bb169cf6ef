import { afterEach, describe, expect, test } from "bun:test";
import { manualTime } from "#platform/testing/manual-time.ts";
import { utcDayOf } from "#platform/time.ts";
import { keyUsageStoreContract } from "./key-usage-store.contract.ts";
import { type KeyUsageReading, type KeyUsageStore, openKeyUsageStore } from "./key-usage-store.ts";
import { isNotable, type ReconciliationEvent, ReconciliationJob, type UsageAnswer } from "./reconciliation-job.ts";

const morning = Date.parse("2026-11-22T09:00:00Z");
const hour = 3_600_000;
let open: ReconciliationJob[] = [];
afterEach(async () => {
  for (const job of open) await job.close();
  open = [];
});

function setUp(
  given: {
    startMs?: number;
    answers?: UsageAnswer[];
    enabled?: boolean;
    unavailable?: boolean;
    failOpens?: number;
    failSaves?: number;
  } = {},
) {
  const time = manualTime(given.startMs ?? morning);
  const answers = [...(given.answers ?? [])];
  const saved: KeyUsageReading[] = [];
  const events: ReconciliationEvent[] = [];
  const state = { asked: 0, opened: 0, failOpens: given.failOpens ?? 0, failSaves: given.failSaves ?? 0 };
  const store: KeyUsageStore = {
    async save(reading) {
      if (state.failSaves-- > 0) throw new Error("unavailable");
      saved.push(reading);
    },
    load: async () => undefined,
    close: async () => undefined,
  };
  const job = new ReconciliationJob({
    source: "https://a",
    keyDigest: "d",
    enabled: () => given.enabled !== false,
    ask: async () => {
      state.asked += 1;
      return answers.shift() ?? { kind: "ok", spent: 5, limitRemaining: 70 };
    },
    ledgerDay: async () =>
      given.unavailable ? undefined : { day: utcDayOf(time.clock.now()), spent: 4, held: 1, unproven: 2 },
    openStore: async () => {
      state.opened += 1;
      if (state.failOpens-- > 0) throw new Error("unavailable");
      return store;
    },
    clock: time.clock,
    timers: time.timers,
    random: () => 0,
    onEvent: (event) => void events.push(event),
  });
  open.push(job);
  return { time, job, saved, events, state };
}

describe("the reconciliation with the aggregator's count", () => {
  test("reads both counts at once, and then every hour", async () => {
    const { time, job, saved, state } = setUp();
    job.start();
    await time.advanceAsync(0);
    const counts = {
      day: "2026-11-22",
      ledgerSpent: 4,
      ledgerHeld: 1,
      ledgerUnproven: 2,
      aggregatorSpent: 5,
      readMs: morning,
    };
    expect(job.latest).toEqual(counts);
    expect(job.limitRemaining).toBe(70);
    expect(saved).toEqual([{ source: "https://a", keyDigest: "d", day: "2026-11-22", spent: 5, readMs: morning }]);
    await time.advanceAsync(3 * hour);
    expect([state.asked, state.opened]).toEqual([4, 1]);
  });

  test("reads once more two to four minutes before the day ends, and marks that reading", async () => {
    const { time, job, events } = setUp({ startMs: Date.parse("2026-11-22T23:30:00Z") });
    job.start();
    await time.advanceAsync(29 * 60_000);
    const marks = events.flatMap((event) =>
      event.kind === "read"
        ? [[new Date(event.reconciliation.readMs).toISOString().slice(11, 16), event.lastOfDay]]
        : [],
    );
    expect(marks).toEqual([
      ["23:30", false],
      ["23:58", true],
    ]);
  });
});

keyUsageStoreContract("SQLite", () => openKeyUsageStore("sqlite::memory:"));

test.each([
  ["equal counts", 10, 10, 0, 0, false],
  ["less than 5 %", 10, 10.4, 0, 0, false],
  ["more than 5 %", 10, 10.6, 0, 0, true],
  ["more than 5 % less", 10, 9.4, 0, 0, true],
  ["a few cents, however large their share", 0.01, 0.1, 0, 0, false],
  ["what running calls hold", 10, 12, 2, 0, false],
  ["more than they hold", 10, 13, 2, 0, true],
  ["less, whatever is held", 10, 8, 5, 0, true],
  ["less, by what was charged without proof", 10, 8, 0, 2, false],
  ["less than that explains", 10, 7, 0, 2, true],
])(
  "a difference between ledger and aggregator of %s is reported or not",
  (_, ledger, aggregator, held, unproven, is) => {
    const counts = { ledgerSpent: ledger * 1e9, ledgerHeld: held * 1e9, ledgerUnproven: unproven * 1e9 };
    expect(isNotable({ day: "2026-11-22", ...counts, aggregatorSpent: aggregator * 1e9, readMs: 0 })).toBe(is);
  },
);
