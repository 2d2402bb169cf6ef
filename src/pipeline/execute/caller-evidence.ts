import type { ModelKey } from "#domain/model.ts";
import type { Permit, Verdict } from "#health/health.ts";
import type { Clock } from "#platform/time.ts";
import { FilteredPermit } from "./caller-faults.ts";

/** For this long an answer to another caller shows that a model works. Without other callers, one caller's failures count. */
const successTrustMs = 600_000;
/** For this long another caller's failure shows that the failures are not caused by the caller. */
const failureTrustMs = 60_000;

/** Compares verdicts of one caller with those of others, as far as this process has seen them: four verdicts for each model. */
export class CallerEvidence {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #models = new Map<ModelKey, { readonly successes: NewestOfTwo; readonly failures: NewestOfTwo }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** A permit that leaves out failures of one caller alone, on a model that works for others. */
  permitFor(permit: Permit, caller: number): Permit {
    return new FilteredPermit(permit, (verdict) => this.#compare(permit.model, caller, verdict));
  }

  #compare(model: ModelKey, caller: number, verdict: Verdict): Verdict {
    const isSuccess = verdict.kind === "success";
    if (!isSuccess && !mayDependOnRequest(verdict)) return verdict;
    let seen = this.#models.get(model);
    if (seen === undefined) {
      seen = { successes: new NewestOfTwo(), failures: new NewestOfTwo() };
      this.#models.set(model, seen);
    }
    const now = this.#clock.monotonic();
    (isSuccess ? seen.successes : seen.failures).add(caller, now);
    const worksForOthers = now - seen.successes.newestOfOthers(caller) <= successTrustMs;
    const failsForOthers = now - seen.failures.newestOfOthers(caller) <= failureTrustMs;
    return isSuccess || !worksForOthers || failsForOthers ? verdict : { kind: "ignored" };
  }
}

/** The newest time of an event, and the newest time of the same event with another caller. */
class NewestOfTwo {
  #caller: number | undefined;
  #atMs = Number.NEGATIVE_INFINITY;
  #otherAtMs = Number.NEGATIVE_INFINITY;

  add(caller: number, atMs: number): void {
    if (caller !== this.#caller) this.#otherAtMs = this.#atMs;
    this.#caller = caller;
    this.#atMs = atMs;
  }

  newestOfOthers(caller: number): number {
    return caller === this.#caller ? this.#otherAtMs : this.#atMs;
  }
}

/** Whether the request itself may have caused the verdict, such as by a tool's schema that no host can compile. */
function mayDependOnRequest({ kind }: Verdict): boolean {
  return kind === "failure" || kind === "garbage" || kind === "price_breach";
}
