import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { audit } from "#ledger/admin/audit.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { ledgerContract, ManualClock, nodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
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

test("a closed SQLite ledger is one file: its write-ahead log is merged into it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-ledger-"));
  const clock = new ManualClock();
  const store = await openSqliteStore(join(folder, "gateway.db"), clock);
  const ledger = await BatchedLedger.open(store, "node-a", { ...nodeOptions(clock, () => {}), defer: setImmediate });
  await ledger.reserve(reservationOf({ amount: nanoUsd(1) }));
  await ledger.close(1_000);
  expect(readdirSync(folder)).toEqual(["gateway.db"]);
  rmSync(folder, { recursive: true });
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

  test("a file that is not a database stops the start", async () => {
    await Bun.write(path, "this is not a database, and long enough for its header to be read as one ".repeat(20));
    await expect(openLedger(`sqlite:${path}`, { nodeId: "a", clock })).rejects.toThrow(path);
  });
});

function replaceByCopy(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}
