import type { JsonObject } from "#domain/chat.ts";
import type { Model, Price } from "#domain/model.ts";
import { otherModel } from "#domain/model-names.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import { holdFor } from "#domain/money/tokens.ts";
import { taskKeyOf } from "#pipeline/assess/task/task-memory.ts";
import { holdOf, outputBoundOf, priceOf, showHardCap } from "#pipeline/decide/budget.ts";
import { fallbacksFor } from "#pipeline/decide/health.ts";
import { type Route, retryAfterFailure, retryAfterOf } from "#pipeline/decide-with-spend.ts";
import { fairPermit } from "#pipeline/execute/evidence.ts";
import { type Execution, execute, type Order, safe } from "#pipeline/execute/execute.ts";
import { forwardedBody } from "#pipeline/execute/forwarded-body.ts";
import { mayShed } from "#pipeline/execute/may-shed.ts";
import { priceLimitOf } from "#pipeline/execute/price-limit.ts";
import type { Journey } from "#pipeline/handle-chat.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import { firstAnswerAttempt } from "#pipeline/scout/ask-scout.ts";
import {
  type ClosedAttempt,
  closeAbandoned,
  closeAnswered,
  closeFailed,
  type OpenAttempt,
} from "#pipeline/settle/close-attempt.ts";
import type { Story } from "#pipeline/settle/request-recorder.ts";
import type { Aborter } from "#platform/abort.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import { AnswerStream, type StreamEnd } from "./answer-stream.ts";
import { type InBandError, inBandErrorOf } from "./failure-answer.ts";
import { finishAnswer, isEmptyAnswer } from "./finish-answer.ts";
import { callerGone, deniedByBooks, failedUpstream, noCapacity, refusalOf, storeUnavailable } from "./refusals.ts";
import { type CallerStream, type Head, keepAlive, type Refusal, type Reply } from "./reply.ts";
import { type Identity, type ReasoningMode, StreamShaper, type TextRestorer } from "./shape-stream.ts";

/** Executes a routed request and gives its whole answer, or says why there is none. */
export async function answerWhole(journey: Journey, route: Route, head: Head, ports: Ports): Promise<Reply> {
  const { story, caller } = journey;
  const execution = await execute(orderOf(journey, route, ports), ports, caller.signal, { committed: false });
  story.attempts.push(...execution.attempts);
  if (execution.kind !== "answered") return refused(execution, journey, route, head, ports);

  const { attempt, report, firstTokenMs } = execution;
  const empty = isEmptyAnswer(execution.answer);
  const other = otherModel(attempt.model.upstreamId, execution.answer.model);
  const answered = { report, firstTokenMs, empty, otherModel: other };
  close(closeAnswered(attempt, answered, ports.clock.monotonic()), journey, ports);
  const body = finishAnswer(execution.answer, execution.raw, attempt.model.upstreamId, restorerOf(journey));
  const answerHead = headOf(head, attempt.model, journey, firstTokenMs, ports);
  story.end("answered", 200);
  return { kind: "answer", body, ...answerHead };
}

/**
 * Executes a routed request whose answer is a stream. Waits for the upstream's first real event, so that a failure before
 * it keeps its status and can be tried elsewhere; only after a long silence is the caller's answer begun without one.
 */
export async function answerStreamed(journey: Journey, route: Route, head: Head, ports: Ports): Promise<Reply> {
  const { caller, configuration } = journey;
  const commitment = { committed: false };
  const pending = execute(orderOf(journey, route, ports), ports, caller.signal, commitment);
  const silence = silenceOf(configuration.policy.stream.keepalive_ms, ports);
  const execution = await Promise.race([pending, silence.over]);
  silence.cancel();
  if (execution !== undefined) {
    journey.story.attempts.push(...execution.attempts);
    if (execution.kind !== "streaming") return refused(execution, journey, route, head, ports);
    const answered = headOf(head, execution.attempt.model, journey, execution.firstTokenMs, ports);
    return { kind: "stream", stream: streamOf(execution, journey, head, ports), ...answered };
  }
  commitment.committed = true;
  return { kind: "stream", stream: new LateStream(pending, journey, route, head, ports), ...head };
}

/** A stream that was begun towards the caller before the upstream had said anything. */
class LateStream implements CallerStream {
  readonly #begun: Promise<CallerStream | InBandError>;
  readonly #caller: Aborter;
  /** The upstream id of the model that was to answer. */
  readonly #model: string;
  readonly #identity: Identity;
  #stream: CallerStream | undefined;
  #greeted = false;
  #failed = false;

  constructor(pending: Promise<Execution>, journey: Journey, route: Route, head: Head, ports: Ports) {
    this.#caller = journey.caller;
    this.#model = journey.configuration.registry.models.get(route.decision.model ?? "")?.upstreamId ?? "";
    this.#identity = identityOf(head, ports);
    this.#begun = pending.then((execution) => {
      journey.story.attempts.push(...execution.attempts);
      if (execution.kind === "streaming") {
        headOf(head, execution.attempt.model, journey, execution.firstTokenMs, ports);
        return streamOf(execution, journey, head, ports);
      }
      const refusal = refused(execution, journey, route, head, ports);
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
 * What the rest of a stream needs of its journey. The journey itself, and with it the conversation as it was received and
 * as it was sent, must not live as long as the stream: there are thousands of them, for minutes.
 */
interface Rest {
  readonly story: Story;
  readonly configuration: Configuration;
  readonly inputTokensBound: number;
}

function restOf({ story, configuration, assessment }: Journey): Rest {
  return { story, configuration, inputTokensBound: assessment.size.inputTokensBound };
}

/** The models to try and the calls to make, from the decision down its fallback chain. */
function orderOf(journey: Journey, route: Route, ports: Ports): Order {
  const { request, configuration, redacted, assessment, story, deadlineMs } = journey;
  const { policy } = configuration;
  return {
    decisionId: story.decisionId,
    goal: assessment.task.goal_id,
    stream: request.stream,
    purpose: "EXECUTE",
    candidate: candidatesOf(route, journey, ports),
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
    permitFor: (permit, model) => fairPermit(permit, model, { body: request.body, size: assessment.size }),
    firstAttempt: firstAnswerAttempt,
    maxAttempts: policy.upstream.max_attempts,
    configuration,
    deadlineMs,
    pricedByCost: request.surcharge !== undefined,
    abandonedCost: (model) =>
      seenCost(priceOf(model, assessment.size), holdOf(model, assessment.size), 0, restOf(journey)),
  };
}

/** The decision's model, then its fallbacks. Most requests need none, so they are looked for when one is asked for. */
function candidatesOf(route: Route, journey: Journey, ports: Ports): Order["candidate"] {
  const { models } = journey.configuration.registry;
  const wanted = route.decision.model ?? "";
  const first = models.get(wanted);
  let chain: readonly Model[] | undefined;
  const chainOf = () => {
    const fallbacks = fallbacksFor(wanted, route.decision.hard_rule, route.snapshot);
    return [wanted, ...fallbacks].flatMap((key) => models.get(key) ?? []);
  };
  // A degraded model is relieved of a share of its traffic: then the next in the chain comes first.
  if (ports.health.shed(wanted)) {
    chain = chainOf();
    const next = chain[1];
    if (next !== undefined && mayShed(first, next, journey)) chain = [...chain.slice(1), ...chain.slice(0, 1)];
  }
  return (place) => {
    if (place === 0 && chain === undefined && first !== undefined) return first;
    chain ??= chainOf();
    return chain[place];
  };
}

/** What a cancelled call is billed at the least where cancelling stops billing: all input, and the output seen. */
function seenCost(
  price: Price,
  hold: NanoUsd,
  outputBytesSeen: number,
  { configuration, inputTokensBound }: Rest,
): NanoUsd | undefined {
  if (!configuration.policy.upstream.billing_stops_on_cancel) return undefined;
  const seen = holdFor({ inputTokens: inputTokensBound, outputTokens: outputBytesSeen, choices: 1 }, price);
  return seen < hold ? seen : hold;
}

/** What chunks are called that the upstream has not named. */
function identityOf({ decisionId }: Head, ports: Ports): Identity {
  return { id: `chatcmpl-${decisionId}`, created: Math.floor(ports.clock.now() / 1_000) };
}

function streamOf(
  execution: Execution & { kind: "streaming" },
  journey: Journey,
  head: Head,
  ports: Ports,
): CallerStream {
  const { attempt, events, firstTokenMs } = execution;
  const { configuration, request, caller } = journey;
  const rest = restOf(journey);
  const restorer = restorerOf(journey);
  const shaper = new StreamShaper({
    model: attempt.model.upstreamId,
    identity: identityOf(head, ports),
    wantsUsage: request.wantsUsage,
    reasoning: reasoningModeOf(request.body, configuration),
    maxHeldCharacters: configuration.policy.stream.max_event_bytes,
    ...(restorer === undefined ? {} : { restorer }),
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

/** How a stream ends; made apart from where the journey is in reach, because a function keeps alive all it could reach. */
function endingOf(attempt: OpenAttempt, firstTokenMs: number, rest: Rest, caller: Aborter, ports: Ports) {
  return {
    safe: (failure: UpstreamFailure) => safe(failure, rest.configuration),
    abort: () => caller.abort(),
    ended: (end: StreamEnd) => endStream(end, attempt, firstTokenMs, rest, ports),
  };
}

function endStream(end: StreamEnd, attempt: OpenAttempt, firstTokenMs: number, rest: Rest, ports: Ports): void {
  const { story } = rest;
  const nowMs = ports.clock.monotonic();
  switch (end.kind) {
    case "complete": {
      const { report, empty } = end;
      close(closeAnswered(attempt, { report, firstTokenMs, empty, otherModel: end.otherModel }, nowMs), rest, ports);
      story.end("answered", 200);
      return;
    }
    case "broken": {
      close(closeFailed(attempt, end.failure, end.report, nowMs, end.otherModel), rest, ports);
      story.end("broken_stream", 200);
      return;
    }
    case "caller_gone": {
      const seen = seenCost(attempt.price, attempt.hold, end.outputBytesSeen, rest);
      close(closeAbandoned(attempt, end.report, seen, nowMs, end.otherModel), rest, ports);
      story.end("caller_gone", 200);
      return;
    }
  }
}

function close(closed: ClosedAttempt, { story }: Pick<Journey, "story">, ports: Ports): void {
  story.attempts.push(closed.record);
  // The caller does not wait for the books: they are told in order, and an untold hold is charged when it expires.
  void ports.ledger.resolve([closed.resolution]);
}

function headOf(head: Head, model: Model, journey: Journey, firstTokenMs: number, ports: Ports): Head {
  const { story, request, assessment } = journey;
  story.answeredBy(model.key, firstTokenMs);
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
function refused(execution: Execution, journey: Journey, route: Route, head: Head, ports: Ports): Refusal {
  const { story } = journey;
  switch (execution.kind) {
    case "refused": {
      // Others took what was left between the decision and the reservation: the decision is denied after all.
      const { reply, model, wait } = execution;
      const evidence: string[] = [];
      const { goalAccount, dayAccount } = reply.spend;
      showHardCap(model, { ...route.snapshot, spend: { goal: goalAccount, day: dayAccount } }, evidence);
      const decision = deniedByBooks(head.decision, reply, evidence);
      story.decided(decision, journey.redacted.findings);
      story.end("refused", 403);
      return refusalOf({ ...head, decision }, wait);
    }
    case "unavailable":
      story.end("failed", 503);
      return storeUnavailable(head, ports.ledger.status());
    case "no_capacity":
      story.end("failed", 503);
      return noCapacity(head, retryAfterOf(route, ports.health.view(), ports.clock.now()));
    case "caller_gone":
      story.end("caller_gone", 499);
      return callerGone(head);
    case "failed": {
      const { failure, model } = execution;
      const retryAfterS = retryAfterFailure(route, failure, ports.health.view(), ports.clock.now());
      const refusal = failedUpstream({ ...head, answeredBy: model }, failure, retryAfterS);
      story.end("failed", refusal.status);
      return refusal;
    }
    case "answered":
    case "streaming":
      throw new Error("an answer is no refusal");
  }
}

function restorerOf({ redacted }: Journey): (() => TextRestorer) | undefined {
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
