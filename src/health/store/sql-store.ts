import { openStoreDatabase, type Statement, type StoreDatabase, type StoreRow } from "#db/store-database.ts";
import {
  type HealthRow,
  type HealthSample,
  type HealthStore,
  type OverrideRow,
  type RowChange,
  readHealth,
  sampleRetentionMs,
} from "./health-store.ts";

/** The health store that a database URL names. Brings the schema up to date. Rejects when the database cannot be reached. */
export async function openHealthStore(databaseUrl: string): Promise<HealthStore> {
  return sqlHealthStore(await openStoreDatabase(databaseUrl));
}

/**
 * Health over an open database, which it closes with itself. A save whose answer is lost may have happened: the next load shows it.
 */
export function sqlHealthStore(database: StoreDatabase): HealthStore {
  return {
    async load() {
      const [rows = [], overrides = [], samples = []] = await database.read(
        ["SELECT model, epoch, state, since_ms, reason, detail, updated_ms, updated_by FROM model_health"],
        ["SELECT model, disabled, reset_ms, changed_ms, changed_by FROM model_override"],
        ["SELECT node_id, model, at_ms, answers, failures, excluded FROM model_health_sample"],
      );
      return { rows: rows.map(readRow), overrides: overrides.map(readOverride), samples: samples.map(readSample) };
    },
    async save(changes) {
      if (changes.length === 0) return [];
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = changes.toSorted((a, b) => (a.model < b.model ? -1 : 1));
      const written = await database.write(...sorted.map(saveStatement));
      return written.flat().map((row) => String(row["model"]));
    },
    async saveSamples(samples) {
      if (samples.length === 0) return;
      const newest = Math.max(...samples.map(({ atMs }) => atMs));
      await database.write(
        ...samples.map(
          ({ nodeId, model, atMs, answers, failures, excluded }): Statement => [
            `INSERT INTO model_health_sample (node_id, model, at_ms, answers, failures, excluded) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (node_id, model) DO UPDATE SET at_ms = excluded.at_ms, answers = excluded.answers,
               failures = excluded.failures, excluded = excluded.excluded`,
            nodeId,
            model,
            Math.round(atMs),
            answers,
            failures,
            excluded,
          ],
        ),
        ["DELETE FROM model_health_sample WHERE at_ms < ?", Math.round(newest - sampleRetentionMs)],
      );
    },
    async override({ model, action, atMs, by }) {
      const changed = action === "reset" ? "reset_ms = excluded.reset_ms" : "disabled = excluded.disabled";
      await database.write([
        `INSERT INTO model_override (model, disabled, reset_ms, changed_ms, changed_by) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (model) DO UPDATE SET ${changed}, changed_ms = excluded.changed_ms, changed_by = excluded.changed_by`,
        model,
        action === "disable",
        action === "reset" ? Math.round(atMs) : 0,
        Math.round(atMs),
        by,
      ]);
    },
    close: () => database.close(),
  };
}

/** Writes one row over the epoch it is based on, and says so by returning it. */
function saveStatement({ model, basedOn = 0, health, updatedMs, updatedBy }: RowChange): Statement {
  const { state, sinceMs, reason, detail } = health;
  return [
    `INSERT INTO model_health (model, epoch, state, since_ms, reason, detail, updated_ms, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (model) DO UPDATE SET epoch = excluded.epoch, state = excluded.state, since_ms = excluded.since_ms,
       reason = excluded.reason, detail = excluded.detail, updated_ms = excluded.updated_ms, updated_by = excluded.updated_by
     WHERE model_health.epoch = excluded.epoch - 1 RETURNING model`,
    model,
    basedOn + 1,
    state,
    Math.round(sinceMs),
    reason,
    JSON.stringify(detail),
    Math.round(updatedMs),
    updatedBy,
  ];
}

/** Numbers arrive as text where the database has larger ones than JavaScript. */
function readRow(row: StoreRow): HealthRow {
  return {
    model: String(row["model"]),
    epoch: Number(row["epoch"]),
    health: readHealth(String(row["state"]), Number(row["since_ms"]), String(row["reason"]), String(row["detail"])),
    updatedMs: Number(row["updated_ms"]),
    updatedBy: String(row["updated_by"]),
  };
}

function readOverride(row: StoreRow): OverrideRow {
  return {
    model: String(row["model"]),
    disabled: Boolean(row["disabled"]),
    resetMs: Number(row["reset_ms"]),
    changedMs: Number(row["changed_ms"]),
    changedBy: String(row["changed_by"]),
  };
}

function readSample(row: StoreRow): HealthSample {
  return {
    nodeId: String(row["node_id"]),
    model: String(row["model"]),
    atMs: Number(row["at_ms"]),
    answers: Number(row["answers"]),
    failures: Number(row["failures"]),
    excluded: Boolean(row["excluded"]),
  };
}
