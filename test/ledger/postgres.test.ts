import { PostgresConnection, textLiteral } from "#db/postgres.ts";
import { audit } from "#ledger/admin/audit.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import { PostgresStore } from "#ledger/postgres/postgres-store.ts";
import { ledgerContract, ManualClock, nodeOptions } from "#ledger/testing/ledger.contract.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

describeOnPostgres("the ledger", (postgres) => {
  ledgerContract("PostgreSQL", async () => {
    const clock = new ManualClock();
    const admin = new PostgresConnection(postgres.url, 5_000);
    return {
      clock,
      open: async (nodeId, log) =>
        BatchedLedger.open(await PostgresStore.open(postgres.url, { clockOffsetMs: () => clock.offsetMs }), nodeId, {
          ...nodeOptions(clock, log),
          defer: setImmediate,
        }),
      audit: async () => {
        const report = await audit(async (sql) => (await admin.run(sql))[0] ?? [], clock.now());
        return report.findings.map(({ check, id, detail }) => `${check} ${id}: ${detail}`);
      },
      setCap: async (account, hard) => {
        await admin.run(
          `INSERT INTO account (id, own_hard) VALUES (${textLiteral(account)}, ${hard ?? "NULL"})
           ON CONFLICT (id) DO UPDATE SET own_hard = excluded.own_hard`,
        );
      },
      close: async () => {
        await admin.run("TRUNCATE account, account_share, reservation, ledger_entry, node");
        await admin.close();
      },
    };
  });
});
