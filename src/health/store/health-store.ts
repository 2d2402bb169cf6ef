import { z } from "zod";
import type { ModelKey } from "#domain/model.ts";
import { healthStates } from "#health/health.ts";
import { emptyTally } from "#health/state-machine/evidence.ts";
import { type CommonData, type Health, quarantineCauses, type StateData } from "#health/state-machine/model-health.ts";

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

const State = z.enum(healthStates);

/** The health that a row holds; undefined where another release wrote what this one cannot read. */
export function readHealth(state: string, sinceMs: number, reason: string, detail: string): HealthRow["health"] {
  const readState = State.safeParse(state);
  const readDetail = StoredDetail.safeParse(jsonIn(detail));
  return readState.success && readDetail.success
    ? { state: readState.data, sinceMs, reason, detail: readDetail.data }
    : undefined;
}

function jsonIn(text: string): unknown {
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
  const { lastVerdictMs, garbageInARow, notFound, trips, tripsAtMs, quarantines } = detail;
  const { passed = 0, unproven = false, rampFromMs = null, retryAtMs = nowMs, cause = "flapping" } = detail;
  const { leaseUntilMs = null, urgentRetryAtMs = null } = detail;
  const none = emptyTally(nowMs);
  const byState: StateData = {
    HEALTHY: {},
    STALE: {},
    DISABLED: {},
    DEGRADED: { unproven, rampFromMs, recovery: { good: 0, short: none, long: none } },
    UNHEALTHY: { retryAtMs },
    HALF_OPEN: { passed, urgentRetryAtMs, leaseUntilMs: when === "restart" ? null : leaseUntilMs },
    QUARANTINE: { retryAtMs, cause },
  };
  const common: CommonData = {
    epoch,
    countsFrom: epoch,
    sinceMs,
    reason,
    lastVerdictMs,
    slices: [],
    failedInARow: 0,
    garbageInARow,
    notFound,
    trips,
    tripsAtMs,
    quarantines,
    limitedUntilMs: Math.max(own.limitedUntilMs, detail.limitedUntilMs),
  };
  return { ...common, ...byState[state], state } as Health; // the state with its own data
}
