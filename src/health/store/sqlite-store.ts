import type { Database } from "bun:sqlite";
import { openSqlite } from "#db/sqlite.ts";
import type { ModelKey } from "#domain/model.ts";
import { type HealthSample, type HealthStore, type OverrideRow, readRow, sampleRetentionMs } from "./health-store.ts";

/**
 * Health in the gateway's SQLite file, over a connection of its own: writes are few and small, so they are made where they
 * arise; the wait for another writer is kept short, because the event loop waits with them, and the next second is another chance.
 */
export function openSqliteHealthStore(path: string): HealthStore {
  const db = openSqlite(path);
  db.run("PRAGMA busy_timeout = 20");
  // Durable enough for what a few probes find out again; the ledger's connection syncs every commit.
  db.run("PRAGMA synchronous = NORMAL");
  return sqliteHealthStore(db);
}

interface StoredOverride {
  model: string;
  disabled: number;
  reset_ms: number;
  changed_ms: number;
  changed_by: string;
}
interface StoredSample {
  node_id: string;
  model: string;
  at_ms: number;
  answers: number;
  failures: number;
  excluded: number;
}

/** The same over an open connection, which it closes with itself. */
export function sqliteHealthStore(db: Database): HealthStore {
  const { rows, overrides, samples, insert, update, upsertSample, dropSamples, setDisabled, setReset } = queriesOf(db);
  return {
    async load() {
      return {
        rows: rows.all().map(readRow),
        overrides: overrides.all().map(readOverride),
        samples: samples.all().map(readSample),
      };
    },
    async save(changes) {
      const written: ModelKey[] = [];
      db.transaction(() => {
        for (const { model, basedOn, health, updatedMs, updatedBy } of changes) {
          const detail = JSON.stringify(health.detail);
          const values = [model, health.state, health.sinceMs, health.reason, detail, updatedMs, updatedBy] as const;
          const { changes: count } = basedOn === undefined ? insert.run(...values) : update.run(...values, basedOn);
          if (count === 1) written.push(model);
        }
      }).immediate();
      return written;
    },
    async saveSamples(reported) {
      const newest = Math.max(...reported.map(({ atMs }) => atMs));
      db.transaction(() => {
        for (const { nodeId, model, atMs, answers, failures, excluded } of reported) {
          upsertSample.run(nodeId, model, atMs, answers, failures, excluded ? 1 : 0);
        }
        if (Number.isFinite(newest)) dropSamples.run(newest - sampleRetentionMs);
      }).immediate();
    },
    async override({ model, action, atMs, by }) {
      if (action === "reset") setReset.run(model, atMs, by);
      else setDisabled.run(model, action === "disable" ? 1 : 0, atMs, by);
    },
    async close() {
      db.close();
    },
  };
}

function queriesOf(db: Database) {
  return {
    rows: db.query("SELECT model, epoch, state, since_ms, reason, detail, updated_ms, updated_by FROM model_health"),
    overrides: db.query<StoredOverride, []>(
      "SELECT model, disabled, reset_ms, changed_ms, changed_by FROM model_override",
    ),
    samples: db.query<StoredSample, []>(
      "SELECT node_id, model, at_ms, answers, failures, excluded FROM model_health_sample",
    ),
    insert: db.query(
      `INSERT INTO model_health (model, epoch, state, since_ms, reason, detail, updated_ms, updated_by)
       VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (model) DO NOTHING`,
    ),
    update: db.query(
      `UPDATE model_health SET epoch = epoch + 1, state = ?2, since_ms = ?3, reason = ?4, detail = ?5, updated_ms = ?6, updated_by = ?7
       WHERE model = ?1 AND epoch = ?8`,
    ),
    upsertSample: db.query(
      `INSERT INTO model_health_sample (node_id, model, at_ms, answers, failures, excluded) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (node_id, model) DO UPDATE SET at_ms = ?3, answers = ?4, failures = ?5, excluded = ?6`,
    ),
    dropSamples: db.query("DELETE FROM model_health_sample WHERE at_ms < ?1"),
    setDisabled: db.query(
      `INSERT INTO model_override (model, disabled, reset_ms, changed_ms, changed_by) VALUES (?1, ?2, 0, ?3, ?4)
       ON CONFLICT (model) DO UPDATE SET disabled = ?2, changed_ms = ?3, changed_by = ?4`,
    ),
    setReset: db.query(
      `INSERT INTO model_override (model, disabled, reset_ms, changed_ms, changed_by) VALUES (?1, 0, ?2, ?2, ?3)
       ON CONFLICT (model) DO UPDATE SET reset_ms = ?2, changed_ms = ?2, changed_by = ?3`,
    ),
  };
}

function readOverride(row: StoredOverride): OverrideRow {
  return {
    model: row.model,
    disabled: row.disabled === 1,
    resetMs: row.reset_ms,
    changedMs: row.changed_ms,
    changedBy: row.changed_by,
  };
}

function readSample(row: StoredSample): HealthSample {
  return {
    nodeId: row.node_id,
    model: row.model,
    atMs: row.at_ms,
    answers: row.answers,
    failures: row.failures,
    excluded: row.excluded === 1,
  };
}
