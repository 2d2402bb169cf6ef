import { pipeline } from "node:stream/promises";
import { InvalidArgumentError, Option } from "commander";
import { type CommandSpec, checkSpan, type OptionSpec, onRecords, time, wholeNumber } from "#cli/options.ts";
import { printText, type Result } from "#cli/output.ts";
import { OperatorProblem } from "#operator/problem.ts";
import { DecisionFilter, recordFilter } from "#operator/query.ts";
import { explainedRecord } from "#operator/records.ts";
import type { DecisionRecord, ExplainedDecision } from "#records/decision-record.ts";
import { matchesFilter, type RecordFilter } from "#records/records.ts";
import { decisionLines, explanationText } from "./decision-text.ts";

const idHelp = "X-Smart-Gateway-Decision-Id or X-Request-Id of an answer";

/** The filters of the dashboard's lists, as options. */
const fields = Object.entries(DecisionFilter.omit({ range: true, from_ms: true, to_ms: true }).shape);
const filters = fields.map(
  ([field, schema]): OptionSpec => [
    `--${field.replaceAll("_", "-")} <values>`,
    schema.description ?? `only requests with this ${field.replaceAll("_", " ")}`,
    (text) => {
      const { data, error } = schema.safeParse(text);
      if (error !== undefined) throw new InvalidArgumentError(error.issues[0]?.message ?? "");
      return data;
    },
  ],
);

const span: readonly OptionSpec[] = [
  ["--since <moment>", "only requests that ended since then: 90m, 24h, 30d ago, a UTC day, an ISO 8601 time", time],
  ["--until <moment>", "only requests that ended before this time (default: now)", time],
];

const show: Pick<CommandSpec, "arguments" | "run"> = {
  arguments: [["<id>", idHelp]],
  async run(id: string): Promise<Result> {
    const value = await foundRecord(id);
    return { value, text: explanationText(value) };
  },
};

export const commands: readonly CommandSpec[] = [
  { ...show, name: "explain", example: "smart-gateway explain my-request-1 --json | jq .explanation.would_change" },
  {
    name: "decisions tail",
    summary: "print the latest decisions and follow new ones; first in each line is the local time of its end",
    options: [
      ["-n, --lines <count>", "number of latest decisions to print at first", wholeNumber(0, 999), "20"],
      ["--no-follow", "exit after printing them"],
      ["--json", "print each record as a line of JSON"],
      ...filters,
    ],
    example: "smart-gateway decisions tail --outcome refused --refused-by gateway",
    run: tail,
  },
  {
    ...show,
    name: "decisions show",
    summary: "print one decision's record",
    example: "smart-gateway decisions show my-request-1 --json",
  },
  {
    name: "decisions export",
    summary: "write all decisions to standard output as lines of JSON, the oldest first",
    options: [["--json", "the same: each record is a line of JSON"], ...filters, ...span],
    example: "smart-gateway decisions export --since 2026-11-01 > november.jsonl",
    run: exportRecords,
  },
];

interface FilterOptions {
  readonly since?: number;
  readonly until?: number;
}

function filterFrom({ since, until, ...options }: FilterOptions): RecordFilter {
  const values: Readonly<Record<string, unknown>> = options;
  // The parser names options in camel case.
  const given = fields.map(([field]) => [field, values[new Option(`--${field.replaceAll("_", "-")}`).attributeName()]]);
  return recordFilter({ ...Object.fromEntries(given), from_ms: since, to_ms: until });
}

const pollMs = 500;
const pollLimit = 1_000;

async function tail(options: FilterOptions & { json?: true; lines: number; follow: boolean }): Promise<void> {
  const filter = filterFrom(options);
  const printAll = (records: readonly DecisionRecord[]) => {
    const texts = options.json ? records.map((record) => JSON.stringify(record)) : decisionLines(records);
    if (texts.length > 0) printText(texts.join("\n"));
  };
  let stopped = false;
  const stop = () => {
    stopped = true;
  };
  await onRecords(async (store) => {
    const read = store.follow();
    await read();
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
      const news = await read();
      printAll(news.filter((record) => matchesFilter(record, filter) && !printed.has(record.decision_id)));
    }
  });
}

async function exportRecords(options: FilterOptions) {
  checkSpan(options);
  await onRecords(async (store) => {
    async function* lines() {
      for await (const records of store.export(filterFrom(options)))
        yield records.map((record) => `${JSON.stringify(record)}\n`).join("");
    }
    // Waits for a slow reader, so that it does not fill the memory.
    await pipeline(lines, process.stdout, { end: false }).catch((error: { readonly code?: string }) => {
      // The reader has closed the pipe (`| head`).
      if (error.code !== "EPIPE") throw error;
    });
  });
}

/** Gateways write records up to a second after the answer, so a missing record is looked up again. */
function foundRecord(id: string): Promise<ExplainedDecision> {
  return onRecords(async (store) => {
    for (const waitMs of [pollMs, pollMs, 0]) {
      const record = await explainedRecord(store, id);
      if (record !== undefined) return record;
      await Bun.sleep(waitMs);
    }
    const detail = `Nothing is recorded under ${id}. It is the ${idHelp}, within the retention (policy: records).`;
    throw new OperatorProblem("not_found", detail);
  });
}
