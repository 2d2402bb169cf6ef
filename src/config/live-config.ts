import { statSync } from "node:fs";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock } from "#platform/time.ts";
import { type Log, logId, operatorText } from "#telemetry/log/log.ts";
import { changedPaths, configHash } from "./config-changes.ts";
import { readText } from "./config-file.ts";
import { type Config, type ConfigPaths, loadConfig, type WeightsFile } from "./load-config.ts";
import { capsOf, lowerBudget, type Policy } from "./policy.ts";
import { formatProblems, type Invalid, type Problem } from "./problem.ts";
import { fingerprints, watchFiles } from "./watch-files.ts";

/** Policy, registry and learned weights as they are in force now. A bad file is refused whole: the last good configuration stays. */
export interface LiveConfig {
  current(): Config;
  /**
   * Reads the files again, as on SIGHUP. Never rejects, and always ends. A newer call takes over from one that is still
   * checking, which then answers what the newer one does.
   */
  reload(): Promise<ReloadReport>;
  status(): ConfigStatus;
  /** Stops watching. */
  close(): void;
}

export type ReloadReport =
  /** With the paths of what changed. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] }
  /** The files could not be checked (a check hung or crashed); they are read again after `retryMs`. */
  | { readonly kind: "failed"; readonly problems: readonly Problem[] };

/** Whether the configuration in force is what the files say. */
export interface ConfigStatus {
  /** `checking`: a changed file is being checked. `refused`, `failed`: the files say something else that is not in force. */
  readonly state: "current" | "checking" | "refused" | "failed";
  /** When the configuration in force was last found to be what the files say, milliseconds since the epoch. */
  readonly loadedAtMs: number;
  /** Names the configuration in force: equal on all nodes that run the same policy, registry and learned weights. */
  readonly hash: string;
}

export interface LiveConfigOptions extends ConfigPaths {
  readonly log: Log;
  /** Called after every reload, requested or found by the watcher; for counting. */
  readonly onReload?: (result: ReloadReport["kind"]) => void;
  /** Puts a changed configuration to use. When it throws, the change is refused and the last good one stays. */
  readonly onChange?: (config: Config, changed: readonly string[]) => void;
  /** Watches the files' directories; off where only `reload` is wanted. */
  readonly watchFiles?: boolean;
  /** How long a file must have been quiet before it is read, in milliseconds. */
  readonly debounceMs?: number;
  /** How often the files are polled (network file systems send no change events), in milliseconds. */
  readonly pollMs?: number;
  /** How long after a failed reload the files are read again, in milliseconds. */
  readonly retryMs?: number;
  /** How long the check of one privacy rule may take, in milliseconds. */
  readonly ruleCheckMs?: number;
  readonly clock?: Clock;
}

/** Loads the configuration and keeps it current. Invalid at the start is the caller's to report. */
export async function liveConfig(
  options: LiveConfigOptions,
): Promise<({ readonly kind: "ok" } & LiveConfig) | Invalid> {
  const paths = configured(options);
  // Taken before the files are read, so that a change during the reading is seen afterwards.
  const seen = fingerprints(paths);
  const first = await loadConfig(options);
  if (first.kind === "invalid") return first;
  const once = paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === false);
  if (once.length > 0) {
    // A pipe is empty when it is read a second time, and the defaults would apply silently.
    const message = "is not a regular file: a running gateway reads it again";
    return { kind: "invalid", problems: once.map((file) => ({ file, path: "", message, suggestion: "name a file" })) };
  }

  const files = new ReloadedFiles(options, seen, first.config, first.weightsFile);
  const watcher =
    options.watchFiles === false || paths.length === 0
      ? undefined
      : watchFiles(() => files.paths(), {
          debounceMs: options.debounceMs ?? 150,
          pollMs: options.pollMs ?? 5_000,
          isNew: (fingerprint) => files.isNew(fingerprint),
          onChange: () => void files.reload(),
        });

  return {
    kind: "ok",
    current: () => files.current(),
    reload: () => files.reload(),
    status: () => files.status(),
    close() {
      files.close();
      watcher?.close();
    },
  };
}

class ReloadedFiles implements LiveConfig {
  readonly #options: LiveConfigOptions;
  readonly #clock: Clock;
  /** The learned weights that the policy named when it was read last; watched even while they are refused. */
  #weightsFile: WeightsFile | undefined;
  /** The fingerprints of the files that were read last. */
  #seen: string;
  #config: Config;
  #hash: string;
  #loadedAtMs: number;
  #outcome: "current" | "refused" | "failed" = "current";
  /** Files that were empty when they came into force: these are empty on purpose. */
  #empty: readonly string[];
  #closed = false;
  /** Reloads that have not ended. */
  #checking = 0;
  #queue: Promise<unknown> = Promise.resolve();
  /** Of the newest reload; aborted when a newer one takes over. */
  #newestAbort = new AbortController();
  #newestReport: Promise<ReloadReport> = Promise.resolve({ kind: "unchanged" });
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LiveConfigOptions, seen: string, config: Config, weightsFile: WeightsFile | undefined) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#weightsFile = weightsFile;
    this.#seen = withWeights(seen, weightsFile);
    this.#config = config;
    this.#hash = configHash(config);
    this.#loadedAtMs = this.#clock.now();
    this.#empty = this.paths().filter(isEmpty);
  }

  /** The files that are read. */
  paths(): readonly string[] {
    return [...configured(this.#options), this.#weightsFile?.path].filter((path) => path !== undefined);
  }

  current(): Config {
    return this.#config;
  }

  isNew(fingerprint: string): boolean {
    return fingerprint !== this.#seen;
  }

  status(): ConfigStatus {
    const state = this.#checking > 0 ? "checking" : this.#outcome;
    return { state, loadedAtMs: this.#loadedAtMs, hash: this.#hash };
  }

  reload(): Promise<ReloadReport> {
    // The newest files are applied. They must not wait for a check of older ones, which may be slow or hang.
    this.#newestAbort.abort();
    this.#newestAbort = new AbortController();
    clearTimeout(this.#retry);
    const { signal } = this.#newestAbort;
    this.#checking += 1;
    const run = this.#queue
      .then(() => this.#reloadNow(signal))
      .finally(() => {
        this.#checking -= 1;
      });
    this.#queue = run.catch(() => undefined); // the caller gets the rejection; the next reload must still run
    const report = run.then((result) => {
      if (result === undefined) return this.#newestReport;
      this.#options.onReload?.(result.kind);
      return result;
    });
    this.#newestReport = report;
    return report;
  }

  close(): void {
    this.#closed = true;
    this.#newestAbort.abort();
    clearTimeout(this.#retry);
  }

  /** Undefined when a newer reload has taken over. */
  async #reloadNow(signal: AbortSignal): Promise<ReloadReport | undefined> {
    if (this.#closed) return { kind: "unchanged" };
    if (signal.aborted) return undefined;
    // Before the files are read and checked: a later change is seen as one, and this one is not read once more meanwhile.
    this.#seen = fingerprints(this.paths());
    const seen = fingerprints(configured(this.#options));
    const nowEmpty = this.paths().filter(isEmpty);
    const emptied = nowEmpty.filter((path) => !this.#empty.includes(path));
    if (emptied.length > 0) {
      const suggestion = "write {} to return to the defaults";
      return this.#refused(emptied.map((file) => ({ file, path: "", message: "is empty", suggestion })));
    }
    const loaded = await loadConfig(this.#options, { signal, limitMs: this.#options.ruleCheckMs });
    if (this.#closed) return { kind: "unchanged" };
    if (signal.aborted) return undefined;
    this.#weightsFile = loaded.weightsFile;
    this.#seen = withWeights(seen, loaded.weightsFile);
    if (loaded.kind === "invalid")
      return loaded.unfinished ? this.#failed(loaded.problems, loaded.budget) : this.#refused(loaded.problems);
    return this.#apply(loaded.config, nowEmpty);
  }

  #apply(config: Config, empty: readonly string[]): ReloadReport {
    const changed = changedPaths(this.#config, config);
    try {
      this.#use(config, changed);
    } catch (error) {
      const message = `cannot be put to use: ${error instanceof Error ? error.message : "unknown error"}`;
      return this.#refused([{ file: this.paths().join(", "), path: "", message }]);
    }
    this.#empty = empty;
    this.#loadedAtMs = this.#clock.now();
    this.#outcome = "current";
    if (changed.length === 0) return { kind: "unchanged" };
    this.#options.log("config_reloaded", {
      changes: changed.length,
      changed: operatorText(changed.slice(0, 20).join(" ")),
      hash: logId(this.#hash),
    });
    return { kind: "reloaded", changed };
  }

  #use(config: Config, changed: readonly string[]): void {
    if (changed.length === 0) return;
    this.#options.onChange?.(config, changed);
    this.#config = config;
    this.#hash = configHash(config);
  }

  /** A lowered cap must not wait for the check of something else: lower caps apply at once, higher ones with the file. */
  #lowerCaps(budget: Policy["budget"]): readonly string[] {
    const { policy } = this.#config;
    const lower = lowerBudget(policy.budget, budget);
    const config = { ...this.#config, policy: { ...policy, budget: lower }, caps: capsOf({ budget: lower }) };
    const lowered = changedPaths(this.#config, config);
    try {
      this.#use(config, lowered);
      return lowered;
    } catch {
      return []; // the reload has failed and says so already
    }
  }

  #refused(problems: readonly Problem[]): ReloadReport {
    this.#outcome = "refused";
    this.#options.log("config_refused", { problems: problems.length, detail: operatorText(formatProblems(problems)) });
    return { kind: "refused", problems };
  }

  #failed(problems: readonly Problem[], budget?: Policy["budget"]): ReloadReport {
    this.#outcome = "failed";
    const lowered = budget === undefined ? [] : this.#lowerCaps(budget);
    const retryMs = this.#options.retryMs ?? 60_000;
    this.#options.log("config_reload_failed", {
      problems: problems.length,
      detail: operatorText(formatProblems(problems)),
      retry_in_ms: retryMs,
      ...(lowered.length === 0 ? {} : { lowered: operatorText(lowered.join(" ")) }),
    });
    this.#retry = setTimeout(() => void this.reload(), retryMs);
    this.#retry.unref();
    return { kind: "failed", problems };
  }
}

function configured({ policyPath, registryPath }: ConfigPaths): readonly string[] {
  return [policyPath, registryPath].filter((path) => path !== undefined);
}

/** What `fingerprints` says of all files, from those of policy and registry. */
function withWeights(seen: string, weightsFile: WeightsFile | undefined): string {
  return weightsFile === undefined ? seen : [seen, weightsFile.fingerprint].filter((each) => each !== "").join(" ");
}

/** At the start an empty file is a valid policy. Later it is most likely a file that is being written. */
function isEmpty(path: string): boolean {
  const read = readText(path, "");
  return read.kind === "ok" && read.text.trim() === ""; // loading says what is wrong with it
}
