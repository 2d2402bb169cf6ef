import { type Command, InvalidArgumentError, Option } from "commander";
import { parseTime } from "#cli/with-records.ts";
import { boundedId } from "#records/build-record.ts";
import { filterWords, statusProblem, wordProblem } from "#records/filter.ts";
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
  return command
    .option("--goal <goal>", "only this goal (`session/goal`, or the goal alone)", boundedId)
    .option("--session <id>", "only this session", boundedId)
    .option("--task <id>", "only this task", boundedId)
    .option("--request <id>", "only this request id")
    .addOption(wordsOption("--cause <causes>", "only these causes, comma-separated", "cause"))
    .addOption(new Option("--rule <name>", "only requests for which this hard rule fired").choices(filterWords.rule))
    .addOption(wordsOption("--alias <aliases>", "only requests for these models", "alias"))
    .option("--model <keys>", "only answers of these models", listOf)
    .addOption(wordsOption("--tier <tiers>", "only answers of these tiers", "tier"))
    .option("--status <statuses>", "only these statuses, or classes of them: 403, 5xx", (text) =>
      checked(listOf(text), statusProblem),
    )
    .addOption(wordsOption("--outcome <outcomes>", "only requests that ended so", "outcome"))
    .addOption(wordsOption("--refused-by <who>", "only requests that one of them has refused", "refusedBy"));
}

/** An option that takes several words of a closed set. The choices are for the shell's completion. */
function wordsOption(flags: string, description: string, field: keyof typeof filterWords): Option {
  const option = new Option(flags, description);
  option.argChoices = [...filterWords[field]];
  return option.argParser((text) => checked(listOf(text), (word) => wordProblem(field, word)));
}

function listOf(text: string): string[] {
  return text.split(",").map((each) => each.trim());
}

function checked(values: readonly string[], problemOf: (value: string) => string | undefined): readonly string[] {
  const problem = values.map(problemOf).find((found) => found !== undefined);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return values;
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
