import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import { type InBandError, inBandError } from "#pipeline/respond/failure-answer.ts";
import { hasContentOnly, StreamGuard } from "#pipeline/respond/guard-answer.ts";
import { hasAnswer } from "#pipeline/respond/whole-answer.ts";
import type { AnswerGuard, GuardedStream, RedactedBody } from "#privacy/redaction.ts";
import type { ChunkRun, ContentTemplate, UpstreamEvent } from "#upstream/upstream.ts";
import { type HeldReasoning, hasReasoningText, heldFields, heldText, holdReasoning } from "./held-reasoning.ts";

type Restorer = NonNullable<RedactedBody["restore"]>;

/** What has happened to one choice of the answer so far. */
interface ChoiceState {
  roleSent: boolean;
  contentSent: boolean;
  /** Something other than text was sent: a tool call, a refusal, reasoning too long to hold. What is held is no answer. */
  otherSent: boolean;
  finished: boolean;
  /** Reasoning that was not sent yet; undefined where there is none. */
  held: HeldReasoning | undefined;
  /** Reasoning was sent as content, and no text of the answer after it. */
  blankLineDue: boolean;
  readonly restorer: ReturnType<Restorer["stream"]> | undefined;
}

/** What a completion is called, and when it was made, in Unix seconds. */
export interface CompletionIdentity {
  readonly id: string;
  readonly created: number;
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
  /** Keeps the gateway's own key out of what is sent. */
  readonly guard?: AnswerGuard | undefined;
}

/**
 * `field`: held back and put into the first content delta as its reasoning fields; `content`: held back and put in front
 * of the text; `live`: passed on as it comes.
 */
export type ReasoningMode = "field" | "content" | "live";

const chunkObject = "chat.completion.chunk";

/**
 * Turns the upstream's chunks into what a caller may rely on: role first, early reasoning where the policy wants it, one
 * finish reason per choice, usage as a chunk of its own and only if asked for, and never a clean end to a broken stream. A chunk that
 * needs no change leaves as the very text it came in. One shaper serves one stream.
 */
export class StreamShaper {
  readonly #options: ShapeOptions;
  readonly #guard: StreamGuard | undefined;
  readonly #choices: ChoiceState[] = [];
  /** The upstream's names for the completion, as far as it has said them. */
  #id: Json | undefined;
  #created: Json | undefined;
  /** Chunks of this template leave as they came, because the one before them did. */
  #passing: ContentTemplate | undefined;
  /** Looks for the gateway's own key in their content. */
  #passingGuard: GuardedStream | undefined;
  /** A chunk for the usage that came beside choices; the last one is sent at the stream's end. */
  #usage: JsonObject | undefined;
  /** What the upstream last called its model. */
  #lastModel: Json | undefined;
  /** That name, if it is another than the one that was asked. */
  otherModel: string | undefined;

  constructor(options: ShapeOptions) {
    this.#options = options;
    this.#guard = options.guard === undefined ? undefined : new StreamGuard(options.guard);
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
        return `${this.#releaseHeld(true)}${this.#takeUsage()}data: [DONE]\n\n`;
      case "broken":
        return this.fail(inBandError(event.failure));
    }
  }

  /** Chunks of a template go on unread once one of them has left as it came: all the others have the same effect. */
  #shapeRun({ template, events, contentEnds }: ChunkRun): string {
    const { head, tail } = template;
    const endOf = (at: number) => (at < 0 ? 0 : (contentEnds[at] ?? 0) + tail.length);
    const contents = { json: events, ends: contentEnds, first: head.length, gap: tail.length + head.length };
    let out = "";
    // Asked once: the key's beginning in a content is rare, and each answer takes as long as the run is.
    let isAsked = false;
    for (let at = 0; at < contentEnds.length; at++) {
      if (this.#passing === template && !isAsked) {
        isAsked = true;
        if (this.#passingGuard?.passUnchanged(contents, at) !== false) return out + events.slice(endOf(at - 1));
      }
      const event = events.slice(endOf(at - 1), endOf(at));
      const raw = event.slice("data: ".length, -"\n\n".length);
      const chunk: JsonObject = JSON.parse(raw);
      const shaped = this.#shapeChunk(raw, chunk);
      this.#passing = shaped === event && this.#mayPass(chunk) ? template : undefined;
      out += shaped;
    }
    return out;
  }

  /** Whether chunks like one that has left as it came will do so too: no other text of them comes in pieces. */
  #mayPass({ choices }: JsonObject): boolean {
    const choice = Array.isArray(choices) ? choices[0] : undefined;
    if (!isObject(choice) || !isObject(choice.delta) || !hasContentOnly(choice.delta)) return false;
    this.#passingGuard = this.#guard?.contentOf(typeof choice.index === "number" ? choice.index : 0);
    return true;
  }

  #shapeChunk(raw: string, chunk: JsonObject): string {
    const guarded = this.#guard?.chunk(raw, chunk) === true;
    if (chunk.model !== this.#lastModel && chunk.model != null) {
      this.#lastModel = chunk.model;
      this.otherModel = otherModel(this.#options.model, chunk.model);
    }
    this.#id ??= chunk.id;
    this.#created ??= chunk.created;
    const usage = chunk.usage;
    const choices = chunk.choices;
    if (!Array.isArray(choices) || choices.length === 0) {
      // The usage chunk has no choices. One without usage either says nothing; callers trip over it.
      if (usage == null || !this.#options.wantsUsage) return "";
      this.#usage = undefined;
      return this.#send(raw, chunk, guarded);
    }
    let changed = guarded;
    let before = "";
    const kept: Json[] = [];
    for (const choice of choices) {
      if (!isObject(choice)) {
        changed = true;
        continue;
      }
      const shaped = this.#shapeChoice(choice);
      before += shaped.before;
      changed ||= shaped.changed;
      if (shaped.choice !== undefined) kept.push(shaped.choice);
    }
    if (usage != null) {
      // Callers read usage from a chunk without choices; upstreams also send it beside a delta, or with each of them.
      if (this.#options.wantsUsage) this.#usage = { ...chunk, choices: [] };
      changed = true;
      delete chunk.usage;
    }
    if (kept.length === 0) return before;
    if (changed) chunk.choices = kept;
    return before + this.#send(raw, chunk, changed);
  }

  #takeUsage(): string {
    const usage = this.#usage;
    this.#usage = undefined;
    return usage === undefined ? "" : this.#send("", usage, true);
  }

  /** Changes the choice in place where it must change; an undefined choice is not sent. */
  #shapeChoice(choice: JsonObject): { choice: JsonObject | undefined; changed: boolean; before: string } {
    const index = typeof choice.index === "number" ? choice.index : 0;
    const state = this.#choice(index);
    if (state.finished) return { choice: undefined, changed: true, before: "" };
    let changed = false;
    let before = "";
    let delta = choice.delta;
    if (!isObject(delta)) {
      delta = {};
      choice.delta = delta;
      changed = true;
    }
    const finish = typeof choice.finish_reason === "string" ? choice.finish_reason : undefined;
    const content = typeof delta.content === "string" ? delta.content : "";
    const other = hasAnswer(delta, otherAnswers);

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
      if (other || finish !== undefined) {
        before = this.#heldChunk(index, state, finish !== undefined && !other);
      } else if (state.held.size > this.#options.maxHeldCharacters) {
        return { choice: undefined, changed: true, before: this.#heldChunk(index, state, false) };
      } else if (early) {
        return { choice: undefined, changed: true, before };
      }
    }
    state.otherSent ||= other;
    if (finish !== undefined) {
      const tail = state.restorer?.flush() ?? "";
      if (tail !== "") {
        if (content === "") {
          before += this.#ownChunk(index, state, { content: tail });
        } else {
          delta.content = `${String(delta.content)}${tail}`;
          changed = true;
        }
      }
      state.finished = true;
    }
    if (!state.roleSent) {
      state.roleSent = true;
      if (delta.role !== "assistant") {
        choice.delta = { role: "assistant", ...delta, ...(delta.role === undefined ? {} : { role: "assistant" }) };
        changed = true;
      }
    }
    return { choice, changed, before };
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
    const content = (state.restorer?.push(text) ?? text) + (last ? (state.restorer?.flush() ?? "") : "");
    return this.#ownChunk(index, state, { content });
  }

  /** Everything that was kept back in choices without a finish reason. */
  #releaseHeld(complete: boolean): string {
    let out = "";
    this.#choices.forEach((state, index) => {
      if (state.finished) return;
      const rest = this.#guard?.rest(index, {});
      if (typeof rest?.content === "string") rest.content = state.restorer?.push(rest.content) ?? rest.content;
      if (rest !== undefined) out += this.#ownChunk(index, state, rest);
      out += this.#heldChunk(index, state, complete);
      const tail = state.restorer?.flush() ?? "";
      if (tail !== "") out += this.#ownChunk(index, state, { content: tail });
    });
    return out;
  }

  /** The end of a stream that has failed, with the reason. */
  fail(error: InBandError): string {
    const released = this.#releaseHeld(false) + this.#takeUsage();
    const open = this.#choices.flatMap((state, index) => (state.finished ? [] : [index]));
    // What came after the last finish reason was no answer any more: the caller has the whole of it.
    if (open.length === 0 && this.#choices.length > 0) return `${released}data: [DONE]\n\n`;
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
    const chunk = { ...this.#names(), choices: [{ index, delta: { ...role, ...delta }, finish_reason: null }] };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }

  #names(): JsonObject {
    const { identity } = this.#options;
    const model = this.otherModel ?? this.#options.model;
    return { id: this.#id ?? identity.id, object: chunkObject, created: this.#created ?? identity.created, model };
  }

  #choice(index: number): ChoiceState {
    const at = Number.isSafeInteger(index) && index >= 0 && index < 128 ? index : 0;
    let state = this.#choices[at];
    while (state === undefined) {
      this.#choices.push({
        roleSent: false,
        contentSent: false,
        otherSent: false,
        finished: false,
        held: undefined,
        blankLineDue: false,
        restorer: this.#options.restore?.stream(),
      });
      state = this.#choices[at];
    }
    return state;
  }

  /** The event of a chunk, with the names that the caller is to see; in the very text that it came in if nothing has changed and it is one line. */
  #send(raw: string, chunk: JsonObject, changed: boolean): string {
    const model = this.otherModel ?? this.#options.model;
    const isNamed = chunk.model === model && chunk.object === chunkObject && chunk.id != null && chunk.created != null;
    if (!changed && isNamed && !raw.includes("\n")) return `data: ${raw}\n\n`;
    if (!isNamed) {
      chunk.model = model;
      chunk.object = chunkObject;
      if (chunk.id == null || chunk.created == null) {
        const { id, created } = this.#names();
        Object.assign(chunk, { id, created });
      }
    }
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}

/** The members of a delta with an answer that is not text. */
const otherAnswers = ["tool_calls", "function_call", "refusal", "audio", "images"] as const;
