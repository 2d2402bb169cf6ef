import { InvalidArgumentError } from "commander";
import type { RecordStore } from "#records/store/record-store.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { withStore } from "./with-database.ts";

/**
 * Opens the decision records of the database that DATABASE_URL names for one command, also while gateways write them. Problems
 * are printed and end the command, as `withDatabase` says.
 */
export function withRecords(
  env: NodeJS.ProcessEnv,
  options: { readonly json?: boolean | undefined },
  work: (store: RecordStore) => Promise<void>,
): Promise<void> {
  return withStore(env, options, "The decision records could not be read", openRecordStore, work);
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** The time that an option names: a duration before now (`90m`, `24h`, `30d`), a UTC day, or ISO 8601. Milliseconds since the epoch. */
export function parseTime(text: string, nowMs = Date.now()): number {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) return nowMs - Number(count) * unitMs[unit as keyof typeof unitMs]; // by the pattern
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(parsed))
    throw new InvalidArgumentError("expected a duration (90m, 24h, 30d), a UTC day or an ISO 8601 time");
  return parsed;
}

/** What is wrong with a span of time; undefined where there can be records in it. */
export function spanProblem({
  since,
  until,
}: {
  readonly since?: number;
  readonly until?: number;
}): string | undefined {
  if (since === undefined || until === undefined || since < until) return undefined;
  const [from, to] = [since, until].map((ms) => new Date(ms).toISOString());
  return `--until must be later than --since: ${to} is not after ${from}`;
}
