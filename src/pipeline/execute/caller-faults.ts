import type { Json, JsonObject } from "#domain/chat.ts";
import type { Model, ModelKey } from "#domain/model.ts";
import type { Permit, Verdict } from "#health/health.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { Clock } from "#platform/time.ts";

/**
 * What one request may say about a model's health. A model that is taken out is out for everybody, for half an hour or more in
 * the worst case: what a caller can bring about by the request itself is no evidence against the model.
 */

/** Fields that no answer becomes empty, unreadable or expensive by, whatever they hold. */
const ordinaryFields: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "metadata",
  "user",
  "seed",
  "store",
  "reasoning",
  "reasoning_effort",
  "verbosity",
  "usage",
  "prompt_cache_key",
  "safety_identifier",
]);

/** Fields that are ordinary within these bounds: a token or two of output, or noise for a sampler, empties any answer. */
const ordinaryNumbers: { readonly [field: string]: readonly [least: number, most: number] } = {
  max_tokens: [256, Number.MAX_SAFE_INTEGER],
  max_completion_tokens: [256, Number.MAX_SAFE_INTEGER],
  temperature: [0, 1.5],
  top_p: [0.1, 1],
  n: [1, 1],
};

/**
 * Whether the request is of the usual kind, so that an answer that is empty or unreadable is the model's doing. `bounded`: also its
 * numbers are; without that, none of its fields makes an answer cost more than its hold.
 */
function isOrdinary(body: JsonObject & { readonly messages: readonly JsonObject[] }, bounded = true): boolean {
  for (const field in body) {
    const value: Json | undefined = body[field];
    if (value === null || value === undefined || ordinaryFields.has(field)) continue;
    const bounds = ordinaryNumbers[field];
    if (bounds === undefined) return false;
    if (bounded && (typeof value !== "number" || value < bounds[0] || value > bounds[1])) return false;
  }
  // A model that is to go on with an answer of its own often has nothing to add.
  return body.messages.at(-1)?.["role"] !== "assistant";
}

/** Share of the context window from which the caller's prompt, and not the model, is taken to be why it took too long. */
const fullContextShare = 0.9;

/**
 * A permit whose verdicts leave out what the request itself may have caused; the same permit where there is nothing to leave
 * out. It holds no part of the request.
 */
export function ignoreCallerFaults(
  permit: Permit,
  model: Model,
  request: { readonly body: JsonObject & { messages: JsonObject[] }; readonly size: RequestSize },
): Permit {
  const ordinary = isOrdinary(request.body);
  const fillsContext = request.size.inputTokensEstimate >= fullContextShare * model.contextTokens;
  if (ordinary && !fillsContext) return permit;
  return filteredPermit(permit, withoutCallerFaults(ordinary, isOrdinary(request.body, false), fillsContext));
}

/** Beside `ignoreCallerFaults`, so that the function it returns cannot keep the request. */
function withoutCallerFaults(
  ordinary: boolean,
  usuallyPriced: boolean,
  fillsContext: boolean,
): (verdict: Verdict) => Verdict {
  const byCaller = (verdict: Verdict): boolean => {
    if (verdict.kind === "garbage") return !ordinary;
    if (verdict.kind === "price_breach") return !usuallyPriced;
    return fillsContext && verdict.kind === "failure" && verdict.reason.startsWith("timed_out");
  };
  return (verdict) => (byCaller(verdict) ? { kind: "ignored" } : verdict);
}

/** A permit that reports what `filter` makes of each verdict. It lives as long as its stream, and so does what `filter` holds. */
export function filteredPermit(permit: Permit, filter: (verdict: Verdict) => Verdict): Permit {
  const { model, probe } = permit;
  return { model, probe, answering: () => permit.answering(), report: (verdict) => permit.report(filter(verdict)) };
}

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
    return filteredPermit(permit, (verdict) => this.#compare(permit.model, caller, verdict));
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
