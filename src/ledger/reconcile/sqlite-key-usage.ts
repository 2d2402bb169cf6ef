import { openSqlite } from "#db/sqlite.ts";
import { firstKeptDay, type KeyUsageStore } from "./key-usage-store.ts";

/** The days' counts in the gateway's SQLite file, over a connection of its own; written once an hour. */
export function openSqliteKeyUsage(path: string): KeyUsageStore {
  const db = openSqlite(path);
  // The event loop waits with it, and the next reading is another chance.
  db.run("PRAGMA busy_timeout = 100");
  return {
    async save(reading) {
      const { source, day, keyDigest, spent, readMs } = reading;
      db.query(
        `INSERT INTO key_usage (source, day, key_digest, spent, read_ms) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (source, day, key_digest) DO UPDATE SET spent = ?4, read_ms = ?5 WHERE key_usage.read_ms <= ?5`,
      ).run(source, day, keyDigest, spent, Math.round(readMs));
      db.query("DELETE FROM key_usage WHERE source = ? AND day < ?").run(source, firstKeptDay(reading));
    },
    async load(source, day) {
      const row = db
        .query<{ spent: number; read_ms: number; keys: number }, [string, string]>(
          `SELECT sum(spent) AS spent, min(read_ms) AS read_ms, count(*) AS keys FROM key_usage
           WHERE source = ? AND day = ?`,
        )
        .get(source, day);
      return row === null || row.keys === 0 ? undefined : { spent: row.spent, readMs: row.read_ms, keys: row.keys };
    },
    async close() {
      db.close();
    },
  };
}
