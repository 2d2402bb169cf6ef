import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audit } from "./audit.ts";
import { BatchedLedger } from "./batched-ledger.ts";
import { ledgerContract, MovableClock } from "./ledger.contract.ts";
import { processTimers } from "./open-ledger.ts";
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
