import type { ModelKey } from "#domain/model.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { isServing, type OperatedHealthRegistry } from "./registry.ts";
import type { Health } from "./state-machine/transitions.ts";
import {
  type HealthRow,
  type HealthSample,
  type HealthStore,
  type OverrideAction,
  type OverrideRow,
  type RowChange,
  toStored,
} from "./store/health-store.ts";

export interface HealthSyncOptions {
  readonly registry: OperatedHealthRegistry;
  readonly store: HealthStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly nodeId: string;
  /** Whether other processes share the store: then nodes tell each other what they see, and exclude models together. */
  readonly shared: boolean;
  /** Told when the store goes away (with what it said) and when it is back. Must not throw. */
  readonly onStore?: (state: "away" | "back", problem: string | undefined) => void;
}

/** Keeps health in its store: over restarts, with other nodes, and open to what the operator says in another process. */
export interface HealthSync {
  /** Takes over what was kept, waiting no longer than a second for it, then keeps in step every second. Never rejects. */
  start(): Promise<void>;
  /** One exchange with the store. Never rejects: while the store is away, health goes on from what it last knew. */
  sync(): Promise<void>;
  /** Records what the operator says and applies it here at once. Rejects when the store cannot be reached. */
  override(model: ModelKey, action: OverrideAction, by: string): Promise<"done" | "unknown_model">;
  /** Writes what is unwritten, stops, and closes the store. Never rejects. */
  close(): Promise<void>;
}

const everyMs = 1_000;
const reportEveryMs = 2_000;
const startWaitsMs = 1_000;
/** One exchange that fails, say because another process was writing, is made up for by the next. */
const awayAfter = 3;
/** A node whose samples have not changed for this long has no say. */
const heardWithinMs = 10_000;
/** A node that alone finds a model UNHEALTHY leaves it out for this long. */
const aloneMs = 30_000;

/** What this node knows of a model's row. */
interface Known {
  /** The row's epoch; undefined while there is none. */
  epoch: number | undefined;
  /** Whether the row has the model serving; so does no row. */
  serving: boolean;
  /** What of the own health is in the row, or is not meant to be. */
  written: string;
  /** Excluded here against the others. */
  alone: boolean;
  forgivenMs: number;
}

export function startableHealthSync(options: HealthSyncOptions): HealthSync {
  const { registry, store, clock, timers, nodeId, shared, onStore } = options;
  const known = new Map<ModelKey, Known>();
  /** When each node's word on each model last changed, by our own clock: clocks of nodes need not agree. */
  const heard = new Map<string, { sample: HealthSample; changedMs: number }>();
  let loaded = false;
  let failures = 0;
  let closed = false;
  let running: Promise<void> | undefined;
  let reportedMs = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;

  function knownOf(model: ModelKey): Known {
    let own = known.get(model);
    if (own === undefined) {
      own = { epoch: undefined, serving: true, written: "", alone: false, forgivenMs: 0 };
      known.set(model, own);
    }
    return own;
  }

  async function exchange(closing: boolean): Promise<void> {
    const { rows, overrides, samples } = await store.load();
    for (const row of rows) takeRow(row);
    for (const override of overrides) takeOverride(override, rows);
    loaded = true;
    hear(samples);
    if (shared && clock.monotonic() - reportedMs >= reportEveryMs) {
      reportedMs = clock.monotonic();
      await store.saveSamples(ownSamples());
    }
    await write(closing);
  }

  function takeRow(row: HealthRow): void {
    const own = knownOf(row.model);
    if (row.epoch === own.epoch) return;
    own.epoch = row.epoch;
    if (row.health === undefined) return;
    own.serving = isServing(row.health);
    const before = registry.health().get(row.model);
    if (before === undefined) return;
    // Excluded here alone, or before the store could first be read: that it served elsewhere, or once, is no news.
    const ownStory = before.epoch > 1;
    if (own.serving && (own.alone || (!loaded && ownStory))) return;
    registry.restore(row.model, row.health, loaded || ownStory ? "running" : "restart");
    own.alone = false;
    own.written = versionOf(registry.health().get(row.model));
  }

  function takeOverride({ model, disabled, resetMs }: OverrideRow, rows: readonly HealthRow[]): void {
    const own = knownOf(model);
    registry.override(model, disabled ? "disable" : "enable");
    if (!loaded) own.forgivenMs = rows.find((row) => row.model === model)?.updatedMs ?? resetMs;
    if (resetMs <= own.forgivenMs) return;
    own.forgivenMs = resetMs;
    registry.override(model, "reset");
  }

  function hear(samples: readonly HealthSample[]): void {
    const nowMs = clock.monotonic();
    const current = new Set<string>();
    for (const sample of samples) {
      if (sample.nodeId === nodeId) continue;
      const key = JSON.stringify([sample.nodeId, sample.model]);
      current.add(key);
      const before = heard.get(key);
      // What stands there when we first look may be long over: it has to change before it counts.
      const changedMs = before === undefined ? Number.NEGATIVE_INFINITY : before.changedMs;
      const changed = before !== undefined && before.sample.atMs !== sample.atMs;
      heard.set(key, { sample, changedMs: changed ? nowMs : changedMs });
    }
    for (const key of heard.keys()) if (!current.has(key)) heard.delete(key);
  }

  function ownSamples(): HealthSample[] {
    const atMs = clock.now();
    return registry.status().models.map(({ model, state, answers, failures }) => {
      const excluded = state === "UNHEALTHY" || state === "HALF_OPEN";
      return { nodeId, model, atMs, answers, failures, excluded };
    });
  }

  /** Whether at least half of the nodes that have traffic for the model would exclude it; this one does. */
  function agreed(model: ModelKey): boolean {
    let nodes = 1;
    let excluding = 1;
    for (const { sample, changedMs } of heard.values()) {
      if (sample.model !== model || clock.monotonic() - changedMs > heardWithinMs) continue;
      if (sample.answers === 0 && !sample.excluded) continue;
      nodes += 1;
      if (sample.excluded) excluding += 1;
    }
    return 2 * excluding >= nodes;
  }

  /** Whether the own view of a model is to be everybody's. */
  function proposes(model: ModelKey, health: Health, own: Known): boolean {
    if (isServing(health) || health.state === "QUARANTINE" || health.state === "DISABLED" || !own.serving) {
      own.alone = false;
      return true;
    }
    // The others have it serve: for all of them to leave it out, or to leave it to our probe, more must think as we do.
    if (!shared || agreed(model)) {
      own.alone = false;
      return true;
    }
    if (!own.alone) registry.pauseUntil(model, health.sinceMs + aloneMs);
    own.alone = true;
    return false;
  }

  async function write(closing: boolean): Promise<void> {
    const changes: RowChange[] = [];
    const words = new Map<ModelKey, { word: string; serving: boolean }>();
    for (const [model, health] of registry.health()) {
      const own = knownOf(model);
      const word = versionOf(health);
      if (word === own.written && !closing) continue;
      if (!proposes(model, health, own)) continue;
      changes.push({ model, basedOn: own.epoch, health: toStored(health), updatedMs: clock.now(), updatedBy: nodeId });
      words.set(model, { word, serving: isServing(health) });
    }
    if (changes.length === 0) return;
    for (const model of await store.save(changes)) {
      const own = knownOf(model);
      own.epoch = (own.epoch ?? 0) + 1;
      const { word, serving } = words.get(model) ?? { word: "", serving: true };
      own.written = word;
      own.serving = serving;
    }
    // Rows that were not written have been changed by another node: the next exchange takes them over.
  }

  async function step(closing: boolean): Promise<void> {
    try {
      await exchange(closing);
      if (failures >= awayAfter) onStore?.("back", undefined);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === awayAfter) onStore?.("away", error instanceof Error ? error.message : String(error));
    }
  }

  function sync(): Promise<void> {
    running ??= step(false).finally(() => {
      running = undefined;
    });
    return running;
  }

  function schedule(): void {
    if (closed) return;
    cancel = timers.after(everyMs, () => void sync().then(schedule));
  }

  return {
    async start() {
      let stopWaiting: (() => void) | undefined;
      const waited = new Promise<void>((resolve) => {
        stopWaiting = timers.after(startWaitsMs, resolve);
      });
      await Promise.race([sync(), waited]);
      stopWaiting?.();
      schedule();
    },
    sync,
    async override(model, action, by) {
      if (!registry.health().has(model)) return "unknown_model";
      const atMs = clock.now();
      await store.override({ model, action, atMs, by });
      const own = knownOf(model);
      if (action === "reset") own.forgivenMs = Math.max(own.forgivenMs, atMs);
      return registry.override(model, action);
    },
    async close() {
      if (closed) return;
      closed = true;
      cancel?.();
      await running;
      if (loaded) await step(true);
      try {
        await store.close();
      } catch {
        // It is closed as far as we are concerned; what could be written is written.
      }
    },
  };
}

/** What makes a row worth writing anew. Evidence does not: it changes with every answer. */
function versionOf(health: Health | undefined): string {
  return health === undefined ? "" : `${health.epoch} ${health.limitedUntilMs}`;
}
