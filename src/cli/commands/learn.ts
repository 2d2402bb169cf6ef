import { dirname, resolve } from "node:path";
import { type ConfigOptions, fileOr, onRecords } from "#cli/options.ts";
import { exitCodes, print, textTable, valid } from "#cli/output.ts";
import { loadWeights, weightsPathOf } from "#config/load-config.ts";
import { loadPolicy } from "#config/load-policy.ts";
import type { Policy } from "#config/policy.ts";
import { formatProblems } from "#config/problem.ts";
import type { ModelRegistry } from "#domain/model.ts";
import { fitBenefit } from "#learning/fit/benefit-model.ts";
import { type CrossValidation, crossValidate, rankedIn } from "#learning/fit/cross-validation.ts";
import { trialsIn } from "#learning/fit/observations.ts";
import type { ProseBound } from "#learning/prose-bound.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { replaceFile } from "#platform/replace-file.ts";
import { readRecorded } from "./recorded-outcomes.ts";

interface LearnOptions extends ConfigOptions {
  readonly since: number;
  readonly write?: true;
}

const defaultFile = "learned-weights.json";

/**
 * Fits weights to the outcomes that the installation's own decision records show, and shows what they would change for records that were
 * held back. Writes them only when asked, and only when they would order those better.
 */
export async function learn(file: string | undefined, options: LearnOptions): Promise<void> {
  const policyPath = fileOr(file, "policyPath");
  // Without the weights in force: they may be absent or broken, and a new fit does not need them.
  const { policy } = valid(loadPolicy(policyPath));
  const { registry } = valid(loadRegistry(fileOr(options.models, "registryPath")));
  const { run_prose_calls } = policy.routing;
  const recorded = await onRecords((store) => readRecorded(store, options.since, registry, run_prose_calls));
  const { outcomes: records, prose } = recorded;
  const trials = trialsIn(records);
  const tried = trials.filter(({ rescued }) => rescued !== undefined);
  const counts = {
    since: new Date(options.since).toISOString(),
    asks: trials.length,
    failed: trials.filter(({ failed }) => failed).length,
    rescue_trials: tried.length,
    rescued: tried.filter(({ rescued }) => rescued).length,
    needed: policy.routing.learned.min_rescue_trials,
  };
  const few = `${counts.rescue_trials} rescue trials are too few to learn from: routing.learned.min_rescue_trials is ${counts.needed}`;
  const result =
    counts.rescue_trials < counts.needed ? { refused: few } : fitted(recorded, policy, registry, policyPath, options);
  const { held_back, written, refused } = result;
  const lines = [
    `Since ${counts.since} flash answered ${counts.asks} recorded asks and failed at ${counts.failed}.`,
    `Of ${counts.rescue_trials} failures it is known whether pro solved them: it solved ${counts.rescued}.\n`,
    ...(held_back === undefined ? [] : [`${comparison(held_back)}\n`]),
    written === undefined
      ? `Nothing was written: ${refused ?? "--write writes the weights"}.`
      : `Written: ${written}. The policy names it with routing.learned.weights_file: ${defaultFile}`,
    `\n${proseText(prose)}`,
  ];
  print({ ...counts, run_prose: prose ?? null, ...result }, options, lines.join("\n"));
  if (refused !== undefined) process.exitCode = exitCodes.failed;
}

/** The comparison, and where the weights were written, or why they were not. */
function fitted(
  { outcomes: records, prose }: Awaited<ReturnType<typeof readRecorded>>,
  policy: Policy,
  registry: ModelRegistry,
  policyPath: string | undefined,
  { write }: LearnOptions,
) {
  const nowMs = Date.now();
  const { flash_below, pro_from } = policy.routing;
  const proFrom = (flash_below + pro_from) / 2;
  const held_back = crossValidate(records, { nowMs, proFrom, proCost: costOnPro(registry, policy) });
  if (held_back === undefined) return { refused: "none of the recorded asks was routed by its score" };
  if (!write) return { held_back };
  if (held_back.rescuedRank.change.value <= 0) {
    const refused = "the learned score orders the records that were held back no better than the shipped one";
    return { held_back, refused };
  }
  const fit = fitBenefit(trialsIn(records), rankedIn(records), nowMs);
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

function proseText(prose: ProseBound | undefined): string {
  if (prose === undefined) return "Too few runs of the worker model are recorded to say how much prose it writes.";
  const { model, runs, chars } = prose;
  return `Of ${runs} runs of ${model} 95 % wrote at most ${chars} characters of prose in a few calls in a row; learned weights use that, or set it yourself: routing.run_prose_chars.`;
}

function comparison({ asks, rescuedRank, proShare, solvedFirst, cost }: CrossValidation): string {
  const row = (measure: string, { shipped, learned, change }: Partial<CrossValidation["proShare"]>) => {
    const figures = { now: shipped, learned, change: change?.value, from: change?.low, to: change?.high };
    const shown = Object.entries(figures).map(([name, figure]) => [name, figure?.toFixed(3)]);
    return { measure, ...Object.fromEntries(shown) };
  };
  const table = textTable([
    row("rank of asks that only pro solved (0.5: chance)", rescuedRank),
    row("share of asks routed to pro", proShare),
    row("share of asks solved by the first model", { change: solvedFirst }),
    row("cost, with retries on pro, as a share of that now", { change: cost }),
  ]);
  return `Judged on ${asks} asks, each with weights fitted to other records; FROM and TO are the 95 % interval of the change:\n${table}`;
}
