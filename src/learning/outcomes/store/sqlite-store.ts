import type { Database } from "bun:sqlite";
import { deleteBeyondRetention } from "#db/retention.ts";
import { onceWritable, openBackgroundSqlite } from "#db/sqlite.ts";
import { readRecord } from "#learning/outcomes/outcomes.ts";
import type { OutcomeStore } from "./outcome-store.ts";

/** Outcome records in the gateway's SQLite file, over a connection of its own that never blocks the event loop. */
export function openSqliteOutcomes(path: string): OutcomeStore {
  return sqliteOutcomes(openBackgroundSqlite(path));
}

type Row = Parameters<typeof readRecord>[0];

/** The same over an open connection, which it closes with itself. */
export function sqliteOutcomes(db: Database): OutcomeStore {
  return {
    async save(records) {
      if (records.length === 0) return;
      const upsert = db.query(
        `INSERT INTO routing_outcome (decision_id, at_ms, decision, signals) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (decision_id) DO UPDATE SET signals = ?4`,
      );
      const saveAll = db.transaction(() => {
        for (const { decisionId, atMs, decision, signals } of records) {
          upsert.run(decisionId, Math.round(atMs), JSON.stringify(decision), JSON.stringify(signals));
        }
      });
      await onceWritable(() => saveAll.immediate());
    },
    async recordOutcome(decisionId, outcome, score) {
      const update = db.query("UPDATE routing_outcome SET outcome = ?2, outcome_score = ?3 WHERE decision_id = ?1");
      const { changes } = await onceWritable(() => update.run(decisionId, outcome, score ?? null));
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
      const remove = db.query(deleteBeyondRetention("routing_outcome", "at_ms", { from: "?1", rows: "?2" }));
      await onceWritable(() => remove.run(Math.round(fromMs), rows));
    },
    async close() {
      db.close();
    },
  };
}
