import type { Database } from "bun:sqlite";
import { deleteBeyondRetention } from "#db/retention.ts";
import { runSqliteWrites, type WriteTransaction } from "#db/sql-writes.ts";
import { openBackgroundSqlite, writeWithRetries } from "#db/sqlite.ts";
import { type MemoryRow, newSalt, type RoutingMemoryStore } from "./routing-memory-store.ts";

/**
 * Routing memory in the gateway's SQLite file, over a connection of its own that never blocks the event loop. It is saved over
 * the ledger's connection where it shares it (`sharedWrite`): a commit over any other makes the ledger read its rows again.
 */
export function openSqliteRoutingMemory(path: string, sharedWrite?: WriteTransaction): RoutingMemoryStore {
  return sqliteRoutingMemory(openBackgroundSqlite(path), sharedWrite);
}

/** The same over an open connection, which it closes with itself. */
export function sqliteRoutingMemory(db: Database, sharedWrite?: WriteTransaction): RoutingMemoryStore {
  const write = sharedWrite ?? ((writes) => writeWithRetries(() => runSqliteWrites(db, writes)));
  const newest = db.query<{ newest: number | null }, [string]>(
    "SELECT max(heard_ms) AS newest FROM routing_memory WHERE kind = ?",
  );
  const select = db.query<{ key_hash: string; value: string; heard_ms: number }, [string, string]>(
    `SELECT key_hash, value, heard_ms FROM routing_memory
     WHERE kind = ? AND key_hash IN (SELECT value FROM json_each(?))`,
  );
  return {
    async salt() {
      const read = () => db.query<{ salt: string }, []>("SELECT salt FROM routing_salt").get()?.salt;
      const known = read();
      if (known !== undefined) return known;
      await writeWithRetries(() =>
        db.run("INSERT INTO routing_salt (id, salt) VALUES (1, ?) ON CONFLICT DO NOTHING", [newSalt()]),
      );
      return read() ?? "";
    },
    async newest(kind) {
      return newest.get(kind)?.newest ?? undefined;
    },
    async load(kind, keyHashes) {
      return select
        .all(kind, JSON.stringify(keyHashes))
        .map((row): MemoryRow => ({ kind, keyHash: row.key_hash, value: row.value, lastSeenMs: row.heard_ms }));
    },
    async save(rows) {
      if (rows.length === 0) return;
      await write([
        {
          sql: `INSERT INTO routing_memory (kind, key_hash, value, heard_ms) VALUES (?)
                ON CONFLICT (kind, key_hash) DO UPDATE SET value = excluded.value, heard_ms = excluded.heard_ms
                WHERE routing_memory.heard_ms <= excluded.heard_ms`,
          rows: rows.map(({ kind, keyHash, value, lastSeenMs }) => [kind, keyHash, value, Math.round(lastSeenMs)]),
        },
      ]);
    },
    async prune(kind, { rows, fromMs }) {
      await writeWithRetries(() =>
        db.run(deleteBeyondRetention("routing_memory", "heard_ms", { from: "?2", rows: "?3" }, "kind = ?1"), [
          kind,
          Math.round(fromMs),
          rows,
        ]),
      );
    },
    async close() {
      db.close();
    },
  };
}
