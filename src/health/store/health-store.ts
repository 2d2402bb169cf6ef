import { z } from "zod";
import { openStoreDatabase, type Statement, type StoreDatabase, type StoreRow } from "#db/store-database.ts";
import type { ModelKey } from "#domain/model.ts";
import { healthStates } from "#health/health.ts";
import { emptyTally } from "#health/state-machine/evidence.ts";
import { type Health, noEvidence, quarantineCauses } from "#health/state-machine/model-health.ts";

/** The part of a model's health that outlives the process: everything but the evidence of the last minute. */
export interface HealthRow {
  readonly model: ModelKey;
  readonly health: StoredModelHealth;
  readonly updatedMs: number;
  /** The node that wrote it: the last one whose health of the model changed. */
  readonly updatedBy: string;
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
export type OverrideChange = { model: ModelKey; action: OverrideAction; atMs: number; by: string };

/** A state with what belongs to it. */
const StoredHealth = z.object({
  state: z.enum(healthStates),
  sinceMs: ms,
  reason: z.string(),
  detail: z.object({
    lastVerdictMs: ms,
    tripsAtMs: z.array(ms).max(100),
    quarantines: count,
    limitedUntilMs: ms,
    retryAtMs: ms.optional(),
    cause: z.enum(quarantineCauses).optional(),
    outSinceMs: ms.optional(),
  }),
});
export type StoredModelHealth = z.infer<typeof StoredHealth>;

/** The health store that a database URL names. Brings the schema up to date. Rejects when the database cannot be reached. */
export async function openHealthStore(databaseUrl: string): Promise<HealthStore> {
  return sqlHealthStore(await openStoreDatabase(databaseUrl));
}

/**
 * Where model health is kept over restarts, and what operators say of models, over an open database, which it closes
 * with itself. While it is unavailable every node goes on with what it last knew. Every method may reject.
 */
export type HealthStore = ReturnType<typeof sqlHealthStore>;

export function sqlHealthStore(database: StoreDatabase) {
  return {
    async load() {
      const [rows = [], overrides = []] = await database.read(
        ["SELECT model, state, since_ms, reason, detail, updated_ms, updated_by FROM model_health"],
        [
          `SELECT model, disabled, reset_ms AS "resetMs", changed_ms AS "changedMs", changed_by AS "changedBy"
           FROM model_override`,
        ],
      );
      return { rows: rows.flatMap(readRow), overrides: overrides.map((row) => OverrideRow.parse(row)) };
    },
    /** Replaces each model's row: the node whose view changed last is the one to restart with. */
    async save(rows: readonly HealthRow[]): Promise<void> {
      if (rows.length === 0) return;
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = rows.toSorted((a, b) => (a.model < b.model ? -1 : 1));
      await database.write(
        ...sorted.map(({ model, health, updatedMs, updatedBy }): Statement => {
          const { state, sinceMs, reason, detail } = health;
          return [
            `INSERT INTO model_health (model, state, since_ms, reason, detail, updated_ms, updated_by) VALUES (?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (model) DO UPDATE SET state = excluded.state, since_ms = excluded.since_ms, reason = excluded.reason,
               detail = excluded.detail, updated_ms = excluded.updated_ms, updated_by = excluded.updated_by`,
            ...[model, state, Math.round(sinceMs), reason, JSON.stringify(detail), Math.round(updatedMs), updatedBy],
          ];
        }),
      );
    },
    async override({ model, action, atMs, by }: OverrideChange): Promise<void> {
      const changed = action === "reset" ? "reset_ms = excluded.reset_ms" : "disabled = excluded.disabled";
      const resetMs = action === "reset" ? Math.round(atMs) : 0;
      await database.write([
        `INSERT INTO model_override (model, disabled, reset_ms, changed_ms, changed_by) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (model) DO UPDATE SET ${changed}, changed_ms = excluded.changed_ms, changed_by = excluded.changed_by`,
        ...[model, action === "disable", resetMs, Math.round(atMs), by],
      ]);
    },
    close: (): Promise<void> => database.close(),
  };
}

/** A row; none where another release wrote what this one cannot read: it is written over. */
function readRow(row: StoreRow): HealthRow[] {
  const { state, since_ms: sinceMs, reason, detail } = row;
  try {
    const health = StoredHealth.parse({ state, sinceMs: Number(sinceMs), reason, detail: JSON.parse(String(detail)) });
    const { model, updated_ms: updatedMs, updated_by: updatedBy } = row;
    return [{ model: String(model), health, updatedMs: Number(updatedMs), updatedBy: String(updatedBy) }];
  } catch {
    return [];
  }
}

export function toStored(health: Health): StoredModelHealth {
  return StoredHealth.parse({ ...health, detail: health });
}

/** Health as it was kept, in the place of `own`, on whose epoch it follows. A probe that was out then is over. */
export function restoredHealth(
  { state, sinceMs, reason, detail }: StoredModelHealth,
  own: Health,
  nowMs: number,
): Health {
  const epoch = own.epoch + 1;
  const recovery = { good: 0, window: emptyTally(nowMs) };
  return {
    ...noEvidence,
    // What a state has of its own; other states do not look at it.
    ...{ retryAtMs: nowMs, outSinceMs: sinceMs, failedProbes: 0, passed: 0, cause: "flapping" },
    ...{ unproven: false, rampFromMs: null, recovery, leaseUntilMs: null },
    ...detail,
    ...{ state, sinceMs, reason, epoch, countsFrom: epoch },
  } as Health; // the state with its own data
}
