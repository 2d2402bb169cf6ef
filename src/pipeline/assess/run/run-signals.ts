import type { RunTrouble } from "#pipeline/task/task-runtime.ts";
import type { ResultStep, RunStep } from "./run-steps.ts";
import type { Failed } from "./tool-result.ts";

/**
 * The signs of trouble in an agent's run since the ask. The counts mean trouble, not length. They never fall within a
 * run: what a rule saw once it sees in every later call of the run as well.
 */
export interface RunSignals extends RunTrouble {
  /** The most characters of its own prose that the model wrote in `proseCalls` calls in a row. */
  readonly prose: number;
  /** What was seen, as `key=value`: types and hashes of errors, never their text. */
  readonly evidence: readonly string[];
}

/** One error in one check. */
interface Failure {
  readonly errorType: string;
  readonly signature: string;
  readonly check: string;
  /** How often it came back after a change, or after the same call with the same result. */
  repairs: number;
  /** Changes made when it was last seen. */
  changes: number;
}

/** Over how many calls in a row the model's prose is summed up: one long explanation is no trouble, eight are. */
export const proseCalls = 8;

export function runSignalsOf(steps: readonly RunStep[]): RunSignals {
  if (steps.length === 0) return noSignals;
  const run = new Run();
  for (const step of steps) if (step.kind === "result") run.add(step);
  const prose = steps.flatMap((step) => (step.kind === "model" ? [step.prose] : []));
  return run.signals(mostProse(prose));
}

/** The most prose in so many calls in a row: a run that was in trouble once stays so until the next ask. */
function mostProse(lengths: readonly number[]): number {
  let most = 0;
  let sum = 0;
  for (const [index, length] of lengths.entries()) {
    sum += length - (lengths[index - proseCalls] ?? 0);
    most = Math.max(most, sum);
  }
  return most;
}

class Run {
  #changes = 0;
  #depth = 0;
  #deepest = 0;
  #testsFailed = 0;
  readonly #failures = new Map<string, Failure>();
  /** How much failed when a check was last made. */
  readonly #failing = new Map<string, number>();
  #unsolved: Failure | undefined;
  /** The failure that came back most often, solved since or not. */
  #worst: Failure | undefined;
  /** By the call: its last result, and how many changes had been made by then. */
  readonly #results = new Map<string, { readonly result: string; readonly changes: number }>();

  add({ observation: { call, hash, outcome, failures } }: ResultStep): void {
    const { changes, runs } = call;
    const before = this.#results.get(call.hash);
    const repeated = before?.result === hash;
    const passes = outcome === "succeeded" && runs && !changes;
    // A check that passes again is progress where something was changed since.
    const idle = repeated && !changes && (!passes || before?.changes === this.#changes);
    this.#results.set(call.hash, { result: hash, changes: this.#changes });
    if (runs) this.#testsFailed = failures ?? (outcome === "succeeded" ? 0 : this.#testsFailed);
    if (changes) this.#changes += 1;
    if (typeof outcome === "object") this.#fail(outcome, call.check, failures, repeated);
    else if (outcome === "malformed" || idle) this.#spend();
    else if (passes) this.#pass(call.check);
  }

  signals(prose: number): RunSignals {
    const worst = this.#worst;
    const evidence: string[] = [];
    if (worst !== undefined && worst.repairs > 0) {
      const error = `${worst.errorType}#${worst.signature.slice(0, 8)}`;
      evidence.push(`same_error=${error} ×${worst.repairs + 1} after ${worst.changes} edits`);
    }
    if (this.#deepest > 0) evidence.push(`calls_without_progress=${this.#deepest}`);
    return {
      toolDepth: this.#deepest,
      testsFailed: this.#testsFailed,
      errorSignature: this.#unsolved?.signature ?? null,
      sameErrorCount: worst?.repairs ?? 0,
      prose,
      evidence,
    };
  }

  #spend(): void {
    this.#depth += 1;
    this.#deepest = Math.max(this.#deepest, this.#depth);
  }

  #fail({ errorType, signature }: Failed, check: string, failures: number | undefined, repeated: boolean): void {
    this.#spend();
    const before = this.#failing.get(check);
    if (failures !== undefined) this.#failing.set(check, failures);
    // Fewer fail than before: the repair has helped.
    const helped = failures !== undefined && before !== undefined && failures < before;
    let failure = this.#failures.get(signature);
    if (failure === undefined) {
      failure = { errorType, signature, check, repairs: 0, changes: this.#changes };
      this.#failures.set(signature, failure);
    } else if (this.#changes > failure.changes || repeated) {
      if (!helped) failure.repairs += 1;
      failure.changes = this.#changes;
    }
    this.#unsolved = failure;
    if (this.#worst === undefined || failure.repairs > this.#worst.repairs) this.#worst = { ...failure };
  }

  /** A check that passes is progress, and solves what it failed with before. */
  #pass(check: string): void {
    this.#depth = 0;
    this.#failing.delete(check);
    for (const [signature, failure] of this.#failures) {
      if (failure.check !== check) continue;
      this.#failures.delete(signature);
      if (this.#unsolved === failure) this.#unsolved = undefined;
    }
  }
}

const noSignals = new Run().signals(0);
