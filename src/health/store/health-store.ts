import { z } from "zod";
import { openStoreDatabase, type Statement, type StoreDatabase, type StoreRow } from "#db/store-database.ts";
import type { ModelKey } from "#domain/model.ts";
import { healthStates } from "#health/health.ts";
import { emptyTally } from "#health/state-machine/evidence.ts";
import { type Health, noEvidence, quarantineCauses } from "#health/state-machine/model-health.ts";

/** The part of a model's health that outlives the process: everything but the evidence of the last minute. */
export interface HealthRow {
  readonly model: ModelKey;
  /** Version of the row; no relation to the epochs of permits, which are each process's own. */
  readonly epoch: number;
  /** Undefined when another release wrote what this one cannot read: the model starts anew, and the row is written over. */
  readonly health: StoredModelHealth | undefined;
  readonly updatedMs: number;
  readonly updatedBy: string;
}

/** A row to write over the one with the epoch `basedOn`; undefined: there is none yet. */
export interface RowChange extends Omit<HealthRow, "epoch" | "health"> {
  readonly basedOn: number | undefined;
  readonly health: StoredModelHealth;
}

const ms = z.number();
const count = z.int().min(0);
/** Numbers arrive as text where the database has larger ones than JavaScript, booleans as numbers where it has none. */
const number = z.coerce.number();
const boolean = z.coerce.boolean();

/** `resetMs`: what happened before is forgiven; 0: nothing is. */
const OverrideRow = z.object({
  model: z.string(),
  disabled: boolean,
  resetMs: number,
  changedMs: number,
  changedBy: z.string(),
});
export type OverrideRow = z.infer<typeof OverrideRow>;
export type OverrideAction = "disable" | "enable" | "reset";

/** What one node has seen of one model in its window. `excluded`: this node would have the model UNHEALTHY. */
const HealthSample = z.object({
  nodeId: z.string(),
  model: z.string(),
  atMs: number,
  answers: number,
  failures: number,
  excluded: boolean,
});
export type HealthSample = z.infer<typeof HealthSample>;

/** Samples of nodes that have written none for this long are deleted, in milliseconds. */
export const sampleRetentionMs = 600_000;

/** A state with what belongs to it. */
const StoredHealth = z.object({
  state: z.enum(healthStates),
  sinceMs: ms,
  reason: z.string(),
  detail: z.object({
    lastVerdictMs: ms,
    garbageInARow: count,
    notFound: count,
    tripsAtMs: z.array(ms).max(100),
    quarantines: count,
    limitedUntilMs: ms,
    retryAtMs: ms.optional(),
    cause: z.enum(quarantineCauses).optional(),
    passed: count.optional(),
    leaseUntilMs: ms.nullable().optional(),
    outSinceMs: ms.optional(),
    failedProbes: count.optional(),
    unproven: z.boolean().optional(),
    rampFromMs: ms.nullable().optional(),
  }),
});
export type StoredModelHealth = z.infer<typeof StoredHealth>;

/** The health store that a database URL names. Brings the schema up to date. Rejects when the database cannot be reached. */
export async function openHealthStore(databaseUrl: string): Promise<HealthStore> {
  return sqlHealthStore(await openStoreDatabase(databaseUrl));
}

/**
 * Where model health is kept over restarts and shared between nodes, over an open database, which it closes with itself. Health
 * fails static: while the store is unavailable every node goes on with what it last knew. Every method may reject.
 */
export type HealthStore = ReturnType<typeof sqlHealthStore>;

export function sqlHealthStore(database: StoreDatabase) {
  return {
    async load() {
      const [rows = [], overrides = [], samples = []] = await database.read(
        ["SELECT model, epoch, state, since_ms, reason, detail, updated_ms, updated_by FROM model_health"],
        [
          `SELECT model, disabled, reset_ms AS "resetMs", changed_ms AS "changedMs", changed_by AS "changedBy"
           FROM model_override`,
        ],
        [`SELECT node_id AS "nodeId", model, at_ms AS "atMs", answers, failures, excluded FROM model_health_sample`],
      );
      return {
        rows: rows.map(
          (row): HealthRow => ({
            model: String(row["model"]),
            epoch: Number(row["epoch"]),
            health: readHealth(row),
            updatedMs: Number(row["updated_ms"]),
            updatedBy: String(row["updated_by"]),
          }),
        ),
        overrides: overrides.map((row) => OverrideRow.parse(row)),
        samples: samples.map((row) => HealthSample.parse(row)),
      };
    },
    /**
     * Writes each row if the store still holds the epoch it is based on (undefined: none yet), with an epoch one higher.
     * Answers the models whose rows were written; the others have been changed by another node meanwhile. A save whose answer is
     * lost may have happened: the next load shows it.
     */
    async save(changes: readonly RowChange[]): Promise<readonly ModelKey[]> {
      if (changes.length === 0) return [];
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = changes.toSorted((a, b) => (a.model < b.model ? -1 : 1));
      const written = await database.write(...sorted.map(saveStatement));
      return written.flat().map((row) => String(row["model"]));
    },
    /** Replaces what this node has said of these models, and forgets what nodes said that have been silent for long. */
    async saveSamples(samples: readonly HealthSample[]): Promise<void> {
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
    async override(change: {
      readonly model: ModelKey;
      readonly action: OverrideAction;
      readonly atMs: number;
      readonly by: string;
    }): Promise<void> {
      const { model, action, atMs, by } = change;
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
    close: (): Promise<void> => database.close(),
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

/** The health that a row holds; undefined where another release wrote what this one cannot read. */
function readHealth(row: StoreRow): HealthRow["health"] {
  const { state, since_ms: sinceMs, reason, detail } = row;
  try {
    return StoredHealth.parse({ state, sinceMs: Number(sinceMs), reason, detail: JSON.parse(String(detail)) });
  } catch {
    return undefined;
  }
}

export function toStored(health: Health): StoredModelHealth {
  return StoredHealth.parse({ ...health, detail: health });
}

/**
 * Health as it was kept, put in the place of `own`. Its epoch follows on the model's own, so that attempts which began
 * before decide nothing. A probe that was out when the process ended is over.
 */
export function restoredHealth(
  { state, sinceMs, reason, detail }: StoredModelHealth,
  own: Health,
  nowMs: number,
  when: "restart" | "running",
): Health {
  const epoch = own.epoch + 1;
  const leaseUntilMs = when === "restart" ? null : (detail.leaseUntilMs ?? null);
  const limitedUntilMs = Math.max(own.limitedUntilMs, detail.limitedUntilMs);
  const recovery = { good: 0, window: emptyTally(nowMs) };
  return {
    ...noEvidence,
    // What a state has of its own, where an earlier release has not written it; other states do not look at it.
    ...{ retryAtMs: nowMs, outSinceMs: sinceMs, failedProbes: 0, passed: 0, cause: "flapping" },
    ...{ unproven: false, rampFromMs: null, recovery },
    ...detail,
    ...{ state, sinceMs, reason, epoch, countsFrom: epoch, leaseUntilMs, limitedUntilMs },
  } as Health; // the state with its own data
}
