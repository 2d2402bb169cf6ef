import type { Database } from "bun:sqlite";
import { onceWritable, openSqlite } from "#db/sqlite.ts";
import { type MemoryKind, type MemoryRow, newSalt, type RoutingMemoryStore } from "./routing-memory-store.ts";

/**
 * Routing memory in the gateway's SQLite file, over a connection of its own. It runs on the event loop, so nothing in
 * it blocks: while another connection writes it tries again in later turns, and commits do not wait for the disk (the ledger's
 * commits sync the same log, and what a power cut loses is only routed anew).
 */
export function openSqliteRoutingMemory(path: string): RoutingMemoryStore {
  const db = openSqlite(path);
  db.run("PRAGMA busy_timeout = 0");
  db.run("PRAGMA synchronous = NORMAL");
  // Checkpoints sync; they are the ledger's, in its own thread.
  db.run("PRAGMA wal_autocheckpoint = 0");
  return sqliteRoutingMemory(db);
}

/** The same over an open connection, which it closes with itself. */
export function sqliteRoutingMemory(db: Database): RoutingMemoryStore {
  const select = db.query<{ kind: MemoryKind; key_hash: string; value: string; heard_ms: number }, [string, string]>(
    "SELECT kind, key_hash, value, heard_ms FROM routing_memory WHERE kind = ? AND key_hash = ?",
  );
  const upsert = db.query(
    `INSERT INTO routing_memory (kind, key_hash, value, heard_ms) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (kind, key_hash) DO UPDATE SET value = ?3, heard_ms = ?4 WHERE heard_ms <= ?4`,
  );
  return {
    async salt() {
      const read = () => db.query<{ salt: string }, []>("SELECT salt FROM routing_salt").get()?.salt;
      const known = read();
      if (known !== undefined) return known;
      await onceWritable(() =>
        db.run("INSERT INTO routing_salt (id, salt) VALUES (1, ?) ON CONFLICT DO NOTHING", [newSalt()]),
      );
      return read() ?? "";
    },
    async load(keys) {
      return keys.flatMap(({ kind, keyHash }): MemoryRow[] => {
        const row = select.get(kind, keyHash);
        return row === null ? [] : [{ kind, keyHash, value: row.value, heardMs: row.heard_ms }];
      });
    },
    async save(rows) {
      if (rows.length === 0) return;
      const saveAll = db.transaction(() => {
        for (const { kind, keyHash, value, heardMs } of rows) upsert.run(kind, keyHash, value, Math.round(heardMs));
      });
      await onceWritable(() => saveAll.immediate());
    },
    async prune(kind, { rows, fromMs }) {
      await onceWritable(() =>
        db.run(
          `DELETE FROM routing_memory WHERE kind = ?1 AND (heard_ms < ?2 OR heard_ms <=
           (SELECT heard_ms FROM routing_memory WHERE kind = ?1 ORDER BY heard_ms DESC LIMIT 1 OFFSET ?3))`,
          [kind, Math.round(fromMs), rows],
        ),
      );
    },
    async close() {
      db.close();
    },
  };
}
