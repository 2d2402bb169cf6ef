import { type FSWatcher, readFileSync, realpathSync, statSync, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { formatProblems, type Invalid, type Problem } from "#settings/problem.ts";
import type { Log } from "#telemetry/log.ts";
import { operatorText } from "#telemetry/log.ts";
import { type Config, type ConfigPaths, loadConfig } from "./load-config.ts";

/** Policy and registry as they are in force now. A bad file is refused whole: the last good configuration stays. */
export interface LiveConfig {
  current(): Config;
  /** Reads both files again, as on SIGHUP. Never rejects. Calls wait for each other. */
  reload(): Promise<ReloadReport>;
  /** Stops watching. */
  close(): void;
}

export type ReloadReport =
  | {
      readonly kind: "reloaded" /** Paths of what changed: `budget.per_goal_hard_usd`, `models.vendor_v4_pro.price.input`. */;
      readonly changed: readonly string[];
    }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

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

  let config = first.config;
  /** Files that were empty when they were taken over: such a file is meant to be. */
  let empty = paths.filter(isEmpty);
  let closed = false;
  let queue: Promise<unknown> = Promise.resolve();

  async function reloadNow(): Promise<ReloadReport> {
    const before = fingerprints(paths);
    const nowEmpty = paths.filter(isEmpty);
    const emptied = nowEmpty.filter((path) => !empty.includes(path));
    const loaded: Awaited<ReturnType<typeof loadConfig>> =
      emptied.length > 0 ? { kind: "invalid", problems: emptied.map(emptyProblem) } : await loadConfig(options);
    seen = before;
    if (closed) return { kind: "unchanged" };
    if (loaded.kind === "invalid") return refuse(loaded.problems);
    const changed = differences(plain(config), plain(loaded.config));
    if (changed.length > 0) {
      try {
        options.onChange?.(loaded.config, changed);
      } catch (error) {
        const message = `cannot be put to use: ${error instanceof Error ? error.message : "unknown error"}`;
        return refuse([{ file: paths.join(", "), path: "", message }]);
      }
    }
    empty = nowEmpty;
    config = loaded.config;
    if (changed.length === 0) return { kind: "unchanged" };
    options.log("config_reloaded", { changes: changed.length, changed: operatorText(changed.slice(0, 20).join(" ")) });
    return { kind: "reloaded", changed };
  }

  function refuse(problems: readonly Problem[]): ReloadReport {
    options.log("config_refused", { problems: problems.length, detail: operatorText(formatProblems(problems)) });
    return { kind: "refused", problems };
  }

  function reload(): Promise<ReloadReport> {
    const report = queue.then(reloadNow).then((result) => {
      options.onReload?.(result.kind);
      return result;
    });
    queue = report.catch(() => undefined); // whoever asked has the rejection; the next one must still run
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
    close() {
      closed = true;
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
  return { ...rest, models: Object.fromEntries(registry.models), order: [...registry.models.keys()].join(" ") };
}

/** The paths at which two plain values differ; lists count as one value. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (Object.is(a, b)) return [];
  if (!isSection(a) || !isSection(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], path === "" ? key : `${path}.${key}`));
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
