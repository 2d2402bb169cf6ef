import { addFiles, filesTouched } from "./calls/files-touched.ts";
import type { NamedObservation, Observation } from "./observation.ts";
import type { RunSteps } from "./run-steps.ts";

/**
 * The signs of trouble in an agent's run since the ask. The counts mean trouble, not length: a long run that makes progress has low
 * ones. They only ever grow within a run, so that what a rule saw once it sees in every later call of the run as well.
 */
export interface RunSignals {
  /** Calls spent without progress; see `unproductive`. */
  readonly toolDepth: number;
  /** Distinct files that edit-like calls named. */
  readonly filesTouched: number;
  /** As the newest test summary says; 0 when there is none. */
  readonly testsFailed: number;
  /** Hash of the error that stands unsolved; null when there is none. */
  readonly errorSignature: string | null;
  /** Failed repairs of one error: how often it came back after something had been changed. */
  readonly sameErrorCount: number;
  /** What was seen, as `key=value`: types and hashes of errors, never their text. */
  readonly evidence: readonly string[];
}

/** Of a request that is no part of a run. */
const noSignals: RunSignals = {
  toolDepth: 0,
  filesTouched: 0,
  testsFailed: 0,
  errorSignature: null,
  sameErrorCount: 0,
  evidence: [],
};

/** Calls that a step without progress counts for; a run is stuck when they add up to `hard_rules.tool_depth`. */
const unproductive = {
  /** The call, and the work before it that did not help. */
  failed: 2,
  /** A change that is taken back: the edits and checks on the way to it were for nothing. */
  reverted: 4,
  /** The same call with the same result. */
  repeated: 1,
  /** A call that the harness could not read. */
  malformed: 1,
  /** What a check that passes takes off. */
  progress: 3,
} as const;

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

export function runSignalsOf({ calls, results }: RunSteps): RunSignals {
  if (calls.length === 0 && results.length === 0) return noSignals;
  const run = new Run();
  run.addSteps({ calls, results });
  return run.signals();
}

/** What a call gave when it was last made, by its name, and how many changes had been made by then. */
interface Output {
  readonly result: number;
  readonly changes: number;
}

class Run {
  /** How many steps have been added. */
  #calls = 0;
  #results = 0;
  readonly #files = new Set<number>();
  #changes = 0;
  #depth = 0;
  #deepest = 0;
  #testsFailed = 0;
  /** By the hash of the check that failed and its error. */
  readonly #failures = new Map<string, Failure>();
  /** How much failed when a check was last made, by its hash. */
  readonly #failing = new Map<string, number>();
  #unsolved: Failure | undefined;
  /** The failure that came back most often, solved since or not. */
  #worst: { errorType: string; signature: string; repairs: number; changes: number } | undefined;
  readonly #outputs = new Map<number, Output>();

  addSteps({ calls, results }: RunSteps): void {
    addFiles(this.#files, calls, this.#calls);
    this.#calls = calls.length;
    for (; this.#results < results.length; this.#results++) {
      const result = results[this.#results];
      if (result !== undefined) this.#add(result);
    }
  }

  #add(named: NamedObservation): void {
    const { observation } = named;
    this.#testsFailed = observation.failedTests ?? this.#testsFailed;
    const repeated = this.#isRepeated(named);
    switch (observation.kind) {
      case "malformed":
        this.#spend(unproductive.malformed);
        return;
      case "read":
        if (repeated !== false) this.#spend(unproductive.repeated);
        return;
      case "failed":
        if (observation.changes) this.#changes += 1;
        this.#fail(observation, repeated !== false);
        return;
      case "succeeded":
        if (observation.changes) this.#changes += 1;
        if (observation.reverts) this.#spend(unproductive.reverted);
        else if (observation.changes || !observation.runs) return;
        else if (repeated === "unchanged") this.#spend(unproductive.repeated);
        else this.#pass(observation);
        return;
    }
  }

  signals(): RunSignals {
    const worst = this.#worst;
    const evidence: string[] = [];
    if (worst !== undefined && worst.repairs > 0) {
      evidence.push(
        `same_error=${worst.errorType}#${worst.signature.slice(0, 8)} ×${worst.repairs + 1} after ${worst.changes} edits`,
      );
    }
    if (this.#deepest > 0) evidence.push(`calls_without_progress=${this.#deepest}`);
    return {
      toolDepth: this.#deepest,
      filesTouched: filesTouched(this.#files),
      testsFailed: this.#testsFailed,
      errorSignature: this.#unsolved?.signature ?? null,
      sameErrorCount: worst?.repairs ?? 0,
      evidence,
    };
  }

  #spend(calls: number): void {
    this.#depth += calls;
    if (this.#depth > this.#deepest) this.#deepest = this.#depth;
  }

  /** Whether the same call has given the same result before; `unchanged`: and nothing was changed since. */
  #isRepeated({ call, result }: NamedObservation): "unchanged" | "changed" | false {
    if (call === undefined) return false;
    const before = this.#outputs.get(call);
    this.#outputs.set(call, { result, changes: this.#changes });
    if (before?.result !== result) return false;
    return before.changes === this.#changes ? "unchanged" : "changed";
  }

  #fail({ errorType, check, signatures, failures }: Observation, repeated: boolean): void {
    const before = this.#failing.get(check);
    if (failures !== undefined) this.#failing.set(check, failures);
    // Fewer fail than before: the repair has helped.
    const helped = failures !== undefined && before !== undefined && failures < before;
    if (!helped) this.#spend(unproductive.failed);
    for (const signature of signatures) {
      let failure = this.#failures.get(signature);
      if (failure === undefined) {
        failure = { errorType, signature, check, repairs: 0, changes: this.#changes };
        this.#failures.set(signature, failure);
      } else if (this.#changes > failure.changes || repeated) {
        if (!helped) failure.repairs += 1;
        failure.changes = this.#changes;
      }
      this.#unsolved = failure;
      if (this.#worst === undefined || failure.repairs > this.#worst.repairs) {
        this.#worst = { ...failure, changes: this.#changes };
      }
    }
  }

  /** A check that passes is progress, and solves what it failed with before. */
  #pass({ check }: Observation): void {
    this.#depth = Math.max(0, this.#depth - unproductive.progress);
    this.#failing.delete(check);
    for (const [signature, failure] of this.#failures) {
      if (failure.check !== check) continue;
      this.#failures.delete(signature);
      if (this.#unsolved === failure) this.#unsolved = undefined;
    }
  }
}
