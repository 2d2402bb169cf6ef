import type { Database } from "bun:sqlite";
import { deleteBeyondRetention } from "#db/retention.ts";
import { onceWritable, openBackgroundSqlite } from "#db/sqlite.ts";
import { type MemoryKind, type MemoryRow, newSalt, type RoutingMemoryStore } from "./routing-memory-store.ts";

/** Routing memory in the gateway's SQLite file, over a connection of its own that never blocks the event loop. */
export function openSqliteRoutingMemory(path: string): RoutingMemoryStore {
  return sqliteRoutingMemory(openBackgroundSqlite(path));
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
