import { dirname, resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { replaceFile } from "#cli/replace-file.ts";
import { withStore } from "#cli/with-database.ts";
import { loadWeights, weightsPathOf } from "#config/load-config.ts";
import type { Policy } from "#config/policy.ts";
import { formatProblems } from "#config/problem.ts";
import type { ModelRegistry } from "#domain/model.ts";
import { fitBenefit } from "#learning/fit/benefit-model.ts";
import { crossValidate, rankedIn } from "#learning/fit/cross-validation.ts";
import { type Trial, trialsIn } from "#learning/fit/observations.ts";
import type { OutcomeRecord } from "#learning/outcomes.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { type Learned, learnReport } from "./learn-report.ts";
import { recordedOutcomes } from "./recorded-outcomes.ts";

export interface LearnOptions {
  /** Milliseconds before now. */
  readonly since: number;
  readonly write?: true;
  readonly json?: true;
}

/** What learning needs of the configuration. */
interface Config {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
}

const defaultFile = "learned-weights.json";
const dayMs = 86_400_000;

/**
 * `smart-gateway policy learn`: fits weights to the outcomes that the installation's own decision records show, and shows what they would change for records
 * that were held back. Writes them only when asked, and only when they would order those better.
 */
export async function learn(config: Config, policyPath: string | undefined, options: LearnOptions): Promise<void> {
  const nowMs = Date.now();
  await withStore(process.env, options, "The decision records could not be read", openRecordStore, async (store) => {
    const records = await recordedOutcomes(store, nowMs - options.since, config.registry);
    const learned = learnFrom(records, config, policyPath, { ...options, nowMs });
    if (options.json) printJson(learned);
    else print(learnReport(learned, weightsPathOf(config.policy, policyPath) === undefined ? defaultFile : undefined));
    if (learned.refused !== undefined) exitWith(exitCodes.failed);
  });
}

function learnFrom(
  records: readonly OutcomeRecord[],
  { policy, registry }: Config,
  policyPath: string | undefined,
  { since, write, nowMs }: LearnOptions & { readonly nowMs: number },
): Learned {
  const trials = trialsIn(records);
  const counted = countsOf(trials, nowMs - since, policy.routing.learned.min_rescue_trials);
  if (counted.rescue_trials < counted.needed) {
    const refused = `${counted.rescue_trials} rescue trials are too few to learn from: routing.learned.min_rescue_trials is ${counted.needed}`;
    return { ...counted, refused };
  }
  const { flash_below, pro_from } = policy.routing;
  const heldBack = crossValidate(records, {
    nowMs,
    proFrom: (flash_below + pro_from) / 2,
    proCost: proCostOf(registry, policy),
  });
  if (heldBack === undefined) return { ...counted, refused: "none of the recorded asks was routed by its score" };
  const measured = { ...counted, held_back: heldBack };
  if (write === undefined) return measured;
  if (heldBack.rescuedRank.change.value <= 0)
    return {
      ...measured,
      refused: "the learned score orders the records that were held back no better than the shipped one",
    };
  const weights = fitBenefit(trials, { ranked: rankedIn(records), nowMs });
  const path = weightsPathOf(policy, policyPath) ?? resolve(dirname(policyPath ?? "."), defaultFile);
  const problem = replaceFile(path, `${JSON.stringify(weights)}\n`, (temporary) => {
    const read = loadWeights(temporary);
    return read.kind === "ok" ? undefined : formatProblems(read.problems);
  });
  return problem === undefined ? { ...measured, written: path } : { ...measured, refused: problem };
}

function countsOf(trials: readonly Trial[], sinceMs: number, needed: number) {
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

/** The cost of a turn on the senior model, at list prices; 1 is its cost on the worker model. */
function proCostOf({ byRole }: ModelRegistry, { routing }: Policy): number {
  const { turn_input_tokens, turn_output_tokens } = routing.affinity;
  const [flash = 0, pro = 0] = [byRole.worker, byRole.senior].map((model) =>
    model === undefined ? 0 : turn_input_tokens * model.price.input + turn_output_tokens * model.price.output,
  );
  return flash > 0 && pro > 0 ? pro / flash : 1;
}

/** `30d`, `12h` in milliseconds. */
export function duration(text: string): number {
  const [, count = "", unit] = /^(\d{1,4})([dh])$/.exec(text) ?? [];
  if (unit === undefined || Number(count) === 0)
    throw new InvalidArgumentError("a number of days or hours, such as 30d or 12h");
  return Number(count) * (unit === "d" ? dayMs : dayMs / 24);
}
