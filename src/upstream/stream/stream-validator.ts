import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { hasMoreValuesThan } from "#platform/json/json-scan.ts";
import { CallIdentity } from "#upstream/call-identity.ts";
import { addDelta, finishOf, readChoice } from "#upstream/choices.ts";
import { errorIn, garbageFailure } from "#upstream/failures.ts";
import type { FinishReason } from "#upstream/finish-reasons.ts";
import {
  type AnswerLimits,
  type ChunkEvent,
  type ChunkRun,
  carriesSomething,
  type Finishes,
  hasOutput,
  type UpstreamFailure,
  type UsageReport,
} from "#upstream/upstream.ts";
import { UsageReader } from "#upstream/usage.ts";
import { ChunkTemplate } from "./chunk-template.ts";

/** The result of validating one event; nothing to pass on is an empty event, or one that is no chunk. */
export type ValidatedEvent =
  | ChunkEvent
  | { readonly kind: "nothing" | "done" }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure };

/** Chunks are a few hundred characters long; one that is far longer is no template. */
const maxTemplateLength = 4_096;

const nothing: ValidatedEvent = { kind: "nothing" };

/** What has come of one choice. */
interface ChoiceState {
  /** The last finish reason, unless output has followed it. */
  finish: FinishReason | undefined;
  hasOutput: boolean;
  /** Its tool calls, joined; `lost` where they are longer than may be held. */
  calls: JsonObject | "lost" | undefined;
}

/**
 * Validates a stream by its content, because a cut can look like a clean close. The end is proved by `[DONE]`, or by
 * finish reasons of all choices that appeared; not by those where output has followed any: some makers send `stop` with
 * each chunk.
 */
export class StreamValidator {
  readonly #choices = new Map<number, ChoiceState>();
  #finishesProveNothing = false;
  #hasContent = false;
  #heldCalls = 0;
  readonly #usage = new UsageReader();
  /** The template of the chunks that carry text, its choice, how often one was learned, and how many chunks matched. */
  #template: ChunkTemplate | undefined;
  #templateChoice: ChoiceState | undefined;
  #tries = 0;
  #matches = 0;
  /** Learns from the chunks what the aggregator says of the call. */
  readonly #identity: CallIdentity;
  readonly #limits: Pick<AnswerLimits, "maxValues" | "maxEventBytes">;
  /** Choices that were asked for. */
  readonly #expected: number;

  constructor(limits: Pick<AnswerLimits, "maxValues" | "maxEventBytes">, expected = 1, identity = new CallIdentity()) {
    this.#limits = limits;
    this.#expected = expected;
    this.#identity = identity;
  }

  get report(): UsageReport {
    return this.#identity.addTo(this.#usage.report(this.complete));
  }

  get hasUsage(): boolean {
    return this.#usage.hasReport;
  }

  /** Whether the finish reasons prove that the answer is whole. */
  get complete(): boolean {
    if (this.#finishesProveNothing || this.#choices.size === 0) return false;
    for (const { finish } of this.#choices.values()) if (finish === undefined) return false;
    return true;
  }

  /** The finish reasons that prove something. */
  get finishes(): Finishes {
    const finishes = new Map<number, FinishReason>();
    if (this.#finishesProveNothing) return finishes;
    for (const [index, { finish }] of this.#choices) if (finish !== undefined) finishes.set(index, finish);
    return finishes;
  }

  /** Whether all choices are finished, also those that have not appeared. */
  get finished(): boolean {
    return this.complete && this.#choices.size >= this.#expected;
  }

  /** Whether a chunk had content: more than a role, which only opens the stream. */
  get hasContent(): boolean {
    return this.#hasContent;
  }

  /** Nothing was said, by a model that claims to have stopped of its own accord. */
  get isEmpty(): boolean {
    for (const { hasOutput, finish = "stop" } of this.#choices.values())
      if (hasOutput || finish !== "stop") return false;
    return true;
  }

  /**
   * `[DONE]` has come: choices without a finish reason have ended where they are. False where one of their calls is
   * cut, unless it is said how these have ended, and where nothing has come.
   */
  finishAll(ofCut?: FinishReason): boolean {
    if (!this.#hasContent) return false;
    for (const choice of this.#choices.values()) {
      choice.finish ??= (choice.calls === "lost" ? undefined : finishOf(choice.calls ?? {})) ?? ofCut;
      if (choice.finish === undefined) return false;
    }
    this.#finishesProveNothing = false;
    return this.complete;
  }

  /**
   * The events in a row, from `from` and up to `until` at most, that differ from an earlier one in their content only.
   * They need no validation: they have the same effect.
   */
  matchTemplate(text: string, from: number, until: number): ChunkRun | undefined {
    const run = this.#template?.match(text, from, until);
    if (run === undefined) return undefined;
    this.#matches += run.contentEnds.length;
    this.#usage.skipOutput();
    if (this.#templateChoice !== undefined) this.#addOutput(this.#templateChoice);
    return run;
  }

  validate(received: string, name: string): ValidatedEvent {
    // Some proxies frame an event that has been framed already.
    const data = received.startsWith("data:") ? received.replace(/^(?:data: ?)+/, "") : received;
    if (data.length < 16) {
      const word = data.trim();
      if (word === "[DONE]" || word === '"[DONE]"') return { kind: "done" };
      if (word === "") return nothing;
    }
    const { maxValues } = this.#limits;
    if (hasMoreValuesThan(data, maxValues)) return failedAs(`an event of more than ${maxValues} JSON values`);
    let chunk: Json;
    try {
      chunk = JSON.parse(data);
    } catch {
      chunk = data;
    }
    if (isObject(chunk)) return this.read(chunk, data, name);
    const error = name === "error" ? errorIn({ error: chunk }) : undefined;
    return error === undefined ? failedAs("an event that is not a JSON object") : this.#failed(error, false, false);
  }

  /** Reads a chunk, or a whole answer, whose choices have a `message`: `data` is its text. */
  read(chunk: JsonObject, data: string, name = "", member: "message" | "delta" = "delta"): ValidatedEvent {
    this.#identity.read(chunk);
    const choices = chunk["choices"];
    const hasBegun = carriesOutput(choices, member);
    const hasUsage = this.#usage.read(chunk, hasBegun);
    // vLLM says by the object's name what others say by the event's.
    const isError = name === "error" || chunk["object"] === "error";
    const error = errorIn(chunk) ?? (isError ? errorIn({ error: chunk }) : undefined);
    if (error !== undefined) return this.#failed(error, hasBegun, hasUsage);
    if (!Array.isArray(choices)) {
      if (choices !== undefined && choices !== null) return failedAs("a chunk whose choices are not a list");
      if (!hasUsage) return nothing;
      this.#hasContent = true;
      // Some servers leave the empty list out of the usage chunk; readers of chunks count on it.
      const whole = { ...chunk, choices: [] };
      return { kind: "chunk", raw: JSON.stringify(whole), chunk: whole };
    }
    // Neither choices nor usage: a keep-alive, or Azure's word on the prompt. Some callers fail on it, and it is no progress.
    if (choices.length === 0 && !hasUsage) return nothing;
    // Clients take an empty error for one.
    let isChanged = Boolean(chunk["error"]);
    if (isChanged) delete chunk["error"];
    for (const [at, choice] of choices.entries()) {
      // Foundry Local counts the chunks where the index of the choice should be.
      if (this.#expected === 1 && choices.length === 1 && isObject(choice) && choice["index"] !== 0)
        choice["index"] = null;
      const read = readChoice(choice, at, member, (index) => this.#choices.get(index)?.hasOutput === true);
      if ("kind" in read) return this.#failed(read, hasBegun, hasUsage);
      isChanged ||= read.isChanged;
      const state = this.#note(read.index, read.part, read.finish, data.length);
      if (choices.length > 1 || read.finish !== undefined || isChanged || hasUsage || member === "message") continue;
      this.#learnTemplate(data, chunk, state);
    }
    if (hasUsage) this.#hasContent = true;
    return { kind: "chunk", raw: isChanged ? JSON.stringify(chunk) : data, chunk };
  }

  /** Reads an event for its usage alone. */
  readUsage(data: string): ValidatedEvent {
    try {
      const chunk: Json = hasMoreValuesThan(data, this.#limits.maxValues) ? null : JSON.parse(data);
      if (!isObject(chunk) || !this.#usage.read(chunk, false)) return nothing;
      const whole = { ...chunk, choices: [] };
      return { kind: "chunk", raw: JSON.stringify(whole), chunk: whole };
    } catch {
      return nothing; // not JSON, and so no usage
    }
  }

  #failed(failure: UpstreamFailure, hasBegun: boolean, hasUsage: boolean): ValidatedEvent {
    if (hasUsage) this.#usage.close();
    const begun = this.#hasContent || hasBegun;
    return { kind: "failed", failure: begun ? { ...failure, begun } : failure };
  }

  /** Makes a chunk the template of those to come, unless templates have matched too rarely so far. */
  #learnTemplate(data: string, chunk: JsonObject, state: ChoiceState): void {
    if (data.length > maxTemplateLength || (this.#tries >= 4 && this.#matches < 16 * this.#tries)) return;
    this.#tries++;
    const template = ChunkTemplate.of(data, chunk);
    if (template === undefined) return;
    this.#template = template;
    this.#templateChoice = state;
  }

  /** Notes what a chunk brings of one choice. */
  #note(index: number, delta: JsonObject, finish: FinishReason | undefined, size: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      state = { finish: undefined, hasOutput: false, calls: undefined };
      this.#choices.set(index, state);
    }
    if (hasOutput(delta)) this.#addOutput(state);
    if (finish !== undefined) state.finish = finish;
    if (!this.#hasContent) this.#hasContent = finish !== undefined || carriesSomething(delta);
    const { tool_calls, function_call } = delta;
    if (state.calls !== "lost" && (Array.isArray(tool_calls) || isObject(function_call))) {
      this.#heldCalls += size;
      const calls = {
        ...(Array.isArray(tool_calls) && { tool_calls }),
        ...(isObject(function_call) && { function_call }),
      };
      state.calls = this.#heldCalls > this.#limits.maxEventBytes ? "lost" : addDelta(state.calls ?? {}, calls);
    }
    return state;
  }

  #addOutput(state: ChoiceState): void {
    state.hasOutput = true;
    if (state.finish === undefined) return;
    state.finish = undefined;
    this.#finishesProveNothing = true;
  }
}

/** Whether one of the choices has some of an answer. */
function carriesOutput(choices: Json | undefined, member: "message" | "delta"): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some((choice) => isObject(choice) && isObject(choice[member]) && carriesSomething(choice[member]));
}

function failedAs(what: string): ValidatedEvent {
  return { kind: "failed", failure: garbageFailure(`the upstream sent ${what}`) };
}
