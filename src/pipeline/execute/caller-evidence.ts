import type { ModelKey } from "#domain/model.ts";
import type { Permit, Verdict } from "#health/health.ts";
import type { Clock } from "#platform/time.ts";
import { FilteredPermit } from "./filtered-permit.ts";

/** Compares verdicts of one caller with those of others. */
export interface CallerEvidence {
  /** A permit that leaves out failures of one caller alone, on a model that works for others. */
  permitFor(permit: Permit, caller: number): Permit;
}

/** So long an answer to somebody else shows that a model works. Where nobody else asks, one caller's failures are all there is. */
const successTrustMs = 600_000;
/** So long a failure of somebody else shows that it is not the caller. */
const failureTrustMs = 60_000;

/** What this process has seen of its callers: four verdicts for each model. */
export function callerEvidence(clock: Pick<Clock, "monotonic">): CallerEvidence {
  const models = new Map<ModelKey, { readonly successes: NewestOfTwo; readonly failures: NewestOfTwo }>();
  const compare = (model: ModelKey, caller: number, verdict: Verdict): Verdict => {
    const isSuccess = verdict.kind === "success";
    if (!isSuccess && !maySpeakOfCaller(verdict)) return verdict;
    let seen = models.get(model);
    if (seen === undefined) {
      seen = { successes: new NewestOfTwo(), failures: new NewestOfTwo() };
      models.set(model, seen);
    }
    const now = clock.monotonic();
    (isSuccess ? seen.successes : seen.failures).add(caller, now);
    const worksForOthers = now - seen.successes.newestBut(caller) <= successTrustMs;
    const failsForOthers = now - seen.failures.newestBut(caller) <= failureTrustMs;
    return isSuccess || !worksForOthers || failsForOthers ? verdict : ignored;
  };
  return {
    permitFor: (permit, caller) => new FilteredPermit(permit, (verdict) => compare(permit.model, caller, verdict)),
  };
}

/** When something happened to the caller to whom it happened last, and to the last caller other than that one. */
class NewestOfTwo {
  #caller: number | undefined;
  #atMs = Number.NEGATIVE_INFINITY;
  #otherAtMs = Number.NEGATIVE_INFINITY;

  add(caller: number, atMs: number): void {
    if (caller !== this.#caller) this.#otherAtMs = this.#atMs;
    this.#caller = caller;
    this.#atMs = atMs;
  }

  newestBut(caller: number): number {
    return caller === this.#caller ? this.#otherAtMs : this.#atMs;
  }
}

const ignored: Verdict = { kind: "ignored" };

/** Verdicts that a request may bring about by what it holds: a tool's schema that no host can compile, a prompt that ends in nothing. */
function maySpeakOfCaller({ kind }: Verdict): boolean {
  return kind === "failure" || kind === "garbage" || kind === "price_breach";
}
