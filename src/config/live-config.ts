import { statSync } from "node:fs";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock } from "#platform/time.ts";
import { type Log, logId, operatorText } from "#telemetry/log/log.ts";
import { changedPaths, configHash } from "./config-changes.ts";
import { readText } from "./config-file.ts";
import { type Config, type ConfigPaths, loadConfig, type WeightsFile } from "./load-config.ts";
import { formatProblems, type Invalid, type Problem } from "./problem.ts";
import { fingerprints, watchFiles } from "./watch-files.ts";

/** Policy, registry and learned weights as they are in force now. A bad file is refused whole: the last good configuration stays. */
export interface LiveConfig {
  current(): Config;
  /** Reads the files again, as on SIGHUP. Never throws. */
  reload(): ReloadReport;
  status(): ConfigStatus;
  /** Stops watching. */
  close(): void;
}

export type ReloadReport =
  /** With the paths of what changed. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Whether the configuration in force is what the files say. */
export interface ConfigStatus {
  /** `refused`: the files say something else that is not in force. */
  readonly state: "current" | "refused";
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
  readonly clock?: Clock;
}

/** Loads the configuration and keeps it current. Invalid at the start is the caller's to report. */
export function liveConfig(options: LiveConfigOptions): ({ readonly kind: "ok" } & LiveConfig) | Invalid {
  const paths = configured(options);
  // Taken before the files are read, so that a change during the reading is seen afterwards.
  const seen = fingerprints(paths);
  const first = loadConfig(options);
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
          onChange: () => files.reload(),
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
  #state: ConfigStatus["state"] = "current";
  /** Files that were empty when they came into force: these are empty on purpose. */
  #empty: readonly string[];
  #closed = false;

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
    return { state: this.#state, loadedAtMs: this.#loadedAtMs, hash: this.#hash };
  }

  reload(): ReloadReport {
    const report = this.#reload();
    this.#options.onReload?.(report.kind);
    return report;
  }

  close(): void {
    this.#closed = true;
  }

  #reload(): ReloadReport {
    if (this.#closed) return { kind: "unchanged" };
    // Before the files are read and checked: a later change is seen as one, and this one is not read once more meanwhile.
    this.#seen = fingerprints(this.paths());
    const seen = fingerprints(configured(this.#options));
    const nowEmpty = this.paths().filter(isEmpty);
    const emptied = nowEmpty.filter((path) => !this.#empty.includes(path));
    if (emptied.length > 0) {
      const suggestion = "write {} to return to the defaults";
      return this.#refused(emptied.map((file) => ({ file, path: "", message: "is empty", suggestion })));
    }
    const loaded = loadConfig(this.#options);
    this.#weightsFile = loaded.weightsFile;
    this.#seen = withWeights(seen, loaded.weightsFile);
    if (loaded.kind === "invalid") return this.#refused(loaded.problems);
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
    this.#state = "current";
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

  #refused(problems: readonly Problem[]): ReloadReport {
    this.#state = "refused";
    this.#options.log("config_refused", { problems: problems.length, detail: operatorText(formatProblems(problems)) });
    return { kind: "refused", problems };
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
