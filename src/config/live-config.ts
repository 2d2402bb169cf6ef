import { statSync } from "node:fs";
import { basename } from "node:path";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock } from "#platform/time.ts";
import { type Log, logId, operatorText } from "#telemetry/log/log.ts";
import { type AuthKeys, loadAuthKeys } from "./auth-keys.ts";
import { changedPaths, configHash } from "./config-changes.ts";
import { readText } from "./config-file.ts";
import { LiveFiles, type Read, type ReloadReport } from "./live-files.ts";
import { type Config, type ConfigPaths, loadConfig } from "./load-config.ts";
import { formatProblems, type Invalid, oneLine, type Problem } from "./problem.ts";
import { readUpstreamKey } from "./settings.ts";

/** What the operator's files say, as it is in force now. A bad file is refused whole: the last good one stays. */
export interface LiveConfig {
  /** Policy and registry. */
  current(): Config;
  /** The tokens of `AUTH_KEYS_FILE`; undefined without one. */
  keys(): AuthKeys | undefined;
  /** Reads all files again, as on SIGHUP. Never throws. */
  reload(): ReloadReport;
  status(): ConfigStatus;
  /** Stops watching. */
  close(): void;
}

/** Whether the configuration in force is what the files say. */
export interface ConfigStatus {
  /** `refused`: a file says something else that is not in force. */
  readonly state: "current" | "refused";
  /** Where the first problem of a refused file is; without values, as anybody may read it. */
  readonly reason?: string;
  /** When policy and registry in force were last found to be what the files say, milliseconds since the epoch. */
  readonly loadedAtMs: number;
  /** Names the configuration in force: equal on all nodes that run the same policy and registry. */
  readonly hash: string;
}

export interface LiveConfigOptions extends ConfigPaths {
  readonly authKeysFile?: string | undefined;
  /** The upstream's key as it was read at the start; absent where it has no file. */
  readonly upstreamKey?: { readonly path: string; readonly value: string } | undefined;
  readonly log: Log;
  /** Called after every reload, requested or found by polling; for counting. */
  readonly onReload?: (result: ReloadReport["kind"]) => void;
  /** Puts a changed configuration to use. When it throws, the change is refused and the last good one stays. */
  readonly onChange?: (config: Config) => void;
  readonly onUpstreamKey?: (key: string) => void;
  /** How often the files are polled, in milliseconds: a withdrawn token is refused after two polls. */
  readonly pollMs?: number;
  readonly clock?: Clock;
}

/** Loads the configuration and keeps it current. Invalid at the start is the caller's to report. */
export function liveConfig(options: LiveConfigOptions): ({ readonly kind: "ok" } & LiveConfig) | Invalid {
  const { policyPath, registryPath, authKeysFile, upstreamKey, log, clock = systemClock } = options;
  const config = loadConfig(options);
  const keys = authKeysFile === undefined ? undefined : loadAuthKeys(authKeysFile);
  const problems = [config, keys].flatMap((read) => (read?.kind === "invalid" ? read.problems : []));
  if (config.kind === "invalid" || keys?.kind === "invalid") return { kind: "invalid", problems };
  const files = [policyPath, registryPath].filter((path) => path !== undefined);
  const paths = authKeysFile === undefined ? files : [...files, authKeysFile];
  // A pipe is empty when it is read a second time, and the defaults would apply silently.
  const message = "is not a regular file: a running gateway reads it again; name a file";
  const unreadable = paths.filter((path) => !isFile(path)).map((file) => ({ file, path: "", message }));
  if (unreadable.length > 0) return { kind: "invalid", problems: unreadable };

  const onReload = (report: ReloadReport) => {
    options.onReload?.(report.kind);
    if (report.kind === "refused") {
      const { problems } = report;
      log("config_refused", { problems: problems.length, detail: operatorText(formatProblems(problems)) });
    } else if (report.kind === "reloaded") {
      const changed = operatorText(report.changed.slice(0, 20).join(" "));
      log("config_reloaded", { changes: report.changed.length, changed, hash: logId(hash) });
    }
  };
  const warnAbout = (warnings: readonly Problem[]) => {
    for (const warning of warnings) log("settings_warning", { detail: operatorText(oneLine(warning)) });
  };
  warnAbout(config.warnings);
  let hash = configHash(config.config);
  let loadedAtMs = clock.now();
  const configuration = new LiveFiles(config.config, files, {
    read: readConfig,
    apply(next, before) {
      const changed = changedPaths(before, next);
      if (changed.length > 0) {
        options.onChange?.(next);
        hash = configHash(next);
      }
      loadedAtMs = clock.now();
      return changed;
    },
    onReload,
  });
  const emptyAtStart = files.filter(isEmpty);
  function readConfig(): Read<Config> {
    const read = loadConfig(options);
    // At the start an empty file is a valid policy. Later it is most likely a file that is being written.
    const emptied = files.filter((path) => isEmpty(path) && !emptyAtStart.includes(path));
    const suggestion = "write {} to return to the defaults";
    const problems = emptied.map((file) => ({ file, path: "", message: "is empty", suggestion }));
    if (problems.length > 0) return { kind: "invalid", problems };
    if (read.kind === "invalid") return read;
    warnAbout(read.warnings);
    return { kind: "ok", value: read.config };
  }
  const watch = <T>(name: string, path: string, value: T, read: (path: string) => Read<T>, put?: (value: T) => void) =>
    new LiveFiles<T>(value, [path], {
      read: () => read(path),
      apply(next, before) {
        if (Bun.deepEquals(next, before)) return [];
        put?.(next);
        return [name];
      },
      onReload,
    });
  const accepted =
    authKeysFile === undefined || keys === undefined
      ? undefined
      : watch<AuthKeys>("AUTH_KEYS_FILE", authKeysFile, keys.value, loadAuthKeys);
  const secret =
    upstreamKey === undefined || !isFile(upstreamKey.path)
      ? undefined
      : watch("UPSTREAM_API_KEY_FILE", upstreamKey.path, upstreamKey.value, readUpstreamKey, options.onUpstreamKey);

  const all = [configuration, accepted, secret].filter((files) => files !== undefined);
  const polling = setInterval(() => {
    for (const files of all) files.poll();
  }, options.pollMs ?? 250);
  polling.unref();
  return {
    kind: "ok",
    current: () => configuration.value,
    keys: () => accepted?.value,
    reload: () => joinReports(all.map((files) => files.reload())),
    status() {
      const [problem] = all.flatMap((files) => files.problems);
      return problem === undefined
        ? { state: "current", loadedAtMs, hash }
        : { state: "refused", reason: placeOf(problem), loadedAtMs, hash };
    },
    close: () => clearInterval(polling),
  };
}

function joinReports(reports: readonly ReloadReport[]): ReloadReport {
  const problems = reports.flatMap((report) => (report.kind === "refused" ? report.problems : []));
  if (problems.length > 0) return { kind: "refused", problems };
  const changed = reports.flatMap((report) => (report.kind === "reloaded" ? report.changed : []));
  return changed.length > 0 ? { kind: "reloaded", changed } : { kind: "unchanged" };
}

function placeOf({ file, line, path }: Problem): string {
  const place = line === undefined ? basename(file) : `${basename(file)}:${line}`;
  return path === "" ? `${place} is refused` : `${place} is refused: ${path}`;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isEmpty(path: string): boolean {
  const read = readText(path, "");
  return read.kind === "ok" && read.text.trim() === ""; // loading says what is wrong with it
}
