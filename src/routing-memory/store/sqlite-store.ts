import type { Database } from "bun:sqlite";
import { deleteBeyondRetention } from "#db/retention.ts";
import { runSqliteWrites, type WriteTransaction } from "#db/sql-writes.ts";
import { openBackgroundSqlite, writeWithRetries } from "#db/sqlite.ts";
import { type MemoryKind, type MemoryRow, newSalt, type RoutingMemoryStore } from "./routing-memory-store.ts";

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
  const select = db.query<{ kind: MemoryKind; key_hash: string; value: string; heard_ms: number }, [string, string]>(
    "SELECT kind, key_hash, value, heard_ms FROM routing_memory WHERE kind = ? AND key_hash = ?",
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
    async load(keys) {
      return keys.flatMap(({ kind, keyHash }): MemoryRow[] => {
        const row = select.get(kind, keyHash);
        return row === null ? [] : [{ kind, keyHash, value: row.value, lastSeenMs: row.heard_ms }];
      });
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
