import type { JsonObject } from "#domain/chat.ts";
import type { Model, ModelKey, ModelRegistry, Price } from "#domain/model.ts";
import { otherModel } from "#domain/model-names.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { Permit } from "#health/health.ts";
import { type GoalId, type ReserveReply, type Resolution, reservationIdOf, type Spend } from "#ledger/ledger.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import { type RetryAdvice, retryAdviceFor } from "#pipeline/retry-advice.ts";
import {
  type ClosedAttempt,
  closeAbandoned,
  closeFailed,
  closeUnsent,
  type OpenAttempt,
} from "#pipeline/settle/close-attempt.ts";
import { maxCredibleCost, maxCredibleCostElsewhere } from "#pipeline/settle/cost.ts";
import type { AbortSignalLike } from "#platform/abort.ts";
import type { AttemptRecord } from "#records/record.ts";
import type { UpstreamEvent, UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import { isPriceLimited } from "./call/price-limit.ts";
import { timeoutsOf } from "./call/timeouts.ts";
import { type Consequence, consequences } from "./consequences.ts";
import { backoffMs } from "./retry/backoff.ts";

/** What is to be executed: the models that may be tried, and how to make a call for each. */
export interface ExecutionPlan {
  readonly decisionId: string;
  readonly goal: GoalId;
  readonly stream: boolean;
  readonly purpose: AttemptRecord["purpose"];
  /** The models in the order in which they may be tried, by place from 0; undefined behind the last. */
  readonly candidate: (place: number) => Model | undefined;
  readonly bodyFor: (model: Model) => JsonObject;
  /** About how long such a body is. */
  readonly bodyBytes: number;
  readonly holdFor: (model: Model) => NanoUsd;
  /** The prices that the hold is made of. */
  readonly priceFor: (model: Model) => Price;
  /** The permit as it may speak about the model's health; absent where the request is our own. */
  readonly permitFor?: (permit: Permit, model: Model) => Permit;
  /** See `OpenAttempt.pricedByCost`. */
  readonly pricedByCost: boolean;
  /** Number of the first attempt; unique within the decision together with those that follow. */
  readonly firstAttempt: number;
  readonly maxAttempts: number;
  readonly configuration: Configuration;
  /** Monotonic milliseconds at which the request must be over. */
  readonly deadlineMs: number;
  /** What a call cancelled at once is billed at the least, where cancelling stops billing; undefined where it does not. */
  readonly abandonedCost: (model: Model) => NanoUsd | undefined;
}

export type Execution = { readonly attempts: readonly AttemptRecord[] } & (
  | {
      readonly kind: "answered";
      readonly attempt: OpenAttempt;
      readonly answer: JsonObject;
      /** The answer's text as it came. */
      readonly raw: string;
      readonly report: UsageReport;
      readonly firstTokenMs: number;
    }
  | {
      readonly kind: "streaming";
      readonly attempt: OpenAttempt;
      readonly events: AsyncIterable<readonly UpstreamEvent[]>;
      readonly firstTokenMs: number;
    }
  /** The books said no before anything was sent. */
  | {
      readonly kind: "refused";
      readonly model: Model;
      readonly reply: ReserveReply & { kind: "refused" };
      readonly wait: RetryAdvice;
    }
  | { readonly kind: "unavailable"; readonly reason: string }
  /** Every candidate is pausing or being probed. */
  | { readonly kind: "no_capacity" }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure; readonly model: ModelKey }
  | { readonly kind: "caller_gone" }
);

/** Whether bytes have already gone to the caller; set by whoever sends them. After that nothing is tried again. */
export interface Commitment {
  committed: boolean;
}

/**
 * The one retry loop: reserves, calls, and on failure repeats or moves down the chain, until an answer begins, nothing
 * more may be tried, or the caller leaves. A failed attempt is closed in the same ledger entry that opens the next one.
 */
export async function execute(
  plan: ExecutionPlan,
  ports: Ports,
  signal: AbortSignalLike,
  commitment: Commitment,
): Promise<Execution> {
  const { policy } = plan.configuration;
  const rules = policy.upstream;
  const { priceVersion } = plan.configuration.registry;
  const attempts: AttemptRecord[] = [];
  let closing: Resolution[] = [];
  let last: { failure: UpstreamFailure; model: ModelKey } | undefined;
  let candidate = 0;
  let triesOnModel = 0;
  let sent = 0;
  let freeRepeats = 1;
  let fresh = false;

  const close = (closed: ClosedAttempt): void => {
    attempts.push(closed.record);
    closing.push(closed.resolution);
  };
  /** Tells the books what is still untold, without making the caller wait for it. */
  const finish = (): void => {
    if (closing.length > 0) void ports.ledger.resolve(closing);
    closing = [];
  };

  const priceByName = priceByNameIn(plan.configuration.registry);
  while (sent < plan.maxAttempts) {
    const model = plan.candidate(candidate);
    if (model === undefined) break;
    const admitted = ports.health.admit(model.key);
    if (admitted === undefined) {
      candidate += 1;
      triesOnModel = 0;
      continue;
    }
    const permit = plan.permitFor?.(admitted, model) ?? admitted;
    const startedMs = ports.clock.monotonic();
    const hold = plan.holdFor(model);
    const attempt: OpenAttempt = {
      id: reservationIdOf(plan.decisionId, plan.firstAttempt + sent),
      model,
      purpose: plan.purpose,
      hold,
      maxCredibleCost: maxCredibleCost(hold, policy.budget.absurd_cost_factor),
      maxCredibleCostElsewhere: maxCredibleCostElsewhere(hold, policy.budget.absurd_cost_factor),
      price: plan.priceFor(model),
      priceByName,
      priceLimited: isPriceLimited(model, plan.configuration),
      permit,
      pricedByCost: plan.pricedByCost,
      startedMs,
      startedAtMs: ports.clock.now(),
    };
    const reply = await ports.ledger.reserve(
      {
        id: attempt.id,
        requestId: plan.decisionId,
        attempt: plan.firstAttempt + sent,
        goal: plan.goal,
        modelKey: model.key,
        amount: attempt.hold,
        ...(priceVersion === undefined ? {} : { priceVersion }),
        perGoalHard: plan.configuration.caps.goalHard,
        perDayHard: plan.configuration.caps.dayHard,
        deadlineMs: Math.max(0, Math.ceil(plan.deadlineMs - startedMs)),
      },
      closing,
    );
    if (reply.kind === "held") closing = [];
    if (reply.kind === "unavailable") {
      permit.report({ kind: "ignored" });
      finish();
      return { kind: "unavailable", reason: reply.reason, attempts };
    }
    if (reply.kind === "refused") {
      permit.report({ kind: "ignored" });
      // The books took what was to be closed all the same: a refusal is an answer to the reservation alone.
      closing = [];
      if (last === undefined) {
        const { goalHard, dayHard } = plan.configuration.caps;
        const fits = ({ goalAccount, dayAccount, goalHardOverride, dayHardOverride }: Spend) =>
          goalAccount.spent + goalAccount.held + attempt.hold <= (goalHardOverride ?? goalHard) &&
          dayAccount.spent + dayAccount.held + attempt.hold <= (dayHardOverride ?? dayHard);
        const wait = await retryAdviceFor(plan.goal, reply.spend, fits, ports.ledger);
        return { kind: "refused", model, reply, wait, attempts };
      }
      candidate += 1;
      triesOnModel = 0;
      continue;
    }
    if (signal.aborted) {
      close(closeUnsent(attempt, ports.clock.monotonic()));
      finish();
      return { kind: "caller_gone", attempts };
    }

    sent += 1;
    triesOnModel += 1;
    const answer = await ports.upstream.send(
      {
        model,
        body: plan.bodyFor(model),
        bodyBytes: plan.bodyBytes,
        stream: plan.stream,
        timeoutsMs: timeoutsOf(model, policy, plan.deadlineMs - ports.clock.monotonic()),
        requestId: plan.decisionId,
        ...(fresh ? { freshConnection: true } : {}),
      },
      signal,
    );
    fresh = false;
    if (answer.kind === "answer") {
      return {
        kind: "answered",
        attempt,
        answer: answer.answer,
        raw: answer.raw,
        report: answer.report,
        firstTokenMs: answer.firstByteMs,
        attempts,
      };
    }
    if (answer.kind === "stream") {
      // A long answer must not keep the next probe of a recovering model waiting.
      permit.answering();
      return { kind: "streaming", attempt, events: answer.events, firstTokenMs: answer.firstEventMs, attempts };
    }

    const failure = redactFailure(answer.failure, plan.configuration);
    const nowMs = ports.clock.monotonic();
    if (failure.kind === "aborted" || signal.aborted) {
      close(
        closeAbandoned(attempt, answer.report ?? {}, failure.dispatched ? plan.abandonedCost(model) : undefined, nowMs),
      );
      finish();
      return { kind: "caller_gone", attempts };
    }
    close(closeFailed(attempt, failure, answer.report ?? {}, nowMs));
    last = { failure, model: model.key };

    const next: Consequence["next"] = consequences[failure.kind].next;
    if (next === "give_up" || commitment.committed || sent >= plan.maxAttempts) break;
    if (failure.staleSocket === true && freeRepeats > 0) {
      // A kept-alive connection that had died unseen says nothing about the model; a fresh one is due.
      freeRepeats -= 1;
      triesOnModel -= 1;
      fresh = true;
      continue;
    }
    // What the aggregator turns down before it does any work is no load that retries would add to.
    if (failure.kind !== "constraint_filtered" && !ports.retryBudget.take()) break;
    const waitMs = repeatAfterMs(failure, sent, plan, ports);
    if (next === "retry" && waitMs !== undefined && triesOnModel < rules.max_attempts_per_model) {
      if (!(await pause(waitMs, ports, signal))) {
        finish();
        return { kind: "caller_gone", attempts };
      }
      if (commitment.committed) break;
      continue;
    }
    candidate += 1;
    triesOnModel = 0;
  }
  finish();
  return last === undefined ? { kind: "no_capacity", attempts } : { kind: "failed", ...last, attempts };
}

/** Made apart from where the plan is in reach, because a function keeps alive all it could reach. */
function priceByNameIn({ models }: ModelRegistry): OpenAttempt["priceByName"] {
  return (name) => {
    for (const { upstreamId, price } of models.values()) if (otherModel(upstreamId, name) === undefined) return price;
    return undefined;
  };
}

/** How long to wait before asking the same model again; undefined when it asked for a longer pause than we grant. */
function repeatAfterMs(failure: UpstreamFailure, sent: number, plan: ExecutionPlan, ports: Ports): number | undefined {
  const rules = plan.configuration.policy.upstream;
  if (failure.kind === "rate_limited" && failure.retryAfterMs === undefined) return undefined;
  const waitMs =
    failure.retryAfterMs ??
    backoffMs(sent - 1, { baseMs: rules.backoff_base_ms, maxMs: rules.backoff_max_ms }, ports.random);
  if (failure.retryAfterMs !== undefined && failure.retryAfterMs > rules.retry_after_max_ms) return undefined;
  return ports.clock.monotonic() + waitMs < plan.deadlineMs ? waitMs : undefined;
}

/** Waits; false when the caller left meanwhile. */
function pause(waitMs: number, ports: Ports, signal: AbortSignalLike): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const onAbort = () => {
      cancel();
      resolve(false);
    };
    const cancel = ports.timers.after(waitMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve(true);
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** An upstream may echo what it was sent: its words pass the privacy gate before anybody reads them. */
export function redactFailure(failure: UpstreamFailure, configuration: Configuration): UpstreamFailure {
  if (failure.message === "") return failure;
  const { privacy } = configuration;
  const { text } = privacy.redactText(failure.message);
  // The policy may have switched the gate off; a message that was cut holds the beginning of a key at most.
  const message = privacy.answerGuard === undefined ? text : privacy.answerGuard.text(text);
  return { ...failure, message: message.slice(0, 300) };
}
