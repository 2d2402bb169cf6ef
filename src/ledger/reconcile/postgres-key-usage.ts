import { integerLiteral, migratePostgres, PostgresConnection, roundedLiteral, textLiteral } from "#db/postgres.ts";
import { firstKeptDay, type KeyUsageStore } from "./key-usage-store.ts";

/** A reading can wait for the next hour; a message that has no answer by then is taken for lost. */
const answerLimitMs = 3_000;
const limits = { lockMs: 500, statementMs: 2_000 };

/** The days' counts in PostgreSQL, over a connection of its own, for all nodes. Rejects when it cannot be reached. */
export async function openPostgresKeyUsage(url: string): Promise<KeyUsageStore> {
  await migratePostgres(url);
  const connection = new PostgresConnection(url, answerLimitMs);
  return {
    async save(reading) {
      const { source, day, keyDigest, spent, readMs } = reading;
      const from = textLiteral(source);
      const values = [from, textLiteral(day), textLiteral(keyDigest), integerLiteral(spent), roundedLiteral(readMs)];
      await connection.transact(limits, [
        `INSERT INTO key_usage (source, day, key_digest, spent, read_ms) VALUES (${values.join(", ")})
         ON CONFLICT (source, day, key_digest) DO UPDATE SET spent = excluded.spent, read_ms = excluded.read_ms
         WHERE key_usage.read_ms <= excluded.read_ms`,
        `DELETE FROM key_usage WHERE source = ${from} AND day < ${textLiteral(firstKeptDay(reading))}`,
      ]);
    },
    async load(source, day) {
      const [rows = []] = await connection.run(
        `SELECT sum(spent)::bigint AS spent, min(read_ms) AS read_ms, count(*) AS keys FROM key_usage
         WHERE source = ${textLiteral(source)} AND day = ${textLiteral(day)}`,
      );
      const row = rows[0];
      const keys = Number(row?.["keys"] ?? 0);
      return keys === 0 ? undefined : { spent: Number(row?.["spent"]), readMs: Number(row?.["read_ms"]), keys };
    },
    async close() {
      await connection.close();
    },
  };
}
