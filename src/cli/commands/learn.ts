import { dirname, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { withRecords } from "#cli/databases.ts";
import { fileOr } from "#cli/options.ts";
import { type ConfigOptions, exitCodes, print, textTable, throwProblems, valid } from "#cli/output.ts";
import { replaceFile } from "#cli/replace-file.ts";
import { loadWeights, weightsPathOf } from "#config/load-config.ts";
import { loadPolicy } from "#config/load-policy.ts";
import type { Policy } from "#config/policy.ts";
import { formatProblems } from "#config/problem.ts";
import type { ModelRegistry } from "#domain/model.ts";
import { fitBenefit } from "#learning/fit/benefit-model.ts";
import { type CrossValidation, crossValidate, type Estimate, rankedIn } from "#learning/fit/cross-validation.ts";
import { type Trial, trialsIn } from "#learning/fit/observations.ts";
import type { OutcomeRecord } from "#learning/outcomes.ts";
import type { ProseBound } from "#learning/prose-bound.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { readRecorded } from "./recorded-outcomes.ts";

interface LearnOptions extends ConfigOptions {
  /** Milliseconds before now. */
  readonly since: number;
  readonly write?: true;
}

const defaultFile = "learned-weights.json";

/**
 * `smart-gateway policy learn`: fits weights to the outcomes that the installation's own decision records show, and shows what they would change for records
 * that were held back. Writes them only when asked, and only when they would order those better.
 */
export function addLearnCommand(policy: Command): Command {
  return policy
    .command("learn")
    .description("fit the score to the recorded outcomes of this installation, and show what that would change")
    .addOption(
      new Option("--since <time>", "use the records of the last days or hours: 30d, 12h")
        .argParser(duration)
        .default(duration("30d"), "30d"),
    )
    .option("--write", "write the weights to the file that routing.learned.weights_file names, else beside the policy")
    .addHelpText("after", "\nExample: smart-gateway policy learn --since 90d --write")
    .action(learn);
}

/** `30d`, `12h` in milliseconds. */
function duration(text: string): number {
  const [, count = "", unit] = /^(\d{1,4})([dh])$/.exec(text) ?? [];
  if (unit === undefined || Number(count) === 0)
    throw new InvalidArgumentError("a number of days or hours, such as 30d or 12h");
  return Number(count) * (unit === "d" ? 86_400_000 : 3_600_000);
}

async function learn(file: string | undefined, options: LearnOptions): Promise<void> {
  const policyPath = fileOr(file, "ROUTING_POLICY_PATH");
  // Without the weights in force: they may be absent or broken, and a new fit does not need them.
  const [loadedPolicy, loadedRegistry] = [
    loadPolicy(policyPath),
    loadRegistry(fileOr(options.models, "MODEL_REGISTRY_PATH")),
  ];
  throwProblems(loadedPolicy, loadedRegistry);
  const [{ policy }, { registry }] = [valid(loadedPolicy), valid(loadedRegistry)];
  const nowMs = Date.now();
  const { run_prose_calls } = policy.routing;
  const recorded = await withRecords((store) => readRecorded(store, nowMs - options.since, registry, run_prose_calls));
  const { outcomes: records, prose } = recorded;
  const trials = trialsIn(records);
  const counts = countTrials(trials, nowMs - options.since, policy.routing.learned.min_rescue_trials);
  const { rescue_trials, needed } = counts;
  const result: Fitted =
    rescue_trials < needed
      ? {
          refused: `${rescue_trials} rescue trials are too few to learn from: routing.learned.min_rescue_trials is ${needed}`,
        }
      : fitted(records, trials, { policy, registry, policyPath, nowMs, prose, write: options.write === true });
  const unnamed = weightsPathOf(policy, policyPath) === undefined;
  const report = `${reportText(counts, result, unnamed)}\n\n${proseText(prose)}`;
  print({ ...counts, run_prose: prose ?? null, ...result }, options, report);
  if (result.refused !== undefined) process.exitCode = exitCodes.failed;
}

type Counts = ReturnType<typeof countTrials>;

function countTrials(trials: readonly Trial[], sinceMs: number, needed: number) {
  const tried = trials.filter(({ rescued }) => rescued !== undefined);
  return {
    since: new Date(Math.max(0, sinceMs)).toISOString(),
    asks: trials.length,
    failed: trials.filter(({ failed }) => failed).length,
    rescue_trials: tried.length,
    rescued: tried.filter(({ rescued }) => rescued).length,
    needed,
  };
}

interface Fitted {
  readonly held_back?: CrossValidation;
  /** Where the weights were written. */
  readonly written?: string;
  /** Why nothing was fitted or written. */
  readonly refused?: string;
}

interface FitOptions {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly policyPath: string | undefined;
  readonly nowMs: number;
  readonly prose: ProseBound | undefined;
  readonly write: boolean;
}

function fitted(records: readonly OutcomeRecord[], trials: readonly Trial[], options: FitOptions): Fitted {
  const { policy, registry, policyPath, nowMs, prose, write } = options;
  const { flash_below, pro_from } = policy.routing;
  const proFrom = (flash_below + pro_from) / 2;
  const held_back = crossValidate(records, { nowMs, proFrom, proCost: costOnPro(registry, policy) });
  if (held_back === undefined) return { refused: "none of the recorded asks was routed by its score" };
  if (!write) return { held_back };
  if (held_back.rescuedRank.change.value <= 0) {
    const refused = "the learned score orders the records that were held back no better than the shipped one";
    return { held_back, refused };
  }
  const fit = fitBenefit(trials, { ranked: rankedIn(records), nowMs });
  const weights = prose === undefined ? fit : { ...fit, run_prose: prose };
  const path = weightsPathOf(policy, policyPath) ?? resolve(dirname(policyPath ?? "."), defaultFile);
  const refused = replaceFile(path, `${JSON.stringify(weights)}\n`, (temporary) => {
    const read = loadWeights(temporary);
    return read.kind === "ok" ? undefined : formatProblems(read.problems);
  });
  return refused === undefined ? { held_back, written: path } : { held_back, refused };
}

/** The cost of a turn on the senior model, at list prices; 1 is its cost on the worker model. */
function costOnPro({ byRole }: ModelRegistry, { routing }: Policy): number {
  const { turn_input_tokens, turn_output_tokens } = routing.affinity;
  const [flash = 0, pro = 0] = [byRole.worker, byRole.senior].map((model) =>
    model === undefined ? 0 : turn_input_tokens * model.price.input + turn_output_tokens * model.price.output,
  );
  return flash > 0 && pro > 0 ? pro / flash : 1;
}

/** `unnamed`: the policy names no file of weights. */
function reportText(counts: Counts, { held_back, written, refused }: Fitted, unnamed: boolean): string {
  const { since, asks, failed, rescue_trials, rescued } = counts;
  const nothing = refused === undefined ? "--write writes the weights" : refused;
  return [
    `Since ${since.slice(0, 16).replace("T", " ")} UTC flash answered ${asks} recorded asks and failed at ${failed}.`,
    `Of ${rescue_trials} failures it is known whether pro solved them: it solved ${rescued}.`,
    ...(held_back === undefined ? [] : ["", comparison(held_back)]),
    "",
    written === undefined ? `Nothing was written: ${nothing}.` : `Written: ${written}`,
    ...(written !== undefined && unnamed
      ? [`To use it, put this into the policy:\nrouting:\n  learned:\n    weights_file: ${defaultFile}`]
      : []),
  ].join("\n");
}

function proseText(prose: ProseBound | undefined): string {
  if (prose === undefined) return "Too few runs of the worker model are recorded to say how much prose it writes.";
  const { model, runs, chars } = prose;
  return `Of ${runs} runs of ${model} 95 % wrote at most ${chars} characters of prose in a few calls in a row; learned weights use that, or set it yourself: routing.run_prose_chars.`;
}

function comparison({ asks, rescuedRank, proShare, solvedFirst, cost }: CrossValidation): string {
  const row = (measure: string, change: Estimate, now?: number, learned?: number) => ({
    measure,
    now: now?.toFixed(3),
    learned: learned?.toFixed(3),
    change: change.value.toFixed(3),
    from: change.low.toFixed(3),
    to: change.high.toFixed(3),
  });
  const table = textTable([
    row(
      "rank of asks that only pro solved (0.5: chance)",
      rescuedRank.change,
      rescuedRank.shipped,
      rescuedRank.learned,
    ),
    row("share of asks routed to pro", proShare.change, proShare.shipped, proShare.learned),
    row("share of asks solved by the first model", solvedFirst),
    row("cost, with retries on pro, as a share of that now", cost),
  ]);
  const unsure =
    rescuedRank.change.low <= 0 ? "\nThe interval of the rank contains no change: more records would tell." : "";
  return `Judged on ${asks} asks, each with weights fitted to other records; FROM and TO are the 95 % interval of the change:\n${table}${unsure}`;
}
