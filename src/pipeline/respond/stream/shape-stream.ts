import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import { type CompletionIdentity, statedIdentity } from "#pipeline/respond/completion-identity.ts";
import { type InBandError, inBandError } from "#pipeline/respond/failure-answer.ts";
import type { RedactedBody } from "#privacy/redaction.ts";
import {
  type ChunkRun,
  type ContentTemplate,
  carriesSomething,
  type Finishes,
  hasOutput,
  type UpstreamEvent,
} from "#upstream/upstream.ts";
import { type HeldReasoning, hasReasoningText, heldFields, heldText, holdReasoning } from "./held-reasoning.ts";

type Restorer = NonNullable<RedactedBody["restore"]>;

/** What has happened to one choice of the answer so far. */
interface ChoiceState {
  roleSent: boolean;
  contentSent: boolean;
  /** Something other than text was sent: a tool call, a refusal, long reasoning. What is held is no answer. */
  otherSent: boolean;
  /** Reasoning that was not sent yet; undefined where there is none. */
  held: HeldReasoning | undefined;
  /** The chunk with its last finish reason, which is sent when the stream ends: output may follow it. */
  finish: HeldChunk | undefined;
  /** Reasoning was sent as content, and no text of the answer after it. */
  blankLineDue: boolean;
  readonly restorer: ReturnType<Restorer["stream"]> | undefined;
}

/** A chunk that is sent later; `raw` where that is its text. */
interface HeldChunk {
  readonly raw?: string;
  readonly chunk: JsonObject;
}

export interface ShapeOptions {
  /** The upstream id of the model that was asked; every chunk names it, or the one that answers instead. */
  readonly model: string;
  /** For chunks of our own making, when the upstream has said nothing of its own. */
  readonly identity: CompletionIdentity;
  /** Whether the caller asked for the usage chunk. */
  readonly wantsUsage: boolean;
  /** Where the reasoning goes that comes before the answer's text. */
  readonly reasoning: ReasoningMode;
  /** Reasoning held back for the first content delta is sent as a delta of its own beyond this many characters. */
  readonly maxHeldCharacters: number;
  /** Puts redacted values back into the text. */
  readonly restore?: Pick<Restorer, "stream"> | undefined;
}

/**
 * `field`: held back and put into the first content delta as its reasoning fields; `content`: held back and put in
 * front of the text; `live`: passed on as it comes.
 */
export type ReasoningMode = "field" | "content" | "live";

const chunkObject = "chat.completion.chunk";
const noFinishes: Finishes = new Map();
/** A longer chunk is not held for its finish reason, which then comes in one of our own. */
const maxHeldFinish = 65_536;

/**
 * Turns the upstream's chunks into what a caller may rely on: role first, early reasoning where the policy wants it,
 * one id, one finish reason per choice at the end, usage as a chunk of its own and only if asked for, and never a clean
 * end to a broken stream. A chunk that needs no change leaves as the very text it came in. One shaper serves one
 * stream.
 *
 * Chunks in a row that differ in their content only (`ChunkRun`) are not even parsed once one of them has left as it
 * came, because all others have the same effect; unless the restorer has to see each.
 */
export class StreamShaper {
  readonly #options: ShapeOptions;
  readonly #choices: ChoiceState[] = [];
  /** The names of the completion: the upstream's as far as it has said them when they are first sent. */
  #id: string | undefined;
  #created: number | undefined;
  /** Chunks of this template leave as they came, because the one before them did. */
  #passing: ContentTemplate | undefined;
  /** A chunk for the usage; the last one is sent at the stream's end. */
  #usage: HeldChunk | undefined;
  /** What the upstream last called its model. */
  #lastModel: Json | undefined;
  /** That name, if it is another than the one that was asked. */
  otherModel: string | undefined;

  constructor(options: ShapeOptions) {
    this.#options = options;
  }

  /** The server-sent events, as text, that one upstream event becomes; "" when the caller is to see nothing. */
  shape(event: UpstreamEvent): string {
    switch (event.kind) {
      case "chunk":
        this.#passing = undefined;
        return this.#shapeChunk(event.raw, event.chunk);
      case "run":
        return this.#shapeRun(event);
      case "end":
        return `${this.#releaseHeld(true)}${this.#finish(event.finishes)}${this.#takeUsage()}data: [DONE]\n\n`;
      case "broken":
        return this.fail(inBandError(event.failure), event.finishes);
    }
  }

  #shapeRun({ template, events, contentEnds }: ChunkRun): string {
    const mayPass = this.#options.restore === undefined;
    let out = "";
    let from = 0;
    for (const end of contentEnds) {
      if (mayPass && this.#passing === template) return from === 0 ? events : out + events.slice(from);
      const to = end + template.tail.length;
      const event = events.slice(from, to);
      const raw = event.slice("data: ".length, -"\n\n".length);
      const shaped = this.#shapeChunk(raw, JSON.parse(raw));
      this.#passing = shaped === event ? template : undefined;
      out += shaped;
      from = to;
    }
    return out;
  }

  #shapeChunk(raw: string, chunk: JsonObject): string {
    const { wantsUsage } = this.#options;
    if (chunk.model !== this.#lastModel && chunk.model) {
      this.#lastModel = chunk.model;
      this.otherModel = otherModel(this.#options.model, chunk.model);
    }
    if (this.#id === undefined || this.#created === undefined) {
      const { id, created } = statedIdentity(chunk);
      this.#id ??= id;
      this.#created ??= created;
    }
    const { usage, choices } = chunk;
    const hasUsage = isObject(usage) && Object.keys(usage).length > 0;
    if (!Array.isArray(choices) || choices.length === 0) {
      // The usage chunk has no choices. One without usage either says nothing; callers trip over it.
      if (hasUsage && wantsUsage) this.#usage = { raw, chunk };
      return "";
    }
    let changed = false;
    if (usage != null) {
      // Callers read usage from a chunk without choices; upstreams also send it beside a delta, or with each of them.
      if (hasUsage && wantsUsage) this.#usage = { chunk: { ...chunk, choices: [] } };
      changed = true;
      delete chunk.usage;
    }
    let before = "";
    const kept: Json[] = [];
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      const state = this.#choice(choice);
      if (choice.finish_reason != null) {
        const isBare = !(isObject(choice.delta) && carriesSomething(choice.delta));
        if (raw.length > maxHeldFinish) state.finish = undefined;
        else if (isBare && !changed && choices.length === 1) state.finish = { raw, chunk };
        else state.finish = { chunk: { ...chunk, choices: [isBare ? choice : { ...choice, delta: {} }] } };
        changed = true;
        if (isBare) continue;
        choice.finish_reason = null;
      }
      const shaped = this.#shapeChoice(choice, state);
      before += shaped.before;
      changed ||= shaped.changed;
      if (shaped.isSent) kept.push(choice);
    }
    if (kept.length === 0) return before;
    if (changed) chunk.choices = kept;
    return before + this.#send(raw, chunk, changed);
  }

  #takeUsage(): string {
    const usage = this.#usage;
    this.#usage = undefined;
    return usage === undefined ? "" : this.#send(usage.raw ?? "", usage.chunk, usage.raw === undefined);
  }

  /** Changes the choice in place where it must change. */
  #shapeChoice(choice: JsonObject, state: ChoiceState): { isSent: boolean; changed: boolean; before: string } {
    const index = choice.index as number; // validated
    const delta = choice.delta as JsonObject; // validated
    let changed = false;
    let before = "";
    const content = typeof delta.content === "string" ? delta.content : "";
    const other = hasOutput(delta, otherAnswers);

    // Reasoning stays where it is beside a tool call, and beside the first content when there is none to add to it.
    const early = !state.contentSent && this.#takesReasoning(delta);
    if (early && (content === "" ? !other : state.held !== undefined || this.#options.reasoning === "content")) {
      state.held = holdReasoning(state.held, delta);
      changed = true;
    }
    if (content !== "") {
      if (state.held !== undefined || state.blankLineDue || state.restorer !== undefined) {
        this.#addHeld(state, delta, content);
        changed = true;
      }
      state.contentSent = true;
    } else if (state.held !== undefined) {
      if (other) before = this.#heldChunk(index, state, false);
      else if (state.held.size > this.#options.maxHeldCharacters)
        return { isSent: false, changed: true, before: this.#heldChunk(index, state, false) };
      else if (early) return { isSent: false, changed: true, before };
    }
    state.otherSent ||= other;
    if (this.#addRole(choice, delta, state)) changed = true;
    return { isSent: true, changed, before };
  }

  /** Whether the first delta of a choice had to be given its role. */
  #addRole(choice: JsonObject, delta: JsonObject, state: ChoiceState): boolean {
    if (state.roleSent) return false;
    state.roleSent = true;
    if (delta.role === "assistant") return false;
    choice.delta = { role: "assistant", ...delta, ...(delta.role === undefined ? {} : { role: "assistant" }) };
    return true;
  }

  /** Whether a delta has reasoning that may have to be held back. */
  #takesReasoning(delta: JsonObject): boolean {
    const { reasoning } = this.#options;
    if (reasoning === "live") return false;
    if (hasReasoningText(delta)) return true;
    const details = delta.reasoning_details;
    return reasoning === "field" && Array.isArray(details) && details.length > 0;
  }

  /** Puts into a delta its content and what was held back before it. */
  #addHeld(state: ChoiceState, delta: JsonObject, content: string): void {
    const held = state.held;
    state.held = undefined;
    let early = "";
    if (held !== undefined) {
      if (this.#options.reasoning === "field") Object.assign(delta, heldFields(held));
      else early = heldText(held);
    }
    const blankLine = early !== "" || state.blankLineDue ? "\n\n" : "";
    state.blankLineDue = false;
    const text = early + blankLine + content;
    delta.content = state.restorer?.push(text) ?? text;
  }

  /** A chunk with what was held back. `last`: the answer ends here, and reasoning is all of it unless more was sent. */
  #heldChunk(index: number, state: ChoiceState, last: boolean): string {
    const { held } = state;
    if (held === undefined) return "";
    state.held = undefined;
    const text = heldText(held);
    const asContent = this.#options.reasoning === "content" || (last && !state.otherSent && text !== "");
    state.otherSent = true;
    if (!asContent) return this.#ownChunk(index, state, heldFields(held));
    state.blankLineDue = true;
    return this.#ownChunk(index, state, { content: state.restorer?.push(text) ?? text });
  }

  /** Everything that was kept back; `complete`: the answer ends here. */
  #releaseHeld(complete: boolean): string {
    let out = "";
    this.#choices.forEach((state, index) => {
      out += this.#heldChunk(index, state, complete);
      const tail = state.restorer?.flush() ?? "";
      if (tail !== "") out += this.#ownChunk(index, state, { content: tail });
    });
    return out;
  }

  /** The finish reasons of these choices, each in the chunk that it came in, if it came in one. */
  #finish(finishes: Finishes): string {
    let out = "";
    for (const [index, reason] of finishes) {
      const state = this.#choiceAt(index);
      const { raw = "", chunk = this.#own({ index, delta: {} }) } = state.finish ?? {};
      const choice = (chunk.choices as JsonObject[])[0] ?? {}; // as it was made above
      let changed = raw === "" || choice.finish_reason !== reason;
      choice.finish_reason = reason;
      if (this.#addRole(choice, choice.delta as JsonObject, state)) changed = true;
      out += this.#send(raw, chunk, changed);
    }
    return out;
  }

  /** The end of a stream that has failed, with the reason; `finishes`: the choices that had ended before. */
  fail(error: InBandError, finishes = noFinishes): string {
    const released = this.#releaseHeld(false) + this.#finish(finishes) + this.#takeUsage();
    const open = this.#choices.flatMap((_, index) => (finishes.has(index) ? [] : [index]));
    // What came after the last finish reason was no answer any more: the caller has the whole of it.
    if (open.length === 0 && finishes.size > 0) return `${released}data: [DONE]\n\n`;
    const indices = open.length === 0 ? [0] : open;
    const chunk = {
      ...this.#names(),
      error: { ...error, metadata: { ...error.metadata } },
      choices: indices.map((index) => ({ index, delta: { content: "" }, finish_reason: "error" })),
    };
    return `${released}data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  }

  #ownChunk(index: number, state: ChoiceState, delta: JsonObject): string {
    const role: JsonObject = state.roleSent ? {} : { role: "assistant" };
    state.roleSent = true;
    return `data: ${JSON.stringify(this.#own({ index, delta: { ...role, ...delta }, finish_reason: null }))}\n\n`;
  }

  #own(choice: JsonObject): JsonObject {
    return { ...this.#names(), choices: [choice] };
  }

  /** From the first time that they are sent they stay as they are. */
  #names() {
    const { identity, model } = this.#options;
    this.#id ??= identity.id;
    this.#created ??= identity.created;
    return { id: this.#id, object: chunkObject, created: this.#created, model: this.otherModel ?? model };
  }

  #choice({ index }: JsonObject): ChoiceState {
    return this.#choiceAt(typeof index === "number" ? index : 0);
  }

  /** Indices are below 128: the validator has looked. */
  #choiceAt(index: number): ChoiceState {
    for (let state = this.#choices[index]; ; state = this.#choices[index]) {
      if (state !== undefined) return state;
      this.#choices.push({
        roleSent: false,
        contentSent: false,
        otherSent: false,
        held: undefined,
        finish: undefined,
        blankLineDue: false,
        restorer: this.#options.restore?.stream(),
      });
    }
  }

  /** The event of a chunk under the stream's names; as it came if nothing has changed and it is one line. */
  #send(raw: string, chunk: JsonObject, changed: boolean): string {
    const names = this.#names();
    const isNamed =
      chunk.model === names.model &&
      chunk.object === chunkObject &&
      chunk.id === names.id &&
      chunk.created === names.created;
    if (!changed && isNamed && !raw.includes("\n")) return `data: ${raw}\n\n`;
    return `data: ${JSON.stringify(isNamed ? chunk : Object.assign(chunk, names))}\n\n`;
  }
}

/** The members of a delta with an answer that is not text. */
const otherAnswers = ["tool_calls", "function_call", "refusal", "audio", "images"] as const;
