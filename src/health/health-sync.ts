import type { ModelKey } from "#domain/model.ts";
import { BackgroundJob } from "#platform/background-job.ts";
import type { Clock, Timers } from "#platform/time.ts";
import type { ProcessHealthRegistry } from "./registry.ts";
import type { Health } from "./state-machine/model-health.ts";
import { type HealthStore, type OverrideAction, type OverrideRow, toStored } from "./store/health-store.ts";

export interface HealthSyncOptions {
  readonly registry: ProcessHealthRegistry;
  readonly store: HealthStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly nodeId: string;
  /** Notified when the store becomes unavailable (with its error) and when it is available again. Must not throw. */
  readonly onStore?: (state: "unavailable" | "available", problem: string | undefined) => void;
}

const [syncEveryMs, startTimeoutMs] = [1_000, 1_000];
/** A single failed exchange, for instance because another process was writing, is followed by the next. */
const unavailableAfterFailures = 3;

/**
 * Keeps model health over restarts, and applies what operators say in other processes. Each node judges by its own
 * traffic: what other nodes have written is read at the start only.
 */
export class HealthSync {
  readonly #options: HealthSyncOptions;
  /** What of each model's health is in its row. */
  readonly #written = new Map<ModelKey, string>();
  /** The reset of each model that has been applied. */
  readonly #forgivenMs = new Map<ModelKey, number>();
  #loaded = false;
  #failures = 0;
  #running: Promise<void> | undefined;
  readonly #job: BackgroundJob;

  constructor(options: HealthSyncOptions) {
    this.#options = options;
    this.#job = new BackgroundJob({ run: () => this.sync(), pauseMs: () => syncEveryMs, timers: options.timers });
  }

  async #exchange(closing: boolean): Promise<void> {
    const { registry, store, clock, nodeId } = this.#options;
    const { rows, overrides } = await store.load();
    if (!this.#loaded) {
      for (const { model, health, updatedMs } of rows) {
        this.#forgivenMs.set(model, updatedMs);
        // Before the store could first be read the model may have been judged anew.
        if (registry.health().get(model)?.epoch === 1) registry.restore(model, health);
      }
    }
    for (const override of overrides) this.#applyOverride(override);
    this.#loaded = true;
    const changed = [...registry.health()].filter(
      ([model, health]) => closing || versionOf(health) !== this.#written.get(model),
    );
    const updated = { updatedMs: clock.now(), updatedBy: nodeId };
    await store.save(changed.map(([model, health]) => ({ model, health: toStored(health), ...updated })));
    for (const [model, health] of changed) this.#written.set(model, versionOf(health));
  }

  #applyOverride({ model, disabled, resetMs }: OverrideRow): void {
    const { registry } = this.#options;
    registry.override(model, disabled ? "disable" : "enable");
    // At the start: what a row says was written after a reset that is older than it.
    const forgivenMs = this.#forgivenMs.get(model) ?? (this.#loaded ? 0 : resetMs);
    this.#forgivenMs.set(model, Math.max(forgivenMs, resetMs));
    if (resetMs > forgivenMs) registry.override(model, "reset");
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
    if (action === "reset") this.#forgivenMs.set(model, Math.max(this.#forgivenMs.get(model) ?? 0, atMs));
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
function versionOf({ epoch, limitedUntilMs }: Health): string {
  return `${epoch} ${limitedUntilMs}`;
}
