import { userInfo } from "node:os";
import { InvalidArgumentError } from "commander";
import { type ParsedSettings, parseSettings, type Settings } from "#config/settings.ts";
import { type NanoUsd, parseUsd } from "#domain/money/money.ts";
import { utcDayOf } from "#platform/time.ts";
import { badUsage, valid } from "./output.ts";

/** Parsers of options' values, and the settings that commands share with the gateway. */

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

export type Aggregator = Settings["upstream"] & { kind: "aggregator" };

/** A file that an argument or a setting names; an empty setting counts as unset. */
export function fileOr(given: string | undefined, setting: "ROUTING_POLICY_PATH" | "MODEL_REGISTRY_PATH") {
  return given ?? (process.env[setting] || undefined);
}

/** Who runs the command. */
export function userName(): string {
  try {
    return process.env["SUDO_USER"] || userInfo().username;
  } catch {
    return process.env["USER"] || "unknown"; // a container's user need not have an entry
  }
}
