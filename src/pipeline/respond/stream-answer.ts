import type { JsonObject } from "#domain/chat.ts";
import type { Model, Price } from "#domain/model.ts";
import { otherModel } from "#domain/model-names.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import { holdFor } from "#domain/money/tokens.ts";
import { taskKeyOf } from "#pipeline/assess/task/task-memory.ts";
import { addHardCapEvidence, holdOf, outputBoundOf, priceOf } from "#pipeline/decide/select/budget.ts";
import { fallbacksFor } from "#pipeline/decide/select/select-model.ts";
import { type RoutedDecision, retryAfterFailure, retryAfterOf } from "#pipeline/decide-with-spend.ts";
import { forwardedBody } from "#pipeline/execute/call/forwarded-body.ts";
import { priceLimitOf } from "#pipeline/execute/call/price-limit.ts";
import { ignoreCallerFaults } from "#pipeline/execute/caller-faults.ts";
import { type Execution, type ExecutionPlan, execute, redactFailure } from "#pipeline/execute/execute.ts";
import { mayShed } from "#pipeline/execute/may-shed.ts";
import type { RequestContext } from "#pipeline/handle-chat.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import { firstAnswerAttempt } from "#pipeline/scout/ask-scout.ts";
import {
  type ClosedAttempt,
  closeAbandoned,
  closeAnswered,
  closeFailed,
  type OpenAttempt,
} from "#pipeline/settle/close-attempt.ts";
import type { RequestRecorder } from "#pipeline/settle/request-recorder.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import { AnswerStream, type StreamEnd } from "./answer-stream.ts";
import { type InBandError, inBandErrorOf } from "./failure-answer.ts";
import { finishAnswer, isEmptyAnswer } from "./finish-answer.ts";
import { guardAnswer } from "./guard-answer.ts";
import { callerGone, deniedByLedger, failedUpstream, noCapacity, refusalOf, storeUnavailable } from "./refusals.ts";
import { type CallerStream, type Head, keepAlive, type Refusal, type Reply } from "./reply.ts";
import { type CompletionIdentity, type ReasoningMode, StreamShaper, type TextRestorer } from "./shape-stream.ts";

/** Executes a routed request and gives its whole answer, or says why there is none. */
export async function answerWhole(
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  ports: Ports,
): Promise<Reply> {
  const { recorder, caller } = context;
  const execution = await execute(planExecution(context, routed, ports), ports, caller.signal, { committed: false });
  recorder.attempts.push(...execution.attempts);
  if (execution.kind !== "answered") return refusalOfExecution(execution, context, routed, head, ports);

  const { attempt, report, firstTokenMs } = execution;
  const { answerGuard } = context.configuration.privacy;
  const raw = guardAnswer(execution.answer, execution.raw, answerGuard)
    ? JSON.stringify(execution.answer)
    : execution.raw;
  const empty = isEmptyAnswer(execution.answer);
  const other = otherModel(attempt.model.upstreamId, execution.answer.model);
  const answered = { report, firstTokenMs, empty, otherModel: other };
  close(closeAnswered(attempt, answered, ports.clock.monotonic()), context, ports);
  const body = finishAnswer(execution.answer, raw, attempt.model.upstreamId, restorerOf(context));
  const answerHead = headOf(head, attempt.model, context, firstTokenMs, ports);
  recorder.finish("answered", 200);
  return { kind: "answer", body, ...answerHead };
}

/**
 * Executes a routed request whose answer is a stream. Waits for the upstream's first real event, so that a failure before
 * it keeps its status and can be tried elsewhere; only after a long silence is the caller's answer begun without one.
 */
export async function answerStreamed(
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  ports: Ports,
): Promise<Reply> {
  const { caller, configuration } = context;
  const commitment = { committed: false };
  const pending = execute(planExecution(context, routed, ports), ports, caller.signal, commitment);
  const silence = silenceOf(configuration.policy.stream.keepalive_ms, ports);
  const execution = await Promise.race([pending, silence.over]);
  silence.cancel();
  if (execution !== undefined) {
    context.recorder.attempts.push(...execution.attempts);
    if (execution.kind !== "streaming") return refusalOfExecution(execution, context, routed, head, ports);
    const answered = headOf(head, execution.attempt.model, context, execution.firstTokenMs, ports);
    return { kind: "stream", stream: streamOf(execution, context, head, ports), ...answered };
  }
  commitment.committed = true;
  return { kind: "stream", stream: new LateStream(pending, context, routed, head, ports), ...head };
}

/** A stream that was begun towards the caller before the upstream had said anything. */
class LateStream implements CallerStream {
  readonly #begun: Promise<CallerStream | InBandError>;
  readonly #caller: AbortControllerLike;
  /** The upstream id of the model that was to answer. */
  readonly #model: string;
  readonly #identity: CompletionIdentity;
  #stream: CallerStream | undefined;
  #greeted = false;
  #failed = false;

  constructor(pending: Promise<Execution>, context: RequestContext, routed: RoutedDecision, head: Head, ports: Ports) {
    this.#caller = context.caller;
    this.#model = context.configuration.registry.models.get(routed.decision.model ?? "")?.upstreamId ?? "";
    this.#identity = identityOf(head, ports);
    this.#begun = pending.then((execution) => {
      context.recorder.attempts.push(...execution.attempts);
      if (execution.kind === "streaming") {
        headOf(head, execution.attempt.model, context, execution.firstTokenMs, ports);
        return streamOf(execution, context, head, ports);
      }
      const refusal = refusalOfExecution(execution, context, routed, head, ports);
      if (execution.kind === "failed") return inBandErrorOf(execution.failure);
      return { code: refusal.status, message: refusal.detail, metadata: { error_type: refusal.code } };
    });
  }

  async next(): Promise<string | undefined> {
    if (this.#failed) return undefined;
    if (!this.#greeted) {
      // The runtime sends an answer's head with the first bytes of its body: these are what ends the caller's wait.
      this.#greeted = true;
      return keepAlive;
    }
    const begun = this.#stream ?? (await this.#begun);
    if ("next" in begun) {
      this.#stream = begun;
      return begun.next();
    }
    return this.#fail(begun);
  }

  cancel(): void {
    this.#caller.abort();
    if (this.#stream !== undefined) this.#stream.cancel();
    else void this.#begun.then((begun) => "cancel" in begun && begun.cancel());
  }

  breakOff(failure: UpstreamFailure): string {
    return this.#stream === undefined ? this.#fail(inBandErrorOf(failure)) : this.#stream.breakOff(failure);
  }

  #fail(error: InBandError): string {
    if (this.#failed) return "";
    this.#failed = true;
    const shaper = new StreamShaper({
      model: this.#model,
      identity: this.#identity,
      wantsUsage: false,
      reasoning: "field",
      maxHeldCharacters: 0,
    });
    this.cancel();
    return shaper.fail(error);
  }
}

/**
 * What the rest of a stream needs of its context. The context itself, and with it the conversation as it was received and
 * as it was sent, must not live as long as the stream: there are thousands of them, for minutes.
 */
interface StreamContext {
  readonly recorder: RequestRecorder;
  readonly configuration: Configuration;
  readonly inputTokensBound: number;
}

function streamContextOf({ recorder, configuration, assessment }: RequestContext): StreamContext {
  return { recorder, configuration, inputTokensBound: assessment.size.inputTokensBound };
}

/** The models to try and the calls to make, from the decision down its fallback chain. */
function planExecution(context: RequestContext, routed: RoutedDecision, ports: Ports): ExecutionPlan {
  const { request, configuration, redacted, assessment, recorder, deadlineMs } = context;
  const { policy } = configuration;
  return {
    decisionId: recorder.decisionId,
    goal: assessment.task.goal_id,
    stream: request.stream,
    purpose: "EXECUTE",
    candidate: candidatesOf(routed, context, ports),
    bodyBytes: request.bodyBytes,
    // More than the model can write is held for where a caller grants it to reasoning, but never asked for.
    bodyFor: (model) =>
      forwardedBody(
        request,
        redacted.body,
        model,
        Math.min(outputBoundOf(model, assessment.size), model.maxOutputTokens),
        priceLimitOf(model, assessment.size, configuration),
      ),
    holdFor: (model) => holdOf(model, assessment.size),
    priceFor: (model) => priceOf(model, assessment.size),
    permitFor: (permit, model) => ignoreCallerFaults(permit, model, { body: request.body, size: assessment.size }),
    firstAttempt: firstAnswerAttempt,
    maxAttempts: policy.upstream.max_attempts,
    configuration,
    deadlineMs,
    pricedByCost: request.surcharge !== undefined,
    abandonedCost: (model) =>
      abandonedCost(priceOf(model, assessment.size), holdOf(model, assessment.size), 0, streamContextOf(context)),
  };
}

/** The decision's model, then its fallbacks. Most requests need none, so they are looked for when one is asked for. */
function candidatesOf(routed: RoutedDecision, context: RequestContext, ports: Ports): ExecutionPlan["candidate"] {
  const { models } = context.configuration.registry;
  const wanted = routed.decision.model ?? "";
  const first = models.get(wanted);
  let chain: readonly Model[] | undefined;
  const chainOf = () => {
    const fallbacks = fallbacksFor(wanted, routed.decision.hard_rule, routed.snapshot);
    return [wanted, ...fallbacks].flatMap((key) => models.get(key) ?? []);
  };
  // A degraded model is relieved of a share of its traffic: then the next in the chain comes first.
  if (ports.health.shed(wanted)) {
    chain = chainOf();
    const next = chain[1];
    if (next !== undefined && mayShed(first, next, context)) chain = [...chain.slice(1), ...chain.slice(0, 1)];
  }
  return (place) => {
    if (place === 0 && chain === undefined && first !== undefined) return first;
    chain ??= chainOf();
    return chain[place];
  };
}

/** What a cancelled call is billed at the least where cancelling stops billing: all input, and the output seen. */
function abandonedCost(
  price: Price,
  hold: NanoUsd,
  outputBytesSeen: number,
  { configuration, inputTokensBound }: StreamContext,
): NanoUsd | undefined {
  if (!configuration.policy.upstream.billing_stops_on_cancel) return undefined;
  const seen = holdFor({ inputTokens: inputTokensBound, outputTokens: outputBytesSeen, choices: 1 }, price);
  return seen < hold ? seen : hold;
}

/** What chunks are called that the upstream has not named. */
function identityOf({ decisionId }: Head, ports: Ports): CompletionIdentity {
  return { id: `chatcmpl-${decisionId}`, created: Math.floor(ports.clock.now() / 1_000) };
}

function streamOf(
  execution: Execution & { kind: "streaming" },
  context: RequestContext,
  head: Head,
  ports: Ports,
): CallerStream {
  const { attempt, events, firstTokenMs } = execution;
  const { configuration, request, caller } = context;
  const rest = streamContextOf(context);
  const restorer = restorerOf(context);
  const shaper = new StreamShaper({
    model: attempt.model.upstreamId,
    identity: identityOf(head, ports),
    wantsUsage: request.wantsUsage,
    reasoning: reasoningModeOf(request.body, configuration),
    maxHeldCharacters: configuration.policy.stream.max_event_bytes,
    ...(restorer === undefined ? {} : { restorer }),
    ...(configuration.privacy.answerGuard === undefined ? {} : { guard: configuration.privacy.answerGuard }),
  });
  return new AnswerStream({
    events,
    shaper,
    ...endingOf(attempt, firstTokenMs, rest, caller, ports),
  });
}

/** Text in front of an answer that is to have a format would break the format. */
function reasoningModeOf({ response_format }: JsonObject, { policy }: Configuration): ReasoningMode {
  const mode = policy.stream.reasoning;
  return mode === "content" && response_format != null ? "field" : mode;
}

/** How a stream ends; made apart from where the context is in reach, because a function keeps alive all it could reach. */
function endingOf(
  attempt: OpenAttempt,
  firstTokenMs: number,
  rest: StreamContext,
  caller: AbortControllerLike,
  ports: Ports,
) {
  return {
    safe: (failure: UpstreamFailure) => redactFailure(failure, rest.configuration),
    abort: () => caller.abort(),
    ended: (end: StreamEnd) => endStream(end, attempt, firstTokenMs, rest, ports),
  };
}

function endStream(
  end: StreamEnd,
  attempt: OpenAttempt,
  firstTokenMs: number,
  rest: StreamContext,
  ports: Ports,
): void {
  const { recorder } = rest;
  const nowMs = ports.clock.monotonic();
  switch (end.kind) {
    case "complete": {
      const { report, empty } = end;
      close(closeAnswered(attempt, { report, firstTokenMs, empty, otherModel: end.otherModel }, nowMs), rest, ports);
      recorder.finish("answered", 200);
      return;
    }
    case "broken": {
      close(closeFailed(attempt, end.failure, end.report, nowMs, end.otherModel), rest, ports);
      recorder.finish("broken_stream", 200);
      return;
    }
    case "caller_gone": {
      const seen = abandonedCost(attempt.price, attempt.hold, end.outputBytesSeen, rest);
      close(closeAbandoned(attempt, end.report, seen, nowMs, end.otherModel), rest, ports);
      recorder.finish("caller_gone", 200);
      return;
    }
  }
}

function close(closed: ClosedAttempt, { recorder }: Pick<RequestContext, "recorder">, ports: Ports): void {
  recorder.attempts.push(closed.record);
  // The caller does not wait for the books: they are told in order, and an untold hold is charged when it expires.
  void ports.ledger.resolve([closed.resolution]);
}

function headOf(head: Head, model: Model, context: RequestContext, firstTokenMs: number, ports: Ports): Head {
  const { recorder, request, assessment } = context;
  recorder.recordAnswer(model.key, firstTokenMs);
  // The model that was decided on, which fail-over for one request does not change.
  const routedTo = head.decision.model;
  if (routedTo !== null && assessment.housekeeping === undefined) {
    ports.conversations.remember(assessment.conversationKey, { model: routedTo, atMs: ports.clock.now() });
  }
  const task = taskKeyOf(request.routing);
  // A failure that is reported later counts against the tier that has answered.
  if (task !== undefined) ports.tasks.served(task, model, ports.clock.now());
  return { ...head, answeredBy: model.key };
}

/** Everything that is no answer, as the caller is told. */
function refusalOfExecution(
  execution: Execution,
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  ports: Ports,
): Refusal {
  const { recorder } = context;
  switch (execution.kind) {
    case "refused": {
      // Others took what was left between the decision and the reservation: the decision is denied after all.
      const { reply, model, wait } = execution;
      const evidence: string[] = [];
      const { goalAccount, dayAccount } = reply.spend;
      addHardCapEvidence(model, { ...routed.snapshot, spend: { goal: goalAccount, day: dayAccount } }, evidence);
      const decision = deniedByLedger(head.decision, reply, evidence);
      recorder.recordDecision(decision, context.redacted.findings);
      recorder.finish("refused", 403);
      return refusalOf({ ...head, decision }, wait);
    }
    case "unavailable":
      recorder.finish("failed", 503);
      return storeUnavailable(head, ports.ledger.status());
    case "no_capacity":
      recorder.finish("failed", 503);
      return noCapacity(head, retryAfterOf(routed, ports.health.view(), ports.clock.now()));
    case "caller_gone":
      recorder.finish("caller_gone", 499);
      return callerGone(head);
    case "failed": {
      const { failure, model } = execution;
      const retryAfterS = retryAfterFailure(routed, failure, ports.health.view(), ports.clock.now());
      const refusal = failedUpstream({ ...head, answeredBy: model }, failure, retryAfterS);
      recorder.finish("failed", refusal.status);
      return refusal;
    }
    case "answered":
    case "streaming":
      throw new Error("an answer is no refusal");
  }
}

function restorerOf({ redacted }: RequestContext): (() => TextRestorer) | undefined {
  const { restore } = redacted;
  return restore === undefined ? undefined : () => restore.stream();
}

function silenceOf(ms: number, ports: Ports): { over: Promise<undefined>; cancel: () => void } {
  let cancel: () => void = () => {};
  const over = new Promise<undefined>((resolve) => {
    cancel = ports.timers.after(ms, () => resolve(undefined));
  });
  return { over, cancel };
}
