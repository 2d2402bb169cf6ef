import type { ChatRequest } from "#domain/chat.ts";
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
import { holdOf } from "#pipeline/decide/select/budget.ts";
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

/**
 * The one retry loop: reserves, calls, and on failure retries or fails over, until an answer begins, nothing more may
 * be tried, or the caller disconnects. A failed attempt is closed in the same ledger entry that opens the next one.
 */
export function execute(plan: ExecutionPlan, ports: Ports, signal: AbortSignalLike): Promise<Execution> {
  return new ExecutionRun(plan, ports, signal).run();
}

/** One execution, and how far it has come. */
class ExecutionRun {
  readonly #plan: ExecutionPlan;
  readonly #ports: Ports;
  readonly #signal: AbortSignalLike;
  /** The request that is answered; undefined for the scout's question. */
  readonly #request: ChatRequest | undefined;
  /** Resolutions of failed attempts that the ledger has not received yet. */
  #unrecorded: Resolution[] = [];
  /** Index of the candidate to try. */
  #candidate = 0;
  /** The context of a model that the request was too long for: one with a smaller context is not tried. */
  #leastContextTokens = 0;
  #sent = 0;
  #sentToModel = 0;
  #staleRepeated = false;
  #freshConnection = false;
  /** The retry budget has allowed the call to the next model already. */
  #hasRetryToken = false;
  /** A model had as many calls as it may. */
  #isFull = false;
  /** Monotonic milliseconds until which the request may wait for such models; undefined: it has not met one. */
  #queueUntilMs: number | undefined;
  #lastFailure: { readonly failure: UpstreamFailure; readonly model: ModelKey } | undefined;

  constructor(plan: ExecutionPlan, ports: Ports, signal: AbortSignalLike) {
    this.#plan = plan;
    this.#ports = ports;
    this.#signal = signal;
    this.#request = plan.purpose === "EXECUTE" ? plan.context.request : undefined;
  }

  async run(): Promise<Execution> {
    const { clock, firstEventTimes } = this.#ports;
    while (this.#sent < this.#plan.maxAttempts) {
      const model = this.#plan.candidate(this.#candidate);
      if (model === undefined) break;
      if (model.contextTokens < this.#leastContextTokens) {
        this.#failOver();
        continue;
      }
      const hasPlace = model.maxInFlight === undefined || (await this.#enterQueue(model));
      const permit = hasPlace ? this.#admit(model) : undefined;
      if (permit === undefined) {
        if (this.#signal.aborted) return this.#callerGone();
        this.#failOver();
        continue;
      }
      const attempt = this.#openAttempt(model, permit);
      const held = await this.#reserve(attempt);
      if (held.kind === "unavailable") {
        attempt.permit.report({ kind: "ignored" });
        this.#recordRemaining();
        return { kind: "unavailable", reason: held.reason };
      }
      // The ledger has recorded what was to be closed, also where it refuses the reservation.
      if (this.#unrecorded.length > 0) this.#unrecorded = [];
      if (held.kind === "refused") {
        attempt.permit.report({ kind: "ignored" });
        if (this.#lastFailure === undefined) return this.#refused(attempt, held);
        this.#failOver();
        continue;
      }
      attempt.day = held.day;
      attempt.dispatchedMs = clock.monotonic();
      const reply = await this.#send(attempt, attempt.dispatchedMs);
      if (reply.kind !== "failure") {
        if (reply.kind === "stream") {
          // A long answer must not delay the next probe of a recovering model.
          attempt.permit.answering();
          firstEventTimes.add(model.key, reply.firstTokenMs);
        }
        return { kind: "answered", attempt, reply };
      }
      const then = await this.#afterFailure(attempt, reply);
      if (then === "caller_gone") return this.#callerGone();
      if (then === "give_up") break;
    }
    this.#recordRemaining();
    if (this.#lastFailure !== undefined) return { kind: "failed", ...this.#lastFailure };
    return { kind: "no_capacity", isFull: this.#isFull };
  }

  /** Waits for one of the calls that a model may have at a time. All waits of a request together are one; nothing is held meanwhile. */
  async #enterQueue(model: Model): Promise<boolean> {
    const { context, deadlineMs } = this.#plan;
    const nowMs = this.#ports.clock.monotonic();
    this.#recordRemaining();
    this.#queueUntilMs ??= Math.min(nowMs + context.configuration.policy.upstream.queue_ms, deadlineMs);
    const waitMs = this.#queueUntilMs - nowMs;
    const hasPlace = await this.#ports.callsInFlight.acquire(model, context.request.caller, waitMs, this.#signal);
    if (!hasPlace) this.#isFull = true;
    return hasPlace;
  }

  /** Health's permit for a call; the place of one that has one is given back with its report, or at once if there is no permit. */
  #admit({ key, maxInFlight }: Model): Permit | undefined {
    const { health, callsInFlight } = this.#ports;
    const permit = health.admit(key, this.#plan.source);
    if (maxInFlight === undefined) return permit;
    if (permit !== undefined) return callsInFlight.permitFor(permit);
    callsInFlight.release(key);
    return undefined;
  }

  #openAttempt(model: Model, permit: Permit): OpenAttempt {
    const { clock } = this.#ports;
    const plan = this.#plan;
    const { configuration, recorder } = plan.context;
    return {
      id: reservationIdOf(recorder.decisionId, plan.firstAttempt + this.#sent),
      model,
      purpose: plan.purpose,
      hold: holdOf(model, plan.size),
      size: plan.size,
      stream: this.#request?.stream === true,
      configuration,
      // The caller's own `provider` narrows the choice of hosts: that none is left says nothing about our prices then.
      priceLimited: isPriceLimited(model, configuration) && this.#request?.body["provider"] == null,
      permit,
      startedMs: clock.monotonic(),
      startedAtMs: clock.now(),
    };
  }

  /** Reserves the hold of an attempt and, in the same ledger entry, closes the attempts that failed before it. */
  async #reserve(attempt: OpenAttempt): Promise<ReserveReply> {
    const { context, deadlineMs } = this.#plan;
    const { assessment, configuration, request } = context;
    const { caps, registry } = configuration;
    const reservation: Writable<Reservation> = {
      id: attempt.id,
      goal: assessment.task.goal_id,
      modelKey: attempt.model.key,
      amount: attempt.hold,
      perGoalHard: caps.goalHard,
      perDayHard: caps.dayHard,
      deadlineMs: Math.max(0, Math.ceil(deadlineMs - attempt.startedMs)),
    };
    if (registry.priceVersion !== undefined) reservation.priceVersion = registry.priceVersion;
    const { label = "", dayHard } = request.key ?? {};
    if (dayHard !== undefined) reservation.key = { label, dayHard };
    const reply = await this.#ports.ledger.reserve(reservation, this.#unrecorded);
    this.#ports.onReserved?.(reservation, reply);
    return reply;
  }

  #send(attempt: OpenAttempt, dispatchedMs: number): Promise<UpstreamReply> {
    const { model } = attempt;
    const { context, deadlineMs } = this.#plan;
    const { stream = false, received } = this.#request ?? {};
    const freshConnection = this.#freshConnection;
    this.#sent += 1;
    this.#sentToModel += 1;
    this.#freshConnection = false;
    const call: UpstreamCall = {
      model,
      body: this.#plan.bodyFor(model),
      received,
      stream,
      timeoutsMs: timeoutsOf(model, context.configuration, deadlineMs - dispatchedMs),
      slow: stream ? this.#abandonWhenSlow(attempt) : undefined,
      requestId: context.recorder.decisionId,
      trace: context.request.trace,
      freshConnection,
    };
    return this.#ports.upstream.send(call, this.#signal);
  }

  /** When a stream would rather be answered by the next model, if there is one and the retry budget allows it. */
  #abandonWhenSlow({ model, permit }: OpenAttempt): UpstreamCall["slow"] {
    // A probe is to find out whether the model answers at all.
    if (permit.probe) return undefined;
    const { firstEventTimes, retryBudget } = this.#ports;
    const afterMs = Math.ceil(firstEventTimes.limitMs(model, this.#plan.size.inputTokensEstimate));
    const abandon = (): boolean => {
      if (this.#sent >= this.#plan.maxAttempts) return false;
      const next = this.#plan.candidate(this.#candidate + 1);
      if (next === undefined || next.contextTokens < this.#leastContextTokens || !retryBudget.take()) return false;
      this.#hasRetryToken = true;
      firstEventTimes.add(model.key, afterMs);
      return true;
    };
    return { afterMs, abandon };
  }

  /** Closes a failed attempt and prepares the next one, as `nextStep` decides; waits where a retry has to. */
  async #afterFailure(
    attempt: OpenAttempt,
    reply: UpstreamReply & { kind: "failure" },
  ): Promise<"try_again" | "give_up" | "caller_gone"> {
    const { clock, random, retryBudget } = this.#ports;
    const { configuration } = this.#plan.context;
    const failure = redactFailure(reply.failure, configuration);
    const nowMs = clock.monotonic();
    const end = { report: reply.report ?? {}, nowMs };
    if (failure.kind === "aborted" || this.#signal.aborted) {
      this.#close(
        failure.dispatched ? closeAbandoned(attempt, failure.begun ? undefined : 0, end) : closeUnsent(attempt, nowMs),
      );
      return "caller_gone";
    }
    this.#close(closeFailed(attempt, failure, end));
    this.#lastFailure = { failure, model: attempt.model.key };
    if (failure.kind === "context_length_exceeded") this.#leastContextTokens = attempt.model.contextTokens;

    const step = nextStep(failure, {
      sent: this.#sent,
      maxAttempts: this.#plan.maxAttempts,
      sentToModel: this.#sentToModel,
      staleRepeated: this.#staleRepeated,
      remainingMs: this.#plan.deadlineMs - nowMs,
      jitter: random(),
      backoffBaseMs: configuration.policy.upstream.backoff_base_ms,
    });
    if (step.kind === "give_up") return "give_up";
    if (step.kind === "repeat_fresh") {
      this.#staleRepeated = true;
      this.#sentToModel -= 1;
      this.#freshConnection = true;
      return "try_again";
    }
    if (step.budgeted && !this.#hasRetryToken && !retryBudget.take()) return "give_up";
    this.#hasRetryToken = false;
    if (step.kind === "retry") return (await this.#pause(step.waitMs)) ? "try_again" : "caller_gone";
    this.#failOver();
    return "try_again";
  }

  #failOver(): void {
    this.#candidate += 1;
    this.#sentToModel = 0;
  }

  #close(closed: ClosedAttempt): void {
    this.#plan.context.recorder.attempts.push(closed.record);
    this.#unrecorded.push(closed.resolution);
  }

  /** Sends the remaining resolutions to the ledger; the caller does not wait for it. */
  #recordRemaining(): void {
    if (this.#unrecorded.length > 0) this.#ports.ledger.resolveInBackground(this.#unrecorded);
    this.#unrecorded = [];
  }

  #callerGone(): Execution {
    this.#recordRemaining();
    return { kind: "caller_gone" };
  }

  /** The ledger refused the first hold: nothing was sent. */
  async #refused({ hold, model }: OpenAttempt, reply: ReserveReply & { kind: "refused" }): Promise<Execution> {
    const { assessment, configuration, request } = this.#plan.context;
    const { key } = request;
    const { goalHard, dayHard } = configuration.caps;
    const room = (account: AccountSpend | undefined, cap: NanoUsd | undefined) =>
      account === undefined || cap === undefined || account.spent + account.held + hold <= cap;
    const fits = ({ goalAccount, dayAccount, keyAccount, goalHardOverride, dayHardOverride }: Spend) =>
      room(goalAccount, goalHardOverride ?? goalHard) &&
      room(dayAccount, dayHardOverride ?? dayHard) &&
      room(keyAccount, key?.dayHard);
    const goal = assessment.task.goal_id;
    const retryAdvice = await retryAdviceFor({ goal, key }, reply.spend, fits, this.#ports.ledger);
    return { kind: "refused", model, reply, retryAdvice };
  }

  /** Waits; false when the caller disconnected meanwhile. */
  #pause(waitMs: number): Promise<boolean> {
    const signal = this.#signal;
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const onAbort = () => {
        cancel();
        resolve(false);
      };
      const cancel = this.#ports.timers.after(waitMs, () => {
        signal.removeEventListener("abort", onAbort);
        resolve(true);
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** Models marked `reasoning` may think so many times longer before their first event. */
const reasoningFactor = 3;
/** Comments alone keep a stream open so many times longer than `idle`: a host that still works on an answer sends them. */
const commentsFactor = 4;

/** The timers of one attempt, in milliseconds: the model's own where it has them, and none beyond the request's end. */
function timeoutsOf(
  { timeoutsMs: own, reasoning }: Model,
  { policy }: Configuration,
  remainingMs: number,
): UpstreamCall["timeoutsMs"] {
  const rules = policy.upstream.timeouts_ms;
  const firstEvent = own.first_event ?? rules.first_event * (reasoning ? reasoningFactor : 1);
  const left = Math.max(1, Math.floor(remainingMs));
  return {
    connect: Math.min(own.connect ?? rules.connect, left),
    headers: Math.min(own.headers ?? rules.headers, left),
    first_event: Math.min(firstEvent, left),
    idle: own.idle ?? rules.idle,
    idle_data: Math.max(own.idle ?? 0, rules.idle * commentsFactor),
    total: Math.min(own.total ?? rules.total, left),
  };
}

/** Longest message of an upstream failure that is kept, in characters. */
const maxMessageLength = 300;

/** The failure with its message redacted: an upstream may echo the request. */
export function redactFailure(failure: UpstreamFailure, configuration: Configuration): UpstreamFailure {
  if (failure.message === "") return failure;
  const { text } = configuration.privacy.redactText(failure.message);
  // The policy may have switched redaction off.
  return { ...failure, message: withoutKey(text, configuration).slice(0, maxMessageLength) };
}

/** What an upstream says, without the gateway's own key. */
export function withoutKey(text: string, { privacy: { keyFilter } }: Configuration): string {
  return keyFilter?.isIn(text) === true ? keyFilter.text(text) : text;
}
