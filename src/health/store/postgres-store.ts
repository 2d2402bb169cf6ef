import { migratePostgres, PostgresConnection, type PostgresRow, roundedLiteral, textLiteral } from "#db/postgres.ts";
import {
  type HealthSample,
  type HealthStore,
  type OverrideRow,
  type RowChange,
  readRow,
  sampleRetentionMs,
} from "./health-store.ts";

/** Health can wait for the next second; a message that has no answer by then is taken for lost. */
const answerLimitMs = 1_500;
const limits = { lockMs: 300, statementMs: 900 };

/**
 * Health in PostgreSQL, over a connection of its own, for any number of nodes. Each exchange is one message. A save whose
 * answer is lost may have happened: the next load shows it. Rejects when the database cannot be reached or its schema is newer.
 */
export async function openPostgresHealthStore(url: string): Promise<HealthStore> {
  await migratePostgres(url);
  return postgresHealthStore(new PostgresConnection(url, answerLimitMs));
}

/** The same over a connection, which it closes with itself. */
function postgresHealthStore(connection: PostgresConnection): HealthStore {
  const transact = (statements: readonly string[]) => connection.transact(limits, statements);

  return {
    async load() {
      const [rows = [], overrides = [], samples = []] = await connection.run(
        `SELECT model, epoch, state, since_ms, reason, detail, updated_ms, updated_by FROM model_health;
         SELECT model, disabled, reset_ms, changed_ms, changed_by FROM model_override;
         SELECT node_id, model, at_ms, answers, failures, excluded FROM model_health_sample`,
      );
      return { rows: rows.map(readRow), overrides: overrides.map(readOverride), samples: samples.map(readSample) };
    },
    async save(changes) {
      if (changes.length === 0) return [];
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = changes.toSorted((a, b) => (a.model < b.model ? -1 : 1));
      const written = await transact(sorted.map((change) => saveStatement(change)));
      return written.flat().map((row) => String(row["model"]));
    },
    async saveSamples(samples) {
      if (samples.length === 0) return;
      const values = samples.map(
        ({ nodeId, model, atMs, answers, failures, excluded }) =>
          `(${textLiteral(nodeId)}, ${textLiteral(model)}, ${roundedLiteral(atMs)}, ${roundedLiteral(answers)}, ${roundedLiteral(failures)}, ${excluded})`,
      );
      const oldest = Math.max(...samples.map(({ atMs }) => atMs)) - sampleRetentionMs;
      await transact([
        `INSERT INTO model_health_sample (node_id, model, at_ms, answers, failures, excluded) VALUES ${values.join(", ")}
         ON CONFLICT (node_id, model) DO UPDATE SET at_ms = excluded.at_ms, answers = excluded.answers,
           failures = excluded.failures, excluded = excluded.excluded`,
        `DELETE FROM model_health_sample WHERE at_ms < ${roundedLiteral(oldest)}`,
      ]);
    },
    async override({ model, action, atMs, by }) {
      const key = textLiteral(model);
      const at = roundedLiteral(atMs);
      const who = textLiteral(by);
      const [disabled, resetMs, changed] =
        action === "reset"
          ? ["false", at, "reset_ms = excluded.reset_ms"]
          : [String(action === "disable"), "0", "disabled = excluded.disabled"];
      await transact([
        `INSERT INTO model_override (model, disabled, reset_ms, changed_ms, changed_by)
         VALUES (${key}, ${disabled}, ${resetMs}, ${at}, ${who})
         ON CONFLICT (model) DO UPDATE SET ${changed}, changed_ms = excluded.changed_ms, changed_by = excluded.changed_by`,
      ]);
    },
    async close() {
      await connection.close();
    },
  };
}

/** Writes one row over the epoch it is based on, and says so by returning it. */
function saveStatement({ model, basedOn, health, updatedMs, updatedBy }: RowChange): string {
  const key = textLiteral(model);
  const state = textLiteral(health.state);
  const since = roundedLiteral(health.sinceMs);
  const reason = textLiteral(health.reason);
  const detail = textLiteral(JSON.stringify(health.detail));
  const at = roundedLiteral(updatedMs);
  const by = textLiteral(updatedBy);
  if (basedOn === undefined) {
    return `INSERT INTO model_health (model, epoch, state, since_ms, reason, detail, updated_ms, updated_by)
      VALUES (${key}, 1, ${state}, ${since}, ${reason}, ${detail}, ${at}, ${by}) ON CONFLICT (model) DO NOTHING RETURNING model`;
  }
  return `UPDATE model_health SET epoch = epoch + 1, state = ${state}, since_ms = ${since}, reason = ${reason},
      detail = ${detail}, updated_ms = ${at}, updated_by = ${by} WHERE model = ${key} AND epoch = ${roundedLiteral(basedOn)} RETURNING model`;
}

function readOverride(row: PostgresRow): OverrideRow {
  return {
    model: String(row["model"]),
    disabled: row["disabled"] === true,
    resetMs: Number(row["reset_ms"]),
    changedMs: Number(row["changed_ms"]),
    changedBy: String(row["changed_by"]),
  };
}

function readSample(row: PostgresRow): HealthSample {
  return {
    nodeId: String(row["node_id"]),
    model: String(row["model"]),
    atMs: Number(row["at_ms"]),
    answers: Number(row["answers"]),
    failures: Number(row["failures"]),
    excluded: row["excluded"] === true,
  };
}
