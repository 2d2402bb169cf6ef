import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "#db/sqlite.ts";
import { mostUsd, nanoUsd } from "#domain/money.ts";
import { audit } from "./audit.ts";
import { BatchedLedger, type LedgerEvent } from "./batched-ledger.ts";
import { ledgerContract, MovableClock, reservationOf } from "./ledger.contract.ts";
import { openLedger, processTimers } from "./open-ledger.ts";
import { SqliteStore } from "./sqlite-store.ts";

ledgerContract("SQLite", async () => {
  const clock = new MovableClock();
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-ledger-"));
  const path = join(folder, "gateway.db");
  return {
    clock,
    open: async (nodeId, log = () => {}) =>
      BatchedLedger.open(await SqliteStore.open(path, clock), nodeId, {
        clock,
        timers: processTimers,
        random: Math.random,
        log,
        retentionMs: () => 30 * 86_400_000,
        gather: setImmediate,
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

  test("answers unavailable within 1.5 s, bounds its queue, keeps resolutions, and holds nothing for nobody", async () => {
    const events: LedgerEvent[] = [];
    const ledger = await openLedger(`sqlite:${path}`, { nodeId: "a", clock, log: (event) => events.push(event) });
    const running = reservationOf({ amount: nanoUsd(10) });
    expect((await ledger.reserve(running)).kind).toBe("held");
    const other = new Database(path);
    other.run("BEGIN IMMEDIATE");
    const asked = performance.now();
    const replies = Promise.all(
      Array.from({ length: 6_000 }, () => ledger.reserve(reservationOf({ amount: nanoUsd(0) }))),
    );
    const resolved = ledger.resolve([{ id: running.id, kind: "settled", actual: nanoUsd(4), source: "usage" }]);
    expect(ledger.status().queued).toBeLessThan(5_000);
    expect(new Set((await replies).map(({ kind }) => kind))).toEqual(new Set(["unavailable"]));
    expect(performance.now() - asked).toBeLessThan(1_500);
    expect(ledger.status().ok).toBe(false);
    // The store's own answer to the batch may come a moment after the callers' patience has ended.
    const patientUntil = performance.now() + 5_000;
    while (!events.some(({ kind }) => kind === "store_away") && performance.now() < patientUntil) await Bun.sleep(5);
    expect(events.some(({ kind }) => kind === "store_away")).toBe(true);
    other.run("ROLLBACK");
    await resolved;
    expect((await ledger.reserve(reservationOf({ amount: nanoUsd(1) }))).kind).toBe("held");
    expect(events.some(({ kind }) => kind === "store_back")).toBe(true);
    await ledger.close(2_000);
    const states = other.query("SELECT state, count(*) AS n FROM reservation WHERE hold > 0 GROUP BY state").all();
    expect(states).toEqual([
      { state: "HELD", n: 1 },
      { state: "SETTLED", n: 1 },
    ]);
    expect(other.query("SELECT count(*) AS n FROM reservation WHERE closed_ms IS NULL").get()).toEqual({ n: 1 });
    other.close();
  });

  test("accounts that an earlier release let grow beyond what can be counted are full, read, and said by the audit", async () => {
    const first = await openLedger(`sqlite:${path}`, { nodeId: "a", clock });
    const running = reservationOf({ amount: nanoUsd(10) });
    expect((await first.reserve(running)).kind).toBe("held");
    await first.close(1_000);
    const db = new Database(path);
    db.run("UPDATE account SET spent = 27000000000000000, overrun = 27000000000000000");
    const ledger = await openLedger(`sqlite:${path}`, { nodeId: "b", clock });
    expect((await ledger.read(running.goal))?.dayAccount).toEqual({ spent: mostUsd, held: nanoUsd(10) });
    expect((await ledger.reserve(reservationOf({ amount: nanoUsd(1) }))).kind).toBe("refused");
    await ledger.resolve([{ id: running.id, kind: "settled", actual: nanoUsd(4), source: "usage" }]);
    expect((await ledger.read(running.goal))?.dayAccount).toEqual({ spent: mostUsd, held: nanoUsd(0) });
    await ledger.close(1_000);
    const report = await audit(async (sql) => db.query<Record<string, unknown>, []>(sql).all(), clock.now());
    db.close();
    expect(report.findings).toEqual([]);
    expect(report.remarks.filter(({ check }) => check === "saturated")).toHaveLength(2);
  });

  test("a file that is no database stops the start", async () => {
    await Bun.write(path, "this is not a database, and long enough for its header to be read as one ".repeat(20));
    await expect(openLedger(`sqlite:${path}`, { nodeId: "a", clock })).rejects.toThrow(path);
  });

  test("its upkeep finds what it has to without reading the whole table", async () => {
    const db = openSqlite(path);
    const plan = (sql: string) =>
      db
        .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => detail)
        .join("; ");
    const due = "SELECT id FROM reservation WHERE closed_ms IS NULL AND expires_ms <= 5 ORDER BY expires_ms LIMIT 9";
    expect(plan(due)).toContain("reservation_open");
    const oldest = "SELECT seq FROM reservation WHERE seq > 5 ORDER BY seq LIMIT 9";
    expect(plan(oldest)).toBe("SEARCH reservation USING INTEGER PRIMARY KEY (rowid>?)");
    db.close();
  });
});
