import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { audit } from "#ledger/admin/audit.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { ledgerContract, ManualClock, nodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { manualTime } from "#platform/manual-time.ts";
import { runningMs } from "#platform/testing/running-time.ts";
import { openSqliteStore } from "./sqlite-store.ts";

ledgerContract("SQLite", async () => {
  const clock = new ManualClock();
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-ledger-"));
  const path = join(folder, "gateway.db");
  return {
    clock,
    open: async (nodeId, log) =>
      BatchedLedger.open(await openSqliteStore(path, clock), nodeId, {
        ...nodeOptions(clock, log),
        defer: setImmediate,
      }),
    audit: async () => {
      const db = new Database(path, { readonly: true });
      const report = await audit(async (sql) => db.query<Record<string, unknown>, []>(sql).all(), clock.now());
      db.close();
      return report.findings.map(({ check, id, detail }) => `${check} ${id}: ${detail}`);
    },
    setCap: async (account, hard) => {
      const db = new Database(path);
      db.run(
        "INSERT INTO account (id, own_hard) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET own_hard = excluded.own_hard",
        [account, hard],
      );
      db.close();
    },
    close: async () => rmSync(folder, { recursive: true }),
  };
});

describe("the SQLite ledger, when the file cannot be written", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "smart-gateway-ledger-"));
    path = join(folder, "gateway.db");
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };

  test("answers unavailable within 1.5 s, bounds its queue, keeps resolutions, and holds nothing for refused callers", async () => {
    const events: LedgerEvent[] = [];
    const ledger = await openLedger(`sqlite:${path}`, { nodeId: "a", clock, log: (event) => events.push(event) });
    const running = reservationOf({ amount: nanoUsd(10) });
    expect((await ledger.reserve(running)).kind).toBe("held");
    const other = new Database(path);
    other.run("BEGIN IMMEDIATE");
    const asked = runningMs();
    const replies = Promise.all(
      Array.from({ length: 6_000 }, () => ledger.reserve(reservationOf({ amount: nanoUsd(0) }))),
    );
    const resolved = ledger.resolve([{ id: running.id, kind: "settled", actual: nanoUsd(4), source: "usage" }]);
    expect(ledger.status().queued).toBeLessThan(5_000);
    expect(new Set((await replies).map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
    expect(runningMs() - asked).toBeLessThan(1_500);
    expect(ledger.status().ok).toBe(false);
    // The store may answer the batch a moment after the callers' time limit, with the cause.
    const isCause = (event: LedgerEvent) =>
      event.kind === "store_unavailable" && event.message.includes("database is locked");
    const patientUntil = runningMs() + 5_000;
    while (!events.some(isCause) && runningMs() < patientUntil) await Bun.sleep(5);
    expect(events.some(isCause)).toBe(true);
    other.run("ROLLBACK");
    await resolved;
    expect((await ledger.reserve(reservationOf({ amount: nanoUsd(1) }))).kind).toBe("held");
    expect(events.some(({ kind }) => kind === "store_available")).toBe(true);
    await ledger.close(2_000);
    const states = other.query("SELECT state, count(*) AS n FROM reservation WHERE hold > 0 GROUP BY state").all();
    expect(states).toEqual([
      { state: "HELD", n: 1 },
      { state: "SETTLED", n: 1 },
    ]);
    expect(other.query("SELECT count(*) AS n FROM reservation WHERE closed_ms IS NULL").get()).toEqual({ n: 1 });
    other.close();
  });

  test.each([
    ["deleted", (file: string) => rmSync(file), ""],
    ["replaced by a copy of itself", replaceByCopy, ""],
    ["deleted", (file: string) => rmSync(file), "-wal"],
    ["deleted", (file: string) => rmSync(file), "-shm"],
  ] as const)(
    "a database file that is %s while it is open closes the ledger at the next heartbeat: %#",
    async (_, harm, suffix) => {
      const time = manualTime(Date.now());
      const events: LedgerEvent[] = [];
      const options = {
        nodeId: "a",
        clock: time.clock,
        timers: time.timers,
        log: (event: LedgerEvent) => events.push(event),
      };
      const ledger = await openLedger(`sqlite:${path}`, options);
      const later = async () => {
        time.advance(6_100);
        await Bun.sleep(1);
      };
      expect((await ledger.reserve(reservationOf({ amount: nanoUsd(1) }))).kind).toBe("held");
      for (let i = 0; i < 3; i++) await later();
      expect(ledger.status().failed).toBeUndefined();
      harm(path + suffix);
      for (let i = 0; i < 500 && ledger.status().failed === undefined; i++) await later();
      expect(ledger.status()).toMatchObject({ ok: false, failed: "store_lost" });
      expect(events).toContainEqual(
        expect.objectContaining({
          kind: "store_failed",
          failed: "store_lost",
          message: expect.stringContaining(path + suffix),
        }),
      );
      expect((await ledger.reserve(reservationOf({ amount: nanoUsd(1) }))).kind).toBe("unavailable");
      expect(await ledger.read("session/goal")).toBeUndefined();
      await ledger.close(100);
    },
  );

  test("a start on an empty store is logged, and as an error if a ledger was expected", async () => {
    const started = async (expectExisting?: () => boolean) => {
      const events: LedgerEvent[] = [];
      const log = (event: LedgerEvent) => events.push(event);
      const ledger = await openLedger(`sqlite:${path}`, {
        nodeId: "a",
        clock,
        log,
        ...(expectExisting && { expectExisting }),
      });
      await ledger.close(1_000);
      return events.filter(({ kind }) => kind === "store_empty");
    };
    expect(await started()).toEqual([{ kind: "store_empty", expected: false }]);
    expect(await started(() => true)).toEqual([]);
    rmSync(path);
    expect(await started(() => true)).toEqual([{ kind: "store_empty", expected: true }]);
    // The write-ahead log of a deleted database proves that there was one.
    rmSync(path);
    await Bun.write(`${path}-wal`, "left behind");
    expect(await started()).toEqual([{ kind: "store_empty", expected: true }]);
    await (await openLedger("sqlite::memory:", { nodeId: "a", clock, log: () => expect.unreachable() })).close(100);
  });

  test("a file that is not a database stops the start", async () => {
    await Bun.write(path, "this is not a database, and long enough for its header to be read as one ".repeat(20));
    await expect(openLedger(`sqlite:${path}`, { nodeId: "a", clock })).rejects.toThrow(path);
  });
});

function replaceByCopy(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}
