import { InvalidArgumentError, Option } from "commander";
import { withRecords } from "#cli/databases.ts";
import { type CommandSpec, checkSpan, type OptionSpec, time, wholeNumber } from "#cli/options.ts";
import { failed, type OutputOptions, print, printText } from "#cli/output.ts";
import { boundedId } from "#records/build-record.ts";
import type { DecisionRecord, ExplainedDecision } from "#records/decision-record.ts";
import { explain } from "#records/explain/explain.ts";
import { type filterWords, matchesFilter, statusProblem, wordProblem } from "#records/filter.ts";
import type { RecordFilter } from "#records/records.ts";
import { readConfiguration } from "#records/replay/replay.ts";
import { decisionLines, explanationText } from "./decision-text.ts";

const idHelp = "X-Smart-Gateway-Decision-Id or X-Request-Id of an answer";

/** The options that select decisions, by the filter's field: flags, help, parser. Those with several values split them at commas. */
const filters = {
  goal: ["--goal <goal>", "only this goal (`session/goal`, or the goal alone)", boundedId],
  session: ["--session <id>", "only this session", boundedId],
  task: ["--task <id>", "only this task", boundedId],
  requestId: ["--request <id>", "only this request id", boundedId],
  cause: ["--cause <causes>", "only these causes", words("cause")],
  rule: ["--rule <name>", "only requests for which this hard rule fired", (text) => words("rule")(text)[0]],
  alias: ["--alias <aliases>", "only requests for these models", words("alias")],
  model: ["--model <keys>", "only answers of these models", (text) => listed(text, () => undefined)],
  tier: ["--tier <tiers>", "only answers of these tiers", words("tier")],
  status: [
    "--status <statuses>",
    "only these statuses, or classes of them: 403, 5xx",
    (text) => listed(text, statusProblem),
  ],
  outcome: ["--outcome <outcomes>", "only requests that ended so", words("outcome")],
  label: ["--label <labels>", "only requests with tokens of these labels", (text) => listed(text, () => undefined)],
  redaction: [
    "--redaction <rules>",
    "only requests in which the privacy gate has found something: any, or by these rules",
    (text) => listed(text, () => undefined),
  ],
  refusedBy: ["--refused-by <who>", "only requests that one of them has refused", words("refusedBy")],
} as const satisfies { readonly [F in keyof RecordFilter]?: readonly [string, string, (text: string) => unknown] };

const span: readonly OptionSpec[] = [
  [
    "--since <moment>",
    "only requests that ended at this time or later: 90m, 24h, 30d ago, a UTC day, or an ISO 8601 time",
    time,
  ],
  ["--until <moment>", "only requests that ended before this time (default: now)", time],
];

export const commands: readonly CommandSpec[] = [
  {
    name: "explain",
    arguments: [["<id>", idHelp]],
    example: "smart-gateway explain my-request-1 --json | jq .explanation.would_change",
    async run(id: string, options: OutputOptions) {
      const record = await explainedRecord(id);
      print(record, options, explanationText(record));
    },
  },
  {
    name: "decisions tail",
    summary:
      "print the latest decisions and follow new ones; each line begins with the local time at which the request ended",
    options: [
      ["-n, --lines <count>", "number of latest decisions to print at first", wholeNumber(0, 999), "20"],
      ["--no-follow", "exit after printing them"],
      ["--json", "print each record as a line of JSON"],
      ...Object.values(filters),
    ],
    example: "smart-gateway decisions tail --outcome refused --refused-by gateway",
    run: tail,
  },
  {
    name: "decisions show",
    summary: "print one decision's record",
    arguments: [["<id>", idHelp]],
    example: "smart-gateway decisions show my-request-1 --json",
    async run(id: string, options: OutputOptions) {
      const record = await explainedRecord(id);
      print(record, options, `${decisionLines([record]).join("")}\n\n${explanationText(record)}`);
    },
  },
  {
    name: "decisions export",
    summary: "write all decisions to standard output as lines of JSON, the oldest first",
    options: [["--json", "the same: each record is a line of JSON"], ...Object.values(filters), ...span],
    example: "smart-gateway decisions export --since 2026-11-01 > november.jsonl",
    run: exportRecords,
  },
];

function words(field: keyof typeof filterWords) {
  return (text: string) => listed(text, (word) => wordProblem(field, word));
}

function listed(text: string, problemIn: (word: string) => string | undefined): readonly string[] {
  const values = text.split(",").map((each) => each.trim());
  const problem = values.map(problemIn).find((found) => found !== undefined);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return values;
}

interface FilterOptions {
  readonly since?: number;
  readonly until?: number;
}

function filterFrom({ since, until, ...options }: FilterOptions): RecordFilter {
  const values = new Map<string, unknown>(Object.entries(options));
  const given = Object.entries(filters).map(([field, [flags]]) => [
    field,
    values.get(new Option(flags).attributeName()),
  ]);
  const all = [...given, ["fromMs", since], ["toMs", until]];
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

const pollMs = 500;
const pollLimit = 1_000;

async function tail(options: FilterOptions & OutputOptions & { readonly lines: number; readonly follow: boolean }) {
  const filter = filterFrom(options);
  const printAll = (records: readonly DecisionRecord[]) => {
    const texts = options.json ? records.map((record) => JSON.stringify(record)) : decisionLines(records);
    if (texts.length > 0) printText(texts.join("\n"));
  };
  let stopped = false;
  const stop = () => {
    stopped = true;
  };
  await withRecords(async (store) => {
    const follower = store.follow();
    await follower.read();
    const { records } = await store.query(filter, { limit: pollLimit });
    printAll(records.slice(0, options.lines).toReversed());
    if (!options.follow) return;
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    // The reader has closed the pipe (`| head`).
    process.stdout.once("error", stop);
    /** What was written between the two readings is in both. */
    const printed = new Set(records.map(({ decision_id }) => decision_id));
    while (!stopped) {
      await Bun.sleep(pollMs);
      const news = await follower.read();
      printAll(news.filter((record) => matchesFilter(record, filter) && !printed.has(record.decision_id)));
    }
  });
}

async function exportRecords(options: FilterOptions) {
  checkSpan(options);
  const output = process.stdout;
  await withRecords(async (store) => {
    let open = true;
    output.once("error", () => {
      open = false;
    });
    for await (const records of store.export(filterFrom(options))) {
      const text = records.map((record) => JSON.stringify(record)).join("\n");
      // Waits until the text was taken, so that a slow reader does not fill the memory; an error ends the wait too.
      const waits = !output.write(`${text}\n`);
      if (waits && open) await new Promise((resolve) => output.once("drain", resolve).once("error", resolve));
      if (!open) break;
    }
  });
}

/** Gateways write records up to a second after the answer, so a missing record is looked up again. */
function explainedRecord(id: string): Promise<ExplainedDecision> {
  return withRecords(async (store) => {
    for (const waitMs of [pollMs, pollMs, 0]) {
      const record = await store.get(id);
      if (record === undefined) {
        await Bun.sleep(waitMs);
        continue;
      }
      const config = record.policy_hash === null ? undefined : await store.config(record.policy_hash);
      return { ...record, explanation: explain(record, config === undefined ? undefined : readConfiguration(config)) };
    }
    throw failed(`Nothing is recorded under ${id}. It is the ${idHelp}, within the retention (policy: records).`);
  });
}
