import { readFileSync } from "node:fs";
import { InvalidArgumentError, type Option } from "commander";
import { loadConfig } from "#config/load-config.ts";
import { type ParsedSettings, parseSettings } from "#config/settings.ts";
import { type NanoUsd, parseUsd } from "#domain/money/money.ts";
import { utcDayOf } from "#platform/time.ts";
import { badUsage, type CommandFailure, type OutputOptions, valid } from "./output.ts";

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
  /** Gets the arguments, then the options. */
  readonly run: (...given: never[]) => unknown;
}

/** `parse` throws an InvalidArgumentError; `fallback` is as it would be typed. */
export type OptionSpec =
  | readonly [flags: string, about: string, parse?: ((text: string) => unknown) | undefined, fallback?: string]
  | Option;

/** What commands on the configuration take. */
export interface ConfigOptions extends OutputOptions {
  /** The model registry file. */
  readonly models?: string;
}

/** An amount in US dollars; a cap is rounded down, what was paid up. */
export function usd(rounding: "up" | "down") {
  return (text: string): NanoUsd => {
    const amount = parseUsd(text, rounding);
    if (amount === undefined) throw new InvalidArgumentError("an amount in US dollars, such as 7.50");
    return amount;
  };
}

/** A UTC day, or the word `today`. */
export function utcDay(text: string): string {
  if (text === "today") return text;
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || utcDayOf(day.getTime()) !== text)
    throw new InvalidArgumentError("a UTC day as YYYY-MM-DD, or today");
  return text;
}

export function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`a whole number from ${least} to ${most}`);
    return value;
  };
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** A time: a duration before now (`90m`, `24h`, `30d`), a UTC day, or ISO 8601. Milliseconds since the epoch. */
export function time(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (unit !== undefined) return Date.now() - Number(count) * unitMs[unit as keyof typeof unitMs]; // by the pattern
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(parsed))
    throw new InvalidArgumentError("expected a duration (90m, 24h, 30d), a UTC day or an ISO 8601 time");
  return parsed;
}

/** Throws where there can be no records in a span of time. */
export function checkSpan({ since, until }: { readonly since?: number; readonly until?: number }): void {
  if (since === undefined || until === undefined || since < until) return;
  throw badUsage("--until must be later than --since");
}

export function settingsInForce(): ParsedSettings["settings"] {
  return valid(parseSettings(process.env)).settings;
}

/** The settings of a command that asks the aggregator. */
export function aggregatorSettings() {
  const settings = settingsInForce();
  const { upstream } = settings;
  if (upstream.kind === "demo") {
    throw badUsage("demo mode has no aggregator: set UPSTREAM_API_KEY or UPSTREAM_BASE_URL");
  }
  return { settings, upstream };
}

/** The policy and the models of these files, else of those that the settings name; and what in them has no effect. */
export function configIn(policyFile: string | undefined, modelsFile: string | undefined) {
  const policyPath = fileOr(policyFile, "ROUTING_POLICY_PATH");
  const loaded = valid(loadConfig({ policyPath, registryPath: fileOr(modelsFile, "MODEL_REGISTRY_PATH") }));
  return { ...loaded.config, warnings: loaded.warnings };
}

/** The text of a file, or of standard input (`-`). `problem`: how the command ends where it cannot be read. */
export function readInput(file: string, problem: (text: string) => CommandFailure): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw problem(`cannot read ${file}: ${error instanceof Error ? error.message : "unknown error"}`);
  }
}

/** A file that an argument or a setting names; an empty setting counts as unset. */
export function fileOr(given: string | undefined, setting: "ROUTING_POLICY_PATH" | "MODEL_REGISTRY_PATH") {
  return given ?? (process.env[setting] || undefined);
}

/** Who runs the command, as the system knows them: the runtime would read `$USER`, which anybody can set and services lack. */
export function userName(): string {
  if (process.env["SUDO_USER"]) return process.env["SUDO_USER"];
  try {
    const { stdout, success } = Bun.spawnSync(["id", "-un"]);
    if (success) return stdout.toString().trim();
  } catch {
    // an image without the program
  }
  return `uid ${process.getuid?.()}`;
}
