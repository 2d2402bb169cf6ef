import { type FSWatcher, readFileSync, realpathSync, statSync, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock } from "#platform/time.ts";
import { formatProblems, type Invalid, type Problem } from "#settings/problem.ts";
import { isSection } from "#settings/section.ts";
import type { Log } from "#telemetry/log/log.ts";
import { logId, operatorText } from "#telemetry/log/log.ts";
import { type Config, type ConfigPaths, loadConfig } from "./load-config.ts";

/** Policy and registry as they are in force now. A bad file is refused whole: the last good configuration stays. */
export interface LiveConfig {
  current(): Config;
  /**
   * Reads both files again, as on SIGHUP. Never rejects, and always ends. A newer call takes over from one that is still
   * checking, which then answers what the newer one does.
   */
  reload(): Promise<ReloadReport>;
  status(): ConfigStatus;
  /** Stops watching. */
  close(): void;
}

export type ReloadReport =
  | {
      readonly kind: "reloaded" /** Paths of what changed: `budget.per_goal_hard_usd`, `models.vendor_v4_pro.price.input`. */;
      readonly changed: readonly string[];
    }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] }
  /** The files could not be judged (a check hung or crashed); they are read again after `retryMs`. */
  | { readonly kind: "failed"; readonly problems: readonly Problem[] };

/** Whether the configuration in force is what the files say. */
export interface ConfigStatus {
  /** `checking`: a changed file is being judged. `refused`, `failed`: the files say something else that is not in force. */
  readonly state: "current" | "checking" | "refused" | "failed";
  /** When the configuration in force was last found to be what the files say, milliseconds since the epoch. */
  readonly loadedAtMs: number;
  /** Names the configuration in force: equal on all nodes that run the same policy and registry. */
  readonly hash: string;
}

export interface LiveConfigOptions extends ConfigPaths {
  readonly log: Log;
  /** Called after every re-reading, whoever asked for it; for counting. */
  readonly onReload?: (result: ReloadReport["kind"]) => void;
  /** Puts a changed configuration to use. When it throws, the change is refused and the last good one stays. */
  readonly onChange?: (config: Config, changed: readonly string[]) => void;
  /** Watches the files' directories; off where only `reload` is wanted. */
  readonly watchFiles?: boolean;
  /** How long a file must have been quiet before it is read, in milliseconds. */
  readonly quietMs?: number;
  /** How often the files are looked at without being told (network file systems tell nothing), in milliseconds. */
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
  const paths = [options.policyPath, options.registryPath].filter((path) => path !== undefined);
  // Taken before the files are read, so that a change during the reading is seen afterwards.
  let seen = fingerprints(paths);
  const first = await loadConfig(options);
  if (first.kind === "invalid") return first;

  const clock = options.clock ?? systemClock;
  let config = first.config;
  let hash = hashOf(config);
  let loadedAtMs = clock.now();
  let outcome: "current" | "refused" | "failed" = "current";
  /** Files that were empty when they were taken over: such a file is meant to be. */
  let empty = paths.filter(isEmpty);
  let closed = false;
  let checking = 0;
  let queue: Promise<unknown> = Promise.resolve();
  /** Of the newest reload; aborted when another one takes over. */
  let current = new AbortController();
  let newest: Promise<ReloadReport> = Promise.resolve({ kind: "unchanged" });
  let retry: ReturnType<typeof setTimeout> | undefined;

  /** Undefined when a newer reload has taken over. */
  async function reloadNow(signal: AbortSignal): Promise<ReloadReport | undefined> {
    if (closed) return { kind: "unchanged" };
    if (signal.aborted) return undefined;
    // Before the files are read and judged: a later change is seen as one, and this one is not read once more meanwhile.
    seen = fingerprints(paths);
    const nowEmpty = paths.filter(isEmpty);
    const emptied = nowEmpty.filter((path) => !empty.includes(path));
    const loaded: Awaited<ReturnType<typeof loadConfig>> =
      emptied.length > 0
        ? { kind: "invalid", problems: emptied.map(emptyProblem) }
        : await loadConfig(options, { signal, limitMs: options.ruleCheckMs });
    if (closed) return { kind: "unchanged" };
    if (signal.aborted) return undefined;
    if (loaded.kind === "invalid") return loaded.unfinished ? failed(loaded.problems) : refused(loaded.problems);
    const changed = differences(plain(config), plain(loaded.config));
    if (changed.length > 0) {
      try {
        options.onChange?.(loaded.config, changed);
      } catch (error) {
        const message = `cannot be put to use: ${error instanceof Error ? error.message : "unknown error"}`;
        return refused([{ file: paths.join(", "), path: "", message }]);
      }
      config = loaded.config;
      hash = hashOf(config);
    }
    empty = nowEmpty;
    loadedAtMs = clock.now();
    outcome = "current";
    if (changed.length === 0) return { kind: "unchanged" };
    options.log("config_reloaded", {
      changes: changed.length,
      changed: operatorText(changed.slice(0, 20).join(" ")),
      hash: logId(hash),
    });
    return { kind: "reloaded", changed };
  }

  function refused(problems: readonly Problem[]): ReloadReport {
    outcome = "refused";
    options.log("config_refused", { problems: problems.length, detail: operatorText(formatProblems(problems)) });
    return { kind: "refused", problems };
  }

  function failed(problems: readonly Problem[]): ReloadReport {
    outcome = "failed";
    const retryMs = options.retryMs ?? 60_000;
    options.log("config_reload_failed", {
      problems: problems.length,
      detail: operatorText(formatProblems(problems)),
      retry_in_ms: retryMs,
    });
    retry = setTimeout(() => void reload(), retryMs);
    retry.unref();
    return { kind: "failed", problems };
  }

  function reload(): Promise<ReloadReport> {
    // The newest files decide, and must not wait for a check of older ones that may be slow or hang.
    current.abort();
    current = new AbortController();
    clearTimeout(retry);
    const { signal } = current;
    checking += 1;
    const run = queue
      .then(() => reloadNow(signal))
      .finally(() => {
        checking -= 1;
      });
    queue = run.catch(() => undefined); // whoever asked has the rejection; the next one must still run
    const report = run.then((result) => {
      if (result === undefined) return newest;
      options.onReload?.(result.kind);
      return result;
    });
    newest = report;
    return report;
  }

  const watcher =
    options.watchFiles === false || paths.length === 0
      ? undefined
      : watchFiles(paths, {
          quietMs: options.quietMs ?? 150,
          pollMs: options.pollMs ?? 5_000,
          isNew: (now) => now !== seen,
          onChange: () => void reload(),
        });

  return {
    kind: "ok",
    current: () => config,
    reload,
    status: () => ({ state: checking > 0 ? "checking" : outcome, loadedAtMs, hash }),
    close() {
      closed = true;
      current.abort();
      clearTimeout(retry);
      watcher?.close();
    },
  };
}

interface WatchOptions {
  readonly quietMs: number;
  readonly pollMs: number;
  isNew(fingerprint: string): boolean;
  onChange(): void;
}

/**
 * Directories are watched, not files: editors write a new file and rename it over the old one, and Kubernetes swaps a
 * symbolic link beside it; either way a watch on the file itself would go on looking at what is no longer there. Where a link
 * leads elsewhere, that directory is watched too. A file is read once its fingerprint is new and has stayed the same for
 * `quietMs`; while it is absent nothing happens until the poll, so that a moment between remove and rename is no error.
 */
function watchFiles(paths: readonly string[], options: WatchOptions): { close(): void } {
  const watchers = new Map<string, FSWatcher>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = "";
  let polled = "";

  function arm(): void {
    const wanted = new Set(paths.flatMap((path) => [dirname(resolve(path)), ...realDirectory(path)]));
    for (const [directory, watcher] of watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      watchers.delete(directory);
    }
    for (const directory of wanted) {
      if (watchers.has(directory)) continue;
      try {
        const watcher = watch(directory, { persistent: false }, () => look());
        watcher.on("error", () => {
          watcher.close();
          watchers.delete(directory);
        });
        watchers.set(directory, watcher);
      } catch {
        // The directory is gone or cannot be watched: the poll goes on looking and arms it when it is back.
      }
    }
  }

  function look(): void {
    last = fingerprints(paths);
    clearTimeout(timer);
    if (options.isNew(last)) timer = setTimeout(settle, options.quietMs);
    timer?.unref();
  }

  function settle(): void {
    const now = fingerprints(paths);
    arm();
    if (now !== last)
      look(); // still being written
    else if (options.isNew(now) && !now.includes(absent)) options.onChange();
  }

  const poll = setInterval(() => {
    arm();
    const now = fingerprints(paths);
    if (options.isNew(now) && now === polled) options.onChange();
    else look();
    polled = now;
  }, options.pollMs);
  poll.unref();
  arm();
  look();

  return {
    close() {
      clearInterval(poll);
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

const absent = "absent";

/** Differs whenever a file was written, replaced, removed, or a link to it was turned. */
function fingerprints(paths: readonly string[]): string {
  return paths
    .map((path) => {
      try {
        const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
        return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
      } catch {
        return absent;
      }
    })
    .join(" ");
}

function realDirectory(path: string): string[] {
  try {
    return [dirname(realpathSync(path))];
  } catch {
    return []; // absent for the moment
  }
}

/** An empty file is a whole policy at the start; while running it is far more often one that is just being written. */
function isEmpty(path: string): boolean {
  try {
    return readFileSync(path, "utf8").trim() === "";
  } catch {
    return false; // loading says what is wrong with it
  }
}

function emptyProblem(file: string): Problem {
  return { file, path: "", message: "is empty", suggestion: "write {} to return to the defaults" };
}

function plain({ policy, registry }: Config): unknown {
  const { $schema: _, ...rest } = policy;
  // What a file states of a price shows in the price; only stating what already was shows nowhere else.
  const models = [...registry.models].map(([key, { statedPrice, ...model }]) => {
    return [key, { ...model, prices: Object.keys(statedPrice ?? {}).join(" ") }];
  });
  return { ...rest, models: Object.fromEntries(models), order: [...registry.models.keys()].join(" ") };
}

/** The first 16 hexadecimal digits of the SHA-256 of everything that policy and registry say. */
function hashOf(config: Config): string {
  return new Bun.CryptoHasher("sha256")
    .update(JSON.stringify(plain(config)))
    .digest("hex")
    .slice(0, 16);
}

/** The paths at which two plain values differ; lists count as one value. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (Object.is(a, b)) return [];
  if (!isSection(a) || !isSection(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], path === "" ? key : `${path}.${key}`));
}
