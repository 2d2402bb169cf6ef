import type { Database } from "bun:sqlite";
import { runSqliteWrites, type WriteTransaction } from "#db/sql-writes.ts";
import { openBackgroundSqlite, writeWithRetries } from "#db/sqlite.ts";
import { readRecord } from "#learning/outcomes/outcomes.ts";
import type { OutcomeStore } from "./outcome-store.ts";

/**
 * Outcome records in the gateway's SQLite file. They are saved over the ledger's connection where it shares it (`sharedWrite`):
 * a second connection that writes all the time would make the ledger read its rows anew, and the event loop would wait for it.
 * What is rare has a connection of its own.
 */
export function openSqliteOutcomes(path: string, sharedWrite?: WriteTransaction): OutcomeStore {
  return sqliteOutcomes(openBackgroundSqlite(path), sharedWrite);
}

/**
 * Deletes from the row that was saved first on, up to the first that is not old, and as many more as are above the limit. So no
 * row pays for an index of times; one that was saved later than a younger one is deleted with that one.
 */
const pruneSql = `DELETE FROM routing_outcome WHERE rowid <= (SELECT max(rowid) FROM routing_outcome) - ?2
  OR rowid < coalesce(
    (SELECT rowid FROM routing_outcome WHERE at_ms >= ?1 ORDER BY rowid LIMIT 1),
    (SELECT max(rowid) + 1 FROM routing_outcome))`;

type Row = Parameters<typeof readRecord>[0];

/** The same over an open connection, which it closes with itself. */
export function sqliteOutcomes(db: Database, sharedWrite?: WriteTransaction): OutcomeStore {
  const write = sharedWrite ?? ((writes) => writeWithRetries(() => runSqliteWrites(db, writes)));
  return {
    async save(records) {
      if (records.length === 0) return;
      const rows = records.map(({ decisionId, atMs, decision, signals }) => [
        decisionId,
        Math.round(atMs),
        JSON.stringify(decision),
        JSON.stringify(signals),
      ]);
      await write([
        {
          sql: `INSERT INTO routing_outcome (decision_id, at_ms, decision, signals) VALUES (?)
                ON CONFLICT (decision_id) DO UPDATE SET signals = excluded.signals`,
          rows,
        },
      ]);
    },
    async recordOutcome(decisionId, outcome, score) {
      const update = db.query("UPDATE routing_outcome SET outcome = ?2, outcome_score = ?3 WHERE decision_id = ?1");
      const { changes } = await writeWithRetries(() => update.run(decisionId, outcome, score ?? null));
      return changes > 0;
    },
    async load(fromMs) {
      return db
        .query<Row, [number]>(
          `SELECT decision_id AS decisionId, at_ms AS atMs, decision, signals, outcome, outcome_score AS outcomeScore
           FROM routing_outcome WHERE at_ms >= ? ORDER BY at_ms, decision_id`,
        )
        .all(Math.round(fromMs))
        .flatMap((row) => readRecord(row) ?? []);
    },
    async prune(fromMs, rows) {
      const remove = db.query(pruneSql);
      await writeWithRetries(() => remove.run(Math.round(fromMs), rows));
    },
    async close() {
      db.close();
    },
  };
}
