import { migratePostgres, PostgresConnection, roundedLiteral, textLiteral } from "#db/postgres.ts";
import { deleteBeyondRetention } from "#db/retention.ts";
import { readRecord } from "#learning/outcomes/outcomes.ts";
import type { OutcomeStore } from "./outcome-store.ts";

/** Records can be lost; a message that has no answer by then is taken for lost. */
const answerLimitMs = 3_000;
const limits = { lockMs: 300, statementMs: 2_000, durable: false };
/** Reading all of them takes as long as it takes. */
const loadLimitMs = 60_000;

/** Outcome records in PostgreSQL, over a connection of its own, for all nodes. Rejects when it cannot be reached. */
export async function openPostgresOutcomes(url: string): Promise<OutcomeStore> {
  await migratePostgres(url);
  return postgresOutcomes(new PostgresConnection(url, answerLimitMs));
}

/** The same over a connection, which it closes with itself. */
function postgresOutcomes(connection: PostgresConnection): OutcomeStore {
  return {
    async save(records) {
      if (records.length === 0) return;
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = records.toSorted((a, b) => (a.decisionId < b.decisionId ? -1 : 1));
      const values = sorted.map(({ decisionId, atMs, decision, signals }) => {
        const texts = [JSON.stringify(decision), JSON.stringify(signals)].map(textLiteral).join(", ");
        return `(${textLiteral(decisionId)}, ${roundedLiteral(atMs)}, ${texts})`;
      });
      await connection.transact(limits, [
        `INSERT INTO routing_outcome (decision_id, at_ms, decision, signals) VALUES ${values.join(", ")}
         ON CONFLICT (decision_id) DO UPDATE SET signals = excluded.signals`,
      ]);
    },
    async recordOutcome(decisionId, outcome, score) {
      const of = textLiteral(decisionId);
      const [changed = []] = await connection.transact(limits, [
        `UPDATE routing_outcome SET outcome = ${textLiteral(outcome)}, outcome_score = ${score === undefined ? "NULL" : Number(score)}
         WHERE decision_id = ${of} RETURNING decision_id`,
      ]);
      return changed.length > 0;
    },
    async load(fromMs) {
      const [rows = []] = await connection.run(
        `SELECT decision_id, at_ms, decision, signals, outcome, outcome_score FROM routing_outcome
         WHERE at_ms >= ${roundedLiteral(fromMs)} ORDER BY at_ms, decision_id`,
        loadLimitMs,
      );
      return rows.flatMap((row) => {
        const record = readRecord({
          decisionId: String(row["decision_id"]),
          atMs: Number(row["at_ms"]),
          decision: String(row["decision"]),
          signals: String(row["signals"]),
          outcome: row["outcome"] === null ? null : String(row["outcome"]),
          outcomeScore: row["outcome_score"] === null ? null : Number(row["outcome_score"]),
        });
        return record === undefined ? [] : [record];
      });
    },
    async prune(fromMs, rows) {
      const values = { from: roundedLiteral(fromMs), rows: roundedLiteral(rows) };
      await connection.transact(limits, [deleteBeyondRetention("routing_outcome", "at_ms", values)]);
    },
    async close() {
      await connection.close();
    },
  };
}
