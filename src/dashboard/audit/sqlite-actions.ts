import { openSqlite, writeWithRetries } from "#db/sqlite.ts";
import type { OperatorAction, OperatorActions } from "./operator-actions.ts";

/** The audit log in the gateway's SQLite file, over a connection of its own. */
export function openSqliteActions(path: string): OperatorActions {
  const db = openSqlite(path);
  db.run("PRAGMA busy_timeout = 0");
  return {
    async add({ atMs, operator, action, target, detail }) {
      const insert = db.query(
        "INSERT INTO operator_action (at_ms, operator, action, target, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
      );
      await writeWithRetries(() => insert.run(Math.round(atMs), operator, action, target, detail));
    },
    async list(limit) {
      return db
        .query<OperatorAction, [number]>(
          "SELECT at_ms AS atMs, operator, action, target, detail FROM operator_action ORDER BY id DESC LIMIT ?1",
        )
        .all(Math.floor(limit));
    },
    async close() {
      db.close();
    },
  };
}
