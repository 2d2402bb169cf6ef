import { z } from "zod";
import type { ModelKey } from "#domain/model.ts";
import { healthStates } from "#health/health.ts";
import { type Health, quarantineCauses } from "#health/state-machine/model-health.ts";

/**
 * Where model health is kept over restarts and shared between nodes. Health fails static: while the store is unavailable every
 * node goes on with what it last knew. All forms pass `health-store.contract.ts`; every method may reject.
 */
export interface HealthStore {
  load(): Promise<StoredHealth>;
  /**
   * Writes each row if the store still holds the epoch it is based on (undefined: none yet), with an epoch one higher.
   * Answers the models whose rows were written; the others have been changed by another node meanwhile.
   */
  save(rows: readonly RowChange[]): Promise<readonly ModelKey[]>;
  /** Replaces what this node has said of these models, and forgets what nodes said that have been silent for long. */
  saveSamples(samples: readonly HealthSample[]): Promise<void>;
  override(change: OverrideChange): Promise<void>;
  close(): Promise<void>;
}

export interface StoredHealth {
  readonly rows: readonly HealthRow[];
  readonly overrides: readonly OverrideRow[];
  readonly samples: readonly HealthSample[];
}

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

export interface RowChange {
  readonly model: ModelKey;
  readonly basedOn: number | undefined;
  readonly health: StoredModelHealth;
  readonly updatedMs: number;
  readonly updatedBy: string;
}

export interface OverrideRow {
  readonly model: ModelKey;
  readonly disabled: boolean;
  /** What happened before is forgiven; 0: nothing is. */
  readonly resetMs: number;
  readonly changedMs: number;
  readonly changedBy: string;
}

export type OverrideAction = "disable" | "enable" | "reset";
export interface OverrideChange {
  readonly model: ModelKey;
  readonly action: OverrideAction;
  readonly atMs: number;
  readonly by: string;
}

/** What one node has seen of one model in its window. */
export interface HealthSample {
  readonly nodeId: string;
  readonly model: ModelKey;
  readonly atMs: number;
  readonly answers: number;
  readonly failures: number;
  /** This node would have the model UNHEALTHY. */
  readonly excluded: boolean;
}

/** Samples of nodes that have written none for this long are deleted, in milliseconds. */
export const sampleRetentionMs = 600_000;

/** A state with what belongs to it. */
export type StoredModelHealth = Pick<Health, "state" | "sinceMs" | "reason"> & { readonly detail: StoredDetail };

const ms = z.number();
const count = z.int().min(0);
const StoredDetail = z.object({
  lastVerdictMs: ms,
  garbageInARow: count,
  notFound: count,
  trips: count,
  tripsAtMs: z.array(ms).max(100),
  quarantines: count,
  limitedUntilMs: ms,
  retryAtMs: ms.optional(),
  cause: z.enum(quarantineCauses).optional(),
  passed: count.optional(),
  leaseUntilMs: ms.nullable().optional(),
  urgentRetryAtMs: ms.nullable().optional(),
  unproven: z.boolean().optional(),
  rampFromMs: ms.nullable().optional(),
});
type StoredDetail = z.infer<typeof StoredDetail>;

/** Numbers arrive as text where the database has larger ones than JavaScript. */
const Row = z.object({
  model: z.string(),
  epoch: z.coerce.number().pipe(z.int().min(1)),
  state: z.string(),
  since_ms: z.coerce.number(),
  reason: z.string(),
  detail: z.string(),
  updated_ms: z.coerce.number(),
  updated_by: z.string(),
});
const State = z.enum(healthStates);

/** Reads a row of the database. Throws for one that breaks the table's own promises. */
export function readRow(row: unknown): HealthRow {
  const { model, epoch, state, since_ms, reason, detail, updated_ms, updated_by } = Row.parse(row);
  const readState = State.safeParse(state);
  const readDetail = StoredDetail.safeParse(jsonOf(detail));
  const health =
    readState.success && readDetail.success
      ? { state: readState.data, sinceMs: since_ms, reason, detail: readDetail.data }
      : undefined;
  return { model, epoch, health, updatedMs: updated_ms, updatedBy: updated_by };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not ours, or half of it: the caller finds that it has no shape.
    return undefined;
  }
}

export function toStored(health: Health): StoredModelHealth {
  const { state, sinceMs, reason, ...rest } = health;
  return { state, sinceMs, reason, detail: StoredDetail.parse(rest) };
}
