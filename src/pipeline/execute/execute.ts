import type { Model, ModelKey } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import type { Permit } from "#health/health.ts";
import {
  type AccountSpend,
  type Reservation,
  type ReserveReply,
  type Resolution,
  reservationIdOf,
  type Spend,
} from "#ledger/ledger.ts";
import { holdOf, priceOf } from "#pipeline/decide/select/budget.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import { type RetryAdvice, retryAdviceFor } from "#pipeline/retry-advice.ts";
import {
  type ClosedAttempt,
  closeAbandoned,
  closeFailed,
  closeUnsent,
  type OpenAttempt,
} from "#pipeline/settle/attempt.ts";
import type { AbortSignalLike } from "#platform/abort.ts";
import type { UpstreamAnswer, UpstreamCall, UpstreamFailure, UpstreamReply } from "#upstream/upstream.ts";
import { isPriceLimited } from "./forwarded-body.ts";
import { nextStep } from "./next-step.ts";
import type { ExecutionPlan } from "./plan.ts";

export type Execution =
  /** The answer is whole, or has begun. */
  | { readonly kind: "answered"; readonly attempt: OpenAttempt; readonly reply: UpstreamAnswer }
  /** The ledger refused the hold before anything was sent. */
  | {
      readonly kind: "refused";
      readonly model: Model;
      readonly reply: ReserveReply & { kind: "refused" };
      readonly retryAdvice: RetryAdvice;
    }
  /** The ledger could not be reached. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** No candidate admits a call: each is pausing or being probed; or, where `isFull`, one has as many calls as it may. */
  | { readonly kind: "no_capacity"; readonly isFull: boolean }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure; readonly model: ModelKey }
  | { readonly kind: "caller_gone" };

/** How far an execution has come. */
interface Progress {
  /** Resolutions of failed attempts that the ledger has not received yet. */
  unrecorded: Resolution[];
  /** Index of the candidate to try. */
  candidate: number;
  /** The context of a model that the request was too long for: one with a smaller context is not tried. */
  leastContextTokens: number;
  sent: number;
  sentToModel: number;
  staleRepeated: boolean;
  freshConnection: boolean;
  /** The retry budget has allowed the call to the next model already. */
  hasLeave: boolean;
  /** A model had as many calls as it may. */
  isFull: boolean;
  /** Monotonic milliseconds until which the request may wait for such models; absent: it has not met one. */
  queueUntilMs?: number;
  lastFailure: { readonly failure: UpstreamFailure; readonly model: ModelKey } | undefined;
}

/**
 * The one retry loop: reserves, calls, and on failure retries or fails over, until an answer begins, nothing more may be
 * tried, or the caller disconnects. A failed attempt is closed in the same ledger entry that opens the next one.
 */
export async function execute(plan: ExecutionPlan, ports: Ports, signal: AbortSignalLike): Promise<Execution> {
  const progress: Progress = {
    unrecorded: [],
    candidate: 0,
    leastContextTokens: 0,
    sent: 0,
    sentToModel: 0,
    staleRepeated: false,
    freshConnection: false,
    hasLeave: false,
    isFull: false,
    lastFailure: undefined,
  };
  while (progress.sent < plan.maxAttempts) {
    const model = plan.candidate(progress.candidate);
    if (model === undefined) break;
    if (model.contextTokens < progress.leastContextTokens) {
      failOver(progress);
      continue;
    }
    const hasPlace = model.maxInFlight === undefined || (await enterQueue(model, progress, plan, ports, signal));
    const permit = hasPlace ? admit(model, ports) : undefined;
    if (permit === undefined) {
      if (signal.aborted) return callerGone(progress, ports);
      failOver(progress);
      continue;
    }
    const attempt = openAttempt(model, permit, progress, plan, ports);
    const held = await reserve(attempt, progress, plan, ports);
    if (held.kind === "unavailable") {
      attempt.permit.report({ kind: "ignored" });
      recordRemaining(progress, ports);
      return { kind: "unavailable", reason: held.reason };
    }
    // The ledger has recorded what was to be closed, also where it refuses the reservation.
    if (progress.unrecorded.length > 0) progress.unrecorded = [];
    if (held.kind === "refused") {
      attempt.permit.report({ kind: "ignored" });
      if (progress.lastFailure === undefined) return refusalOf(attempt, held, plan, ports);
      failOver(progress);
      continue;
    }
    if (signal.aborted) {
      close(closeUnsent(attempt, ports.clock.monotonic()), progress, plan);
      return callerGone(progress, ports);
    }

    attempt.day = held.day;
    attempt.dispatchedMs = ports.clock.monotonic();
    const reply = await send(attempt, attempt.dispatchedMs, progress, plan, ports, signal);
    if (reply.kind !== "failure") {
      if (reply.kind === "stream") {
        // A long answer must not delay the next probe of a recovering model.
        attempt.permit.answering();
        ports.firstEventTimes.add(model.key, reply.firstTokenMs);
      }
      return { kind: "answered", attempt, reply };
    }
    const then = await afterFailure(attempt, reply, progress, plan, ports, signal);
    if (then === "caller_gone") return callerGone(progress, ports);
    if (then === "give_up") break;
  }
  recordRemaining(progress, ports);
  const { lastFailure } = progress;
  if (lastFailure !== undefined) return { kind: "failed", ...lastFailure };
  return { kind: "no_capacity", isFull: progress.isFull };
}

/** Waits for one of the calls that a model may have at a time. All waits of a request together are one; nothing is held meanwhile. */
async function enterQueue(
  model: Model,
  progress: Progress,
  plan: ExecutionPlan,
  ports: Ports,
  signal: AbortSignalLike,
): Promise<boolean> {
  const nowMs = ports.clock.monotonic();
  recordRemaining(progress, ports);
  progress.queueUntilMs ??= Math.min(nowMs + plan.context.configuration.policy.upstream.queue_ms, plan.deadlineMs);
  const hasPlace = await ports.callsInFlight.enter(
    model,
    plan.context.request.caller,
    progress.queueUntilMs - nowMs,
    signal,
  );
  if (!hasPlace) progress.isFull = true;
  return hasPlace;
}

/** Health's permit for a call; the place of one that has one is given back with its report, or at once if there is no permit. */
function admit({ key, maxInFlight }: Model, { health, callsInFlight }: Ports): Permit | undefined {
  const permit = health.admit(key);
  if (maxInFlight === undefined) return permit;
  if (permit !== undefined) return callsInFlight.permitFor(permit);
  callsInFlight.leave(key);
  return undefined;
}

function openAttempt(
  model: Model,
  admitted: Permit,
  { sent }: Progress,
  plan: ExecutionPlan,
  { clock }: Ports,
): OpenAttempt {
  const { size, inputTokensBound } = plan;
  const { configuration, recorder } = plan.context;
  return {
    id: reservationIdOf(recorder.decisionId, plan.firstAttempt + sent),
    model,
    purpose: plan.purpose,
    hold: holdOf(model, size),
    price: priceOf(model, size),
    configuration,
    priceLimited: isPriceLimited(model, configuration) && !plan.hostsNarrowed,
    permit: plan.permitFor(admitted, model),
    pricedByCost: plan.pricedByCost,
    inputTokensBound,
    startedMs: clock.monotonic(),
    startedAtMs: clock.now(),
  };
}

/** Reserves the hold of an attempt and, in the same ledger entry, closes the attempts that failed before it. */
async function reserve(
  attempt: OpenAttempt,
  { sent, unrecorded }: Progress,
  plan: ExecutionPlan,
  ports: Ports,
): Promise<ReserveReply> {
  const { assessment, configuration, recorder, request } = plan.context;
  const { caps, registry } = configuration;
  const reservation: Writable<Reservation> = {
    id: attempt.id,
    requestId: recorder.decisionId,
    attempt: plan.firstAttempt + sent,
    goal: assessment.task.goal_id,
    modelKey: attempt.model.key,
    amount: attempt.hold,
    perGoalHard: caps.goalHard,
    perDayHard: caps.dayHard,
    deadlineMs: Math.max(0, Math.ceil(plan.deadlineMs - attempt.startedMs)),
  };
  if (registry.priceVersion !== undefined) reservation.priceVersion = registry.priceVersion;
  const { label = "", dayHard } = request.key ?? {};
  if (dayHard !== undefined) reservation.key = { label, dayHard };
  const reply = await ports.ledger.reserve(reservation, unrecorded);
  ports.onReserved?.(reservation, reply);
  return reply;
}

function send(
  attempt: OpenAttempt,
  dispatchedMs: number,
  progress: Progress,
  plan: ExecutionPlan,
  ports: Ports,
  signal: AbortSignalLike,
): Promise<UpstreamReply> {
  const { model } = attempt;
  const { freshConnection } = progress;
  progress.sent += 1;
  progress.sentToModel += 1;
  progress.freshConnection = false;
  const timeoutsMs = timeoutsOf(model, plan.context.configuration, plan.deadlineMs - dispatchedMs);
  return ports.upstream.send(
    {
      model,
      body: plan.bodyFor(model),
      received: plan.received,
      stream: plan.stream,
      timeoutsMs,
      slow: plan.stream ? leaveWhenSlow(attempt, progress, plan, ports) : undefined,
      requestId: plan.context.recorder.decisionId,
      trace: plan.context.request.trace,
      freshConnection,
    },
    signal,
  );
}

/** When a stream would rather be answered by the next model, if there is one and the retry budget allows it. */
function leaveWhenSlow(
  { model, permit }: OpenAttempt,
  progress: Progress,
  plan: ExecutionPlan,
  { firstEventTimes, retryBudget }: Ports,
): UpstreamCall["slow"] {
  // A probe is to find out whether the model answers at all.
  if (permit.probe) return undefined;
  const rules = plan.context.configuration.policy.upstream.slow_first_event;
  const afterMs = Math.ceil(firstEventTimes.limitMs(model, plan.size.inputTokensEstimate, rules));
  const leave = (): boolean => {
    const next = plan.candidate(progress.candidate + 1);
    const isNext =
      progress.sent < plan.maxAttempts && next !== undefined && next.contextTokens >= progress.leastContextTokens;
    if (!isNext || !retryBudget.take()) return false;
    progress.hasLeave = true;
    firstEventTimes.add(model.key, afterMs);
    return true;
  };
  return { afterMs, leave };
}

/** The timers of one attempt, in milliseconds: the model's own where it has them, and none beyond the request's end. */
function timeoutsOf(
  { timeoutsMs: own, reasoning }: Model,
  { policy }: Configuration,
  remainingMs: number,
): UpstreamCall["timeoutsMs"] {
  const rules = policy.upstream.timeouts_ms;
  const firstEvent = own.first_event ?? (reasoning ? rules.first_event_reasoning : rules.first_event);
  const left = Math.max(1, Math.floor(remainingMs));
  return {
    connect: Math.min(own.connect ?? rules.connect, left),
    headers: Math.min(own.headers ?? rules.headers, left),
    first_event: Math.min(firstEvent, left),
    idle: own.idle ?? rules.idle,
    idle_data: Math.max(own.idle ?? 0, rules.idle_data),
    total: Math.min(own.total ?? rules.total, left),
  };
}

/** Closes a failed attempt and prepares the next one, as `nextStep` decides; waits where a retry has to. */
async function afterFailure(
  attempt: OpenAttempt,
  reply: UpstreamReply & { kind: "failure" },
  progress: Progress,
  plan: ExecutionPlan,
  ports: Ports,
  signal: AbortSignalLike,
): Promise<"try_again" | "give_up" | "caller_gone"> {
  const { configuration } = plan.context;
  const { report = {} } = reply;
  const failure = redactFailure(reply.failure, configuration);
  const nowMs = ports.clock.monotonic();
  if (failure.kind === "aborted" || signal.aborted) {
    close(closeAbandoned(attempt, failure.dispatched ? 0 : undefined, { report, nowMs }), progress, plan);
    return "caller_gone";
  }
  close(closeFailed(attempt, failure, { report, nowMs }), progress, plan);
  progress.lastFailure = { failure, model: attempt.model.key };
  if (failure.kind === "context_length_exceeded") progress.leastContextTokens = attempt.model.contextTokens;

  const step = nextStep(failure, {
    sent: progress.sent,
    maxAttempts: plan.maxAttempts,
    sentToModel: progress.sentToModel,
    staleRepeated: progress.staleRepeated,
    remainingMs: plan.deadlineMs - nowMs,
    jitter: ports.random(),
    rules: configuration.policy.upstream,
  });
  if (step.kind === "give_up") return "give_up";
  if (step.kind === "repeat_fresh") {
    progress.staleRepeated = true;
    progress.sentToModel -= 1;
    progress.freshConnection = true;
    return "try_again";
  }
  if (step.budgeted && !progress.hasLeave && !ports.retryBudget.take()) return "give_up";
  progress.hasLeave = false;
  if (step.kind === "fail_over") {
    failOver(progress);
    return "try_again";
  }
  return (await pause(step.waitMs, ports, signal)) ? "try_again" : "caller_gone";
}

function failOver(progress: Progress): void {
  progress.candidate += 1;
  progress.sentToModel = 0;
}

function close(closed: ClosedAttempt, progress: Progress, { context }: ExecutionPlan): void {
  context.recorder.attempts.push(closed.record);
  progress.unrecorded.push(closed.resolution);
}

/** Sends the remaining resolutions to the ledger; the caller does not wait for it. */
function recordRemaining(progress: Progress, ports: Ports): void {
  if (progress.unrecorded.length > 0) ports.ledger.resolveInBackground(progress.unrecorded);
  progress.unrecorded = [];
}

function callerGone(progress: Progress, ports: Ports): Execution {
  recordRemaining(progress, ports);
  return { kind: "caller_gone" };
}

/** The ledger refused the first hold: nothing was sent. */
async function refusalOf(
  { hold, model }: OpenAttempt,
  reply: ReserveReply & { kind: "refused" },
  plan: ExecutionPlan,
  ports: Ports,
): Promise<Execution> {
  const { assessment, configuration, request } = plan.context;
  const { key } = request;
  const { goalHard, dayHard } = configuration.caps;
  const room = (account: AccountSpend | undefined, cap: NanoUsd | undefined) =>
    account === undefined || cap === undefined || account.spent + account.held + hold <= cap;
  const fits = ({ goalAccount, dayAccount, keyAccount, goalHardOverride, dayHardOverride }: Spend) =>
    room(goalAccount, goalHardOverride ?? goalHard) &&
    room(dayAccount, dayHardOverride ?? dayHard) &&
    room(keyAccount, key?.dayHard);
  const goal = assessment.task.goal_id;
  const retryAdvice = await retryAdviceFor({ goal, key }, reply.spend, fits, ports.ledger);
  return { kind: "refused", model, reply, retryAdvice };
}

/** Waits; false when the caller disconnected meanwhile. */
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

/** Longest message of an upstream failure that is kept, in characters. */
const maxMessageLength = 300;

/** The failure with its message redacted: an upstream may echo the request. */
export function redactFailure(failure: UpstreamFailure, { privacy }: Configuration): UpstreamFailure {
  if (failure.message === "") return failure;
  const { text } = privacy.redactText(failure.message);
  // The policy may have switched redaction off; a message that was cut holds the beginning of the gateway's key at most.
  const message = privacy.answerGuard === undefined ? text : privacy.answerGuard.text(text);
  return { ...failure, message: message.slice(0, maxMessageLength) };
}
