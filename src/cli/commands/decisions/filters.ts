import type { Command } from "commander";
import { parseTime } from "#cli/with-records.ts";
import type { RecordFilter } from "#records/records.ts";

export interface FilterOptions {
  readonly since?: number;
  readonly until?: number;
  readonly goal?: string;
  readonly session?: string;
  readonly task?: string;
  readonly request?: string;
  readonly cause?: readonly string[];
  readonly rule?: string;
  readonly alias?: readonly string[];
  readonly model?: readonly string[];
  readonly tier?: readonly string[];
  readonly status?: readonly string[];
  readonly outcome?: readonly string[];
  readonly refusedBy?: readonly string[];
}

/** Adds the options that select decisions. Options with several values split them at commas. */
export function withFilters(command: Command): Command {
  const list = (text: string) => text.split(",").map((each) => each.trim());
  return command
    .option("--goal <goal>", "only this goal (`session/goal`, or the goal alone)")
    .option("--session <id>", "only this session")
    .option("--task <id>", "only this task")
    .option("--request <id>", "only this request id")
    .option("--cause <causes>", "only these causes, comma-separated", list)
    .option("--rule <name>", "only requests for which this hard rule fired")
    .option("--alias <aliases>", "only requests for these models (smart-router, …)", list)
    .option("--model <keys>", "only answers of these models", list)
    .option("--tier <tiers>", "free, flash, pro or emergency", list)
    .option("--status <statuses>", "403, 5xx …", list)
    .option("--outcome <outcomes>", "answered, refused, failed, broken_stream or caller_gone", list)
    .option("--refused-by <who>", "gateway or upstream", list);
}

/** The options of a span of time. */
export function withSpan(command: Command): Command {
  return command
    .option(
      "--since <moment>",
      "only requests that ended at this time or later: 90m, 24h, 30d ago, a UTC day, or an ISO 8601 time",
      (text) => parseTime(text),
    )
    .option("--until <moment>", "only requests that ended before this time (default: now)", (text) => parseTime(text));
}

export function filterOf(options: FilterOptions): RecordFilter {
  const filter: { -readonly [K in keyof RecordFilter]: RecordFilter[K] } = {};
  if (options.since !== undefined) filter.fromMs = options.since;
  if (options.until !== undefined) filter.toMs = options.until;
  if (options.request !== undefined) filter.requestId = options.request;
  const names = [
    "goal",
    "session",
    "task",
    "rule",
    "cause",
    "alias",
    "model",
    "tier",
    "status",
    "outcome",
    "refusedBy",
  ] as const;
  for (const name of names) if (options[name] !== undefined) Object.assign(filter, { [name]: options[name] });
  return filter;
}
