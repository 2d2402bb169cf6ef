import { bindLiterals, PostgresConnection } from "#db/postgres.ts";
import { PostgresStore } from "#ledger/postgres/postgres-store.ts";
import type { Query } from "./audit.ts";
import { type LedgerAdmin, ledgerAdminOver } from "./ledger-admin.ts";

/** An audit of a large ledger takes a while. */
const answerLimitMs = 60_000;

/** The ledger in a PostgreSQL database. Rejects when the database cannot be reached or has no ledger. */
export async function openPostgresAdmin(url: string): Promise<LedgerAdmin> {
  const connection = new PostgresConnection(url, answerLimitMs);
  const query: Query = async (sql, parameters = []) => (await connection.run(bindLiterals(sql, parameters)))[0] ?? [];
  await query("SELECT id FROM account LIMIT 1").catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  return ledgerAdminOver({
    query,
    // One snapshot for all checks: a balance taken while money moves would not balance.
    begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    end: "COMMIT",
    now: async () => Number((await query("SELECT extract(epoch FROM now()) * 1000 AS now_ms"))[0]?.["now_ms"]),
    dialect: {
      newestReason: `(SELECT e.reason FROM ledger_entry e WHERE e.reservation_id = r.id
          ORDER BY CASE e.event WHEN 'admitted' THEN 0 WHEN 'unresolved' THEN 1 ELSE 2 END DESC, e.at_ms DESC LIMIT 1)`,
    },
    async commit(batch) {
      const store = await PostgresStore.open(url);
      try {
        return await store.commit(batch);
      } finally {
        await store.close();
      }
    },
    close: () => connection.close(),
  });
}
