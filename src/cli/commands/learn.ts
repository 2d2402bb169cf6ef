import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { type ConfigOptions, configIn, fileOr, onRecords } from "#cli/options.ts";
import { codeFor, type Result, textTable } from "#cli/output.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { formatProblems } from "#config/problem.ts";
import type { ModelRegistry } from "#domain/model.ts";
import { type RoutedCall, trialsIn } from "#learning/outcomes.ts";
import { proseBounds } from "#learning/prose-bound.ts";
import { type Advice, minOfEach, thresholdsFrom } from "#learning/thresholds.ts";
import { runBacktest } from "#operator/backtest.ts";
import { proseCalls } from "#pipeline/assess/run/run-signals.ts";
import { averageTurn } from "#pipeline/decide/rules/affinity.ts";
import { replaceFile } from "#platform/replace-file.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { reportText } from "./backtest.ts";

interface LearnOptions extends ConfigOptions {
  readonly since: number;
  readonly write?: true;
}

type Changes = { [K in "flash_below" | "pro_from" | "run_prose_chars"]?: number };

export async function learn(file: string | undefined, options: LearnOptions): Promise<Result> {
  const policyPath = fileOr(file, "policyPath");
  const { policy, registry } = configIn(file, options.models);
  const { flash_below, pro_from, run_prose_chars } = policy.routing;
  return onRecords(async (store) => {
    const calls = await callsIn(store, options.since, registry);
    const trials = trialsIn(calls);
    const prose = proseBounds(calls, proseCalls);
    const inForce = { flashBelow: flash_below, proFrom: pro_from };
    const advice = thresholdsFrom(trials, inForce, costOnPro(registry));
    const own = prose.find(({ model }) => model === registry.byRole.worker?.key);
    const changes: Changes = {
      ...(advice?.better && { flash_below: advice.better.flashBelow, pro_from: advice.better.proFrom }),
      // 0 switches the bound off, and nobody but the operator switches it on.
      ...(own !== undefined && run_prose_chars > 0 && own.chars !== run_prose_chars && { run_prose_chars: own.chars }),
    };
    const isChange = Object.keys(changes).length > 0;
    const changed = isChange
      ? await runBacktest(store, {
          policy: { ...policy, routing: { ...policy.routing, ...changes } },
          registry,
          filter: { fromMs: options.since },
        })
      : undefined;
    const refused = isChange && options.write ? written(policyPath, changes) : undefined;
    const since = new Date(options.since).toISOString();
    const counts = {
      ...{ since, asks: trials.length, failed: trials.filter(({ failed }) => failed).length },
      rescue_trials: trials.filter(({ rescued }) => rescued !== undefined).length,
      rescued: trials.filter(({ rescued }) => rescued).length,
    };
    const lines = [
      `Since ${since} flash answered ${counts.asks} recorded asks and failed at ${counts.failed}.`,
      `Of ${counts.rescue_trials} failures it is known whether pro solved them: it solved ${counts.rescued}.\n`,
      ...adviceLines(advice, changes, inForce),
      ...(prose.length === 0
        ? ["Too few runs are recorded to say how much prose the models write."]
        : [`Characters of prose that 95 % of the runs of a model stay below:\n${textTable(prose)}`]),
      ...(changed === undefined ? [] : [`\nWith these values:\n${reportText(changed)}`]),
      `\n${outcomeText(changes, options.write === true ? policyPath : undefined, refused)}`,
    ];
    const knowsNothing = advice === undefined && prose.length === 0;
    const found = { ...counts, advice: advice ?? null, run_prose: prose, changes, changed: changed ?? null };
    const value = { ...found, written: isChange && options.write === true && refused === undefined };
    return { value, text: lines.join("\n"), exitCode: codeFor(refused === undefined && !knowsNothing) };
  });
}

/** The calls that were routed to flash or pro since a moment, the oldest first; housekeeping teaches nothing. */
export async function callsIn(store: RecordStore, fromMs: number, registry: ModelRegistry): Promise<RoutedCall[]> {
  const calls: RoutedCall[] = [];
  for await (const records of store.export({ fromMs }))
    for (const record of records) calls.push(...callIn(record, registry));
  // Records are in the order in which requests ended.
  return calls.sort((a, b) => a.atMs - b.atMs);
}

function callIn(record: DecisionRecord, { models }: ModelRegistry): RoutedCall[] {
  const { inputs, conversation, model, score, features, rule, reported } = record;
  const role = models.get(model ?? "")?.role;
  if (inputs === null || conversation === null || model === null || score === null) return [];
  if (record.housekeeping !== null || (role !== "worker" && role !== "senior")) return [];
  const { continuation, reported_failure: reportedFailure, prose } = inputs;
  const tier = role === "senior" ? "pro" : "flash";
  const ask = JSON.stringify(features);
  const of = { conversation, atMs: record.at_ms, continuation, ask, tier, model, score } as const;
  return [{ ...of, hardRule: rule !== null, reportedFailure, outcome: reported?.outcome, prose }];
}

/** The cost of a turn on the senior model, at list prices; 1 is its cost on the worker model. */
function costOnPro({ byRole }: ModelRegistry): number {
  const { inputTokens, outputTokens } = averageTurn;
  const [flash = 0, pro = 0] = [byRole.worker, byRole.senior].map((model) =>
    model === undefined ? 0 : inputTokens * model.price.input + outputTokens * model.price.output,
  );
  return flash > 0 && pro > 0 ? pro / flash : 1;
}

function adviceLines(advice: Advice | undefined, changes: Changes, inForce: object): string[] {
  if (advice === undefined)
    return [
      `Too few outcomes to judge the thresholds by: ${minOfEach} failed and ${minOfEach} solved asks are needed.\n`,
    ];
  const { better } = advice;
  const rows = [{ thresholds: "in force", ...inForce, ...advice.inForce }];
  if (better !== undefined) {
    const { errors, ...values } = better;
    rows.push({ thresholds: "better", ...values, ...errors });
  }
  const same = "No other thresholds would have cost less by more than chance.\n";
  return [`${textTable(rows)}\n`, ...(changes.flash_below === undefined ? [same] : [])];
}

/** `written`: the file that they were written to, unless that was `refused`. */
function outcomeText(changes: Changes, written: string | undefined, refused: string | undefined): string {
  const keys = Object.entries(changes).map(([key, value]) => `routing.${key}: ${value}`);
  if (keys.length === 0) return "Nothing to change.";
  if (refused !== undefined) return `Nothing was written: ${refused}.`;
  return written === undefined
    ? `Nothing was written: --write writes ${keys.join(", ")} to the policy file.`
    : `Written to ${written}: ${keys.join(", ")}.`;
}

/** Writes keys of `routing` to the policy file, whose comments stay; returns why not. */
function written(path: string | undefined, changes: Changes): string | undefined {
  if (path === undefined) return "there is no policy file; name one, or set ROUTING_POLICY_PATH";
  const text = readFileSync(path, "utf8");
  const document = parseDocument(text);
  for (const [key, value] of Object.entries(changes)) document.setIn(["routing", key], value);
  const isJson = text.trimStart().startsWith("{");
  const changed = isJson ? `${JSON.stringify(document.toJS(), null, 2)}\n` : document.toString({ lineWidth: 0 });
  return replaceFile(path, changed, (temporary) => {
    const read = loadPolicy(temporary);
    return read.kind === "ok" ? undefined : formatProblems(read.problems);
  });
}
