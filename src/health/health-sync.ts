import type { ModelKey } from "#domain/model.ts";
import { BackgroundJob } from "#platform/background-job.ts";
import type { Clock, Timers } from "#platform/time.ts";
import type { ProcessHealthRegistry } from "./registry.ts";
import { type Health, isServing } from "./state-machine/model-health.ts";
import {
  type HealthRow,
  type HealthSample,
  type HealthStore,
  type OverrideAction,
  type OverrideRow,
  toStored,
} from "./store/health-store.ts";

export interface HealthSyncOptions {
  readonly registry: ProcessHealthRegistry;
  readonly store: HealthStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly nodeId: string;
  /** Whether other processes share the store: then nodes exchange samples, and exclude models by majority. */
  readonly shared: boolean;
  /** Notified when the store becomes unavailable (with its error) and when it is available again. Must not throw. */
  readonly onStore?: (state: "unavailable" | "available", problem: string | undefined) => void;
}

const syncEveryMs = 1_000;
const reportEveryMs = 2_000;
const startTimeoutMs = 1_000;
/** A single failed exchange, for instance because another process was writing, is followed by the next. */
const unavailableAfterFailures = 3;
/** A node whose samples have not changed for this long is not counted. */
const peerSampleMaxAgeMs = 10_000;
/** A node that alone finds a model UNHEALTHY leaves it out for this long. */
const excludedAloneMs = 30_000;

/** What this node knows of a model's row. */
interface SyncState {
  /** The row's epoch; undefined while there is none. */
  epoch: number | undefined;
  /** Whether the row has the model serving; so does no row. */
  serving: boolean;
  /** What of the own health is in the row, or is not meant to be. */
  written: string;
  /** Excluded here against the others. */
  excludedAlone: boolean;
  forgivenMs: number;
}

/** Stores model health over restarts, and shares it with other nodes and with operators' commands in other processes. */
export class HealthSync {
  readonly #options: HealthSyncOptions;
  readonly #models = new Map<ModelKey, SyncState>();
  /** When each node's sample of each model last changed, by our own clock: clocks of nodes need not agree. */
  readonly #peerSamples = new Map<string, { sample: HealthSample; changedMs: number }>();
  #loaded = false;
  #failures = 0;
  #running: Promise<void> | undefined;
  #reportedMs = Number.NEGATIVE_INFINITY;
  readonly #job: BackgroundJob;

  constructor(options: HealthSyncOptions) {
    this.#options = options;
    const { timers } = options;
    this.#job = new BackgroundJob({ run: () => this.sync(), pauseMs: () => syncEveryMs, timers });
  }

  #stateOf(model: ModelKey): SyncState {
    let own = this.#models.get(model);
    if (own === undefined) {
      own = { epoch: undefined, serving: true, written: "", excludedAlone: false, forgivenMs: 0 };
      this.#models.set(model, own);
    }
    return own;
  }

  async #exchange(closing: boolean): Promise<void> {
    const { rows, overrides, samples } = await this.#options.store.load();
    for (const row of rows) this.#applyRow(row);
    for (const override of overrides) this.#applyOverride(override, rows);
    this.#loaded = true;
    this.#receiveSamples(samples);
    if (this.#options.shared && this.#options.clock.monotonic() - this.#reportedMs >= reportEveryMs) {
      this.#reportedMs = this.#options.clock.monotonic();
      await this.#sendSamples();
    }
    await this.#write(closing);
  }

  #applyRow(row: HealthRow): void {
    const own = this.#stateOf(row.model);
    if (row.epoch === own.epoch) return;
    own.epoch = row.epoch;
    if (row.health === undefined) return;
    own.serving = isServing(row.health);
    const before = this.#options.registry.health().get(row.model);
    if (before === undefined) return;
    // Excluded here alone, or before the store could first be read: that it served elsewhere, or once, is no news.
    const hasOwnEvidence = before.epoch > 1;
    if (own.serving && (own.excludedAlone || (!this.#loaded && hasOwnEvidence))) return;
    this.#options.registry.restore(row.model, row.health, this.#loaded || hasOwnEvidence ? "running" : "restart");
    own.excludedAlone = false;
    own.written = versionOf(this.#options.registry.health().get(row.model));
  }

  #applyOverride({ model, disabled, resetMs }: OverrideRow, rows: readonly HealthRow[]): void {
    const own = this.#stateOf(model);
    this.#options.registry.override(model, disabled ? "disable" : "enable");
    if (!this.#loaded) own.forgivenMs = rows.find((row) => row.model === model)?.updatedMs ?? resetMs;
    if (resetMs <= own.forgivenMs) return;
    own.forgivenMs = resetMs;
    this.#options.registry.override(model, "reset");
  }

  #receiveSamples(samples: readonly HealthSample[]): void {
    const nowMs = this.#options.clock.monotonic();
    const before = new Map(this.#peerSamples);
    this.#peerSamples.clear();
    for (const sample of samples) {
      if (sample.nodeId === this.#options.nodeId) continue;
      const key = JSON.stringify([sample.nodeId, sample.model]);
      const last = before.get(key);
      // What stands there when we first look may be long over: it has to change before it counts.
      const isNews = last !== undefined && last.sample.atMs !== sample.atMs;
      this.#peerSamples.set(key, { sample, changedMs: isNews ? nowMs : (last?.changedMs ?? Number.NEGATIVE_INFINITY) });
    }
  }

  #sendSamples(): Promise<void> {
    const { clock, nodeId, registry, store } = this.#options;
    const atMs = clock.now();
    return store.saveSamples(
      registry.status().models.map(({ model, state, answers, failures }) => {
        const excluded = state === "UNHEALTHY" || state === "HALF_OPEN";
        return { nodeId, model, atMs, answers, failures, excluded };
      }),
    );
  }

  /** Whether at least half of the nodes that have traffic for the model would exclude it; this one does. */
  #isAgreed(model: ModelKey): boolean {
    const sinceMs = this.#options.clock.monotonic() - peerSampleMaxAgeMs;
    const votes = [...this.#peerSamples.values()].filter(
      ({ sample, changedMs }) =>
        sample.model === model && changedMs >= sinceMs && (sample.answers > 0 || sample.excluded),
    );
    const excluding = votes.filter(({ sample }) => sample.excluded).length;
    return 2 * (excluding + 1) >= votes.length + 1;
  }

  /** Whether the own view of a model is to be everybody's. */
  #proposes(model: ModelKey, health: Health, own: SyncState): boolean {
    // The others have it serve: for all of them to leave it out, or to leave it to our probe, more must think as we do.
    const mayDecide = isServing(health) || health.state === "QUARANTINE" || health.state === "DISABLED" || !own.serving;
    const isEverybodys = mayDecide || !this.#options.shared || this.#isAgreed(model);
    if (!isEverybodys && !own.excludedAlone) {
      this.#options.registry.pauseUntil(model, health.sinceMs + excludedAloneMs);
    }
    own.excludedAlone = !isEverybodys;
    return isEverybodys;
  }

  async #write(closing: boolean): Promise<void> {
    const { clock, nodeId, registry, store } = this.#options;
    const proposed = new Map(
      [...registry.health()].filter(([model, health]) => {
        const own = this.#stateOf(model);
        return (closing || versionOf(health) !== own.written) && this.#proposes(model, health, own);
      }),
    );
    const updated = { updatedMs: clock.now(), updatedBy: nodeId };
    const changes = [...proposed].map(([model, health]) => {
      return { model, basedOn: this.#stateOf(model).epoch, health: toStored(health), ...updated };
    });
    for (const model of await store.save(changes)) {
      const health = proposed.get(model);
      if (health === undefined) continue;
      const own = this.#stateOf(model);
      own.epoch = (own.epoch ?? 0) + 1;
      own.written = versionOf(health);
      own.serving = isServing(health);
    }
    // Rows that were not written have been changed by another node: the next exchange takes them over.
  }

  async #step(closing: boolean): Promise<void> {
    try {
      await this.#exchange(closing);
      if (this.#failures >= unavailableAfterFailures) this.#options.onStore?.("available", undefined);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === unavailableAfterFailures)
        this.#options.onStore?.("unavailable", error instanceof Error ? error.message : String(error));
    }
  }

  /** One exchange with the store. Never rejects: while the store is unavailable, health goes on from what it last knew. */
  sync(): Promise<void> {
    this.#running ??= this.#step(false).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Restores what was stored, waiting at most a second for it, then synchronizes every second. Never rejects. */
  async start(): Promise<void> {
    const late = new Promise<void>((resolve) => this.#options.timers.after(startTimeoutMs, resolve));
    await Promise.race([this.sync(), late]);
    this.#job.schedule();
  }

  /** Stores an override of the operator and applies it here at once. Rejects when the store cannot be reached. */
  async override(model: ModelKey, action: OverrideAction, by: string): Promise<"done" | "unknown_model"> {
    if (!this.#options.registry.health().has(model)) return "unknown_model";
    const atMs = this.#options.clock.now();
    await this.#options.store.override({ model, action, atMs, by });
    const own = this.#stateOf(model);
    if (action === "reset") own.forgivenMs = Math.max(own.forgivenMs, atMs);
    return this.#options.registry.override(model, action);
  }

  /** Writes what is unwritten, stops, and closes the store. Never rejects. */
  async close(): Promise<void> {
    await this.#job.close();
    await this.#running;
    if (this.#loaded) await this.#step(true);
    // It is closed as far as we are concerned; what could be written is written.
    await this.#options.store.close().catch(() => {});
  }
}

/** What makes a row worth writing anew. Evidence does not: it changes with every answer. */
function versionOf(health: Health | undefined): string {
  return health === undefined ? "" : `${health.epoch} ${health.limitedUntilMs}`;
}
