import { Command, InvalidArgumentError, Option } from "commander";
import { exitCodes, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { progressBar } from "#cli/progress.ts";
import { spanProblem, withRecords } from "#cli/with-records.ts";
import type { DecisionRecord, ExplainedDecision } from "#records/decision-record.ts";
import { explain } from "#records/explain/explain.ts";
import { readConfiguration } from "#records/replay/configuration.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { csvHead, csvLine } from "./csv.ts";
import { DecisionLines, explanationText } from "./decision-text.ts";
import { type FilterOptions, filterOf, withFilters, withSpan } from "./filters.ts";

/** `smart-gateway decisions tail|show|export`. */
export function decisionsCommand(env: NodeJS.ProcessEnv = process.env): Command {
  const command = new Command("decisions").description(
    "the decision records: what was asked, decided, answered and paid",
  );
  command.addCommand(tailCommand(env));
  command.addCommand(showCommand(env));
  command.addCommand(exportCommand(env));
  return command;
}

/** `smart-gateway explain ID`. */
export function explainCommand(env: NodeJS.ProcessEnv = process.env): Command {
  const command = new Command("explain")
    .description(
      "explain why a request was routed as it was, what each stage saw, and what would have changed the decision",
    )
    .argument("<id>", "X-Smart-Gateway-Decision-Id or X-Request-Id of an answer")
    .option("--json", "print the record with its explanation")
    .action((id: string, options: { readonly json?: true }) =>
      withRecords(env, options, async (store) => {
        const record = await explainedRecord(store, id);
        if (record === undefined) return notRecorded(id, options);
        if (options.json) printJson(record);
        else print(explanationText(record));
      }),
    );
  return command;
}

interface TailOptions extends FilterOptions {
  readonly lines: number;
  readonly follow: boolean;
  readonly json?: true;
}

function tailCommand(env: NodeJS.ProcessEnv): Command {
  const command = withFilters(new Command("tail"))
    .description(
      "print the latest decisions and follow new ones; each line begins with the local time at which the request ended",
    )
    .option("-n, --lines <count>", "number of latest decisions to print at first", wholeNumber, 20)
    .option("--no-follow", "exit after printing them")
    .option("--json", "print each record as a line of JSON")
    .action((options: TailOptions) => withRecords(env, options, (store) => tail(store, options)));
  return command;
}

const pollMs = 500;
const writtenWithinMs = 1_000;
/** Records of another node may become visible after ones that follow them, and some count on the day before. */
const overlapSeq = 120_000 * 1_024;
const maxRemembered = 20_000;
const pollLimit = 1_000;

async function tail(store: RecordStore, options: TailOptions): Promise<void> {
  const filter = filterOf(options);
  const printed = new Set<string>();
  const lines = new DecisionLines();
  const printNew = (records: readonly DecisionRecord[]) => {
    const fresh = records.filter(({ decision_id }) => !printed.has(decision_id));
    for (const { decision_id } of fresh) printed.add(decision_id);
    const texts = options.json ? fresh.map((record) => JSON.stringify(record)) : lines.of(fresh);
    if (texts.length > 0) print(texts.join("\n"));
    for (const oldest of printed) {
      if (printed.size <= maxRemembered) break;
      printed.delete(oldest);
    }
  };
  // Records that are stored already are not printed by a later poll that overlaps.
  const newest = options.lines === 0 ? [] : (await store.query(filter, { limit: options.lines })).records.toReversed();
  const before = await store.query(filter, { limit: pollLimit });
  for (const { decision_id } of before.records) {
    if (!newest.some((record) => record.decision_id === decision_id)) printed.add(decision_id);
  }
  printNew(newest);
  if (!options.follow) return;
  let last = before.records[0]?.seq ?? 0;
  let stopped = false;
  const stop = () => {
    stopped = true;
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  // The reader has closed the pipe (`| head`).
  process.stdout.once("error", stop);
  while (!stopped) {
    await Bun.sleep(pollMs);
    for (let after = Math.max(0, last - overlapSeq); !stopped; ) {
      const { records, more } = await store.query(filter, { after, limit: pollLimit });
      printNew(records);
      after = records.at(-1)?.seq ?? after;
      last = Math.max(last, after);
      if (!more) break;
    }
  }
}

function showCommand(env: NodeJS.ProcessEnv): Command {
  const command = new Command("show")
    .description("print one decision's record")
    .argument("<id>", "X-Smart-Gateway-Decision-Id or X-Request-Id of an answer")
    .option("--json", "JSON instead of text")
    .action((id: string, options: { readonly json?: true }) =>
      withRecords(env, options, async (store) => {
        const record = await explainedRecord(store, id);
        if (record === undefined) return notRecorded(id, options);
        if (options.json) printJson(record);
        else print(`${new DecisionLines().of([record]).join("")}\n\n${explanationText(record)}`);
      }),
    );
  return command;
}

interface ExportOptions extends FilterOptions {
  readonly format: "jsonl" | "csv";
}

function exportCommand(env: NodeJS.ProcessEnv): Command {
  const command = withSpan(withFilters(new Command("export")))
    .description("write all decisions to standard output, the oldest first")
    .addOption(
      new Option("--format <format>", "jsonl contains all fields, csv those that fit a table")
        .choices(["jsonl", "csv"])
        .default("jsonl"),
    )
    .option("--json", "the same as --format jsonl")
    .action((options: ExportOptions & { readonly json?: true }) => {
      const problem = spanProblem(options);
      if (problem !== undefined) return failWith(exitCodes.badUsage, problem, options);
      return withRecords(env, options, (store) =>
        exportRecords(store, options.json ? { ...options, format: "jsonl" } : options),
      );
    });
  return command;
}

async function exportRecords(store: RecordStore, options: ExportOptions): Promise<void> {
  const csv = options.format === "csv";
  // Standard output goes to a file, so the terminal is free for the bar.
  const { rows } = await store.size();
  const progress = process.stdout.isTTY ? undefined : progressBar("decisions", rows);
  let done = 0;
  let open = true;
  process.stdout.once("error", () => {
    open = false;
  });
  if (csv) process.stdout.write(csvHead);
  for await (const records of store.export(filterOf(options))) {
    let text = "";
    for (const record of records) text += csv ? csvLine(record) : `${JSON.stringify(record)}\n`;
    // Waits until the text was written, so that a slow reader does not fill the memory.
    if (!process.stdout.write(text) && open) await taken();
    if (!open) break;
    done += records.length;
    progress?.at(done);
  }
  progress?.end();
}

function taken(): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      process.stdout.off("drain", done);
      process.stdout.off("error", done);
      resolve();
    };
    process.stdout.on("drain", done);
    process.stdout.on("error", done);
  });
}

async function explainedRecord(store: RecordStore, id: string): Promise<ExplainedDecision | undefined> {
  const record = await recordOf(store, id);
  if (record === undefined) return undefined;
  const config = record.policy_hash === null ? undefined : await store.config(record.policy_hash);
  return { ...record, explanation: explain(record, config === undefined ? undefined : readConfiguration(config)) };
}

/** Gateways write records up to a second after the answer, so a missing record is looked up again. */
async function recordOf(store: RecordStore, id: string): Promise<DecisionRecord | undefined> {
  for (let waitedMs = 0; waitedMs < writtenWithinMs; waitedMs += pollMs) {
    const record = await store.get(id);
    if (record !== undefined) return record;
    await Bun.sleep(pollMs);
  }
  return store.get(id);
}

function notRecorded(id: string, options: { readonly json?: true }): void {
  const problem = `Nothing is recorded under ${id}. It is the X-Smart-Gateway-Decision-Id or X-Request-Id of an answer, within the retention (policy: records).`;
  failWith(exitCodes.failed, problem, options);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new InvalidArgumentError("a whole number up to 999");
  return Number(text);
}
