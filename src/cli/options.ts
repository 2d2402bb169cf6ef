import { readFileSync } from "node:fs";
import { InvalidArgumentError, type Option } from "commander";
import { type AuthKeys, endOfDayMs, loadAuthKeys } from "#config/auth-keys.ts";
import { loadConfig } from "#config/load-config.ts";
import { type ConfiguredFiles, type ParsedSettings, parseSettings } from "#config/settings.ts";
import type { DatabaseLocation } from "#db/database-url.ts";
import { parseUsd } from "#domain/money/money.ts";
import type { Operator } from "#operator/audit.ts";
import { invalidInput, type OperatorProblem } from "#operator/problem.ts";
import { type OperatorStores, withDatabase } from "#operator/stores.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { valid } from "./output.ts";

/** A command as data; `--json` is an option of each. */
export interface CommandSpec {
  /** What is typed: `budgets show`. */
  readonly name: string;
  /** Absent where the table of this file says it: of a command of one word. */
  readonly summary?: string;
  /** Runs when only the first word is typed. */
  readonly isDefault?: true;
  readonly arguments?: readonly (readonly [flags: string, about: string, fallback?: string])[];
  readonly options?: readonly OptionSpec[];
  /** Of its help; its name alone when absent. */
  readonly example?: string;
  /** Gets the arguments, then the options; returns a `Result`, unless it prints by itself. */
  readonly run: (...given: never[]) => unknown;
}

/** `parse` throws an InvalidArgumentError; `fallback` is as it would be typed. */
export type OptionSpec =
  | readonly [flags: string, about: string, parse?: ((text: string) => unknown) | undefined, fallback?: string]
  | Option;

/** What commands on the configuration take: the model registry file. */
export interface ConfigOptions {
  readonly models?: string;
}

/** `parse` returns undefined for what is not of this form. */
function parsed<T>(form: string, parse: (text: string) => T | undefined) {
  return (text: string): T => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(form);
    return value;
  };
}

/** An amount in US dollars; a cap is rounded down, what was paid up. */
export const usd = (rounding: "up" | "down") =>
  parsed("an amount in US dollars, such as 7.50", (text) => parseUsd(text, rounding));

export const utcDay = parsed("a UTC day as YYYY-MM-DD, or today", (text) =>
  text === "today" || endOfDayMs(text) !== undefined ? text : undefined,
);

/** The end of a UTC day, in milliseconds since the epoch. */
export const endOfDay = parsed("a UTC day as YYYY-MM-DD", endOfDayMs);

export const wholeNumber = (least: number, most: number) =>
  parsed(`a whole number from ${least} to ${most}`, (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : undefined;
  });

export const httpUrl = parsed("an http:// or https:// URL", (text) =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text : undefined,
);

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** A time: a duration before now (`90m`, `24h`, `30d`), a UTC day, or ISO 8601. Milliseconds since the epoch. */
export const time = parsed("expected a duration (90m, 24h, 30d), a UTC day or an ISO 8601 time", (text) => {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (unit !== undefined) return Date.now() - Number(count) * unitMs[unit as keyof typeof unitMs]; // by the pattern
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
});

export function checkSpan({ since, until }: { readonly since?: number; readonly until?: number }): void {
  if (since === undefined || until === undefined || since < until) return;
  throw invalidInput("--until must be later than --since");
}

export function settingsInForce(): ParsedSettings["settings"] {
  return valid(parseSettings(process.env)).settings;
}

/** The files that the settings name, also where other settings are not valid. */
function configuredFiles(): ConfiguredFiles {
  const parsed = parseSettings(process.env);
  return parsed.kind === "ok" ? parsed.settings : parsed.files;
}

export function aggregatorSettings() {
  const settings = settingsInForce();
  const { upstream } = settings;
  if (upstream.kind === "demo") {
    throw invalidInput("demo mode has no aggregator: set UPSTREAM_API_KEY or UPSTREAM_BASE_URL");
  }
  return { settings, upstream };
}

export function onDatabase<T>(
  failed: string,
  work: (stores: OperatorStores, location: DatabaseLocation) => T | Promise<T>,
): Promise<T> {
  return withDatabase(settingsInForce(), failed, work);
}
export const onLedger = <T>(work: (stores: OperatorStores) => Promise<T>) =>
  onDatabase("The budget store could not be read", work);
export const onRecords = <T>(work: (store: RecordStore) => Promise<T>) =>
  onDatabase("The decision records could not be read", async (stores) => work(await stores.records()));

/** The accepted keys of `AUTH_KEYS_FILE`; undefined without one. */
export function keysOfFile(): AuthKeys | undefined {
  const { authKeysFile } = settingsInForce();
  return authKeysFile === undefined ? undefined : valid(loadAuthKeys(authKeysFile)).value;
}

/** The policy and the models of these files, else of those that the settings name; and what in them has no effect. */
export function configIn(policyFile: string | undefined, modelsFile: string | undefined) {
  const policyPath = fileOr(policyFile, "policyPath");
  const loaded = valid(loadConfig({ policyPath, registryPath: fileOr(modelsFile, "registryPath") }));
  return { ...loaded.config, warnings: loaded.warnings };
}

/** The text of a file, or of standard input (`-`). `problem`: how the command ends where it cannot be read. */
export function readInput(file: string, problem: (text: string) => OperatorProblem): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw problem(`cannot read ${file}: ${error instanceof Error ? error.message : "unknown error"}`);
  }
}

/** A file that an argument names, else a setting. */
export function fileOr(given: string | undefined, setting: "policyPath" | "registryPath"): string | undefined {
  return given ?? configuredFiles()[setting];
}

/** Who runs the command, for the audit log. */
export function shellOperator(name = userName()): Operator {
  return { name, by: "shell" };
}

/** As the system knows them: the runtime would read `$USER`, which anybody can set and services lack. */
function userName(): string {
  if (process.env["SUDO_USER"]) return process.env["SUDO_USER"];
  try {
    const { stdout, success } = Bun.spawnSync(["id", "-un"]);
    if (success) return stdout.toString().trim();
  } catch {
    // an image without the program
  }
  return `uid ${process.getuid?.()}`;
}
