import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import { type InBandError, inBandErrorOf } from "#pipeline/respond/failure-answer.ts";
import { hasContentOnly, StreamGuard } from "#pipeline/respond/guard-answer.ts";
import type { TextRestorer } from "#pipeline/respond/text-restorer.ts";
import type { GuardedStream } from "#privacy/redaction.ts";
import type { ChunkRun, ContentTemplate, UpstreamEvent } from "#upstream/upstream.ts";
import { fieldsOf, type HeldReasoning, hasReasoningText, holdReasoning, textOf } from "./held-reasoning.ts";
import type { ShapeOptions } from "./shape-options.ts";

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
  readonly restorer: TextRestorer | undefined;
}

/** Whether chunks of a choice go on as the last one did: neither is it finished, nor does it hold anything back. */
function isOpen({ finished, held }: ChoiceState): boolean {
  return !finished && held === undefined;
}

/** What chunks of one pattern become on their way to the caller: this text around their content. */
interface ChunkTemplate {
  readonly pattern: ContentTemplate;
  readonly choice: ChoiceState;
  readonly guarded: GuardedStream | undefined;
  /** They leave as they came. */
  readonly unchanged: boolean;
  readonly before: string;
  readonly after: string;
}

/** A chunk that left as it came. Those that differ from it in their content only will do so too, unless the state of its choice changes. */
interface UnchangedChunk {
  readonly raw: string;
  readonly index: number;
}

/** Placeholder of the content while a template is made. JSON does not escape it; where it occurs twice, there is no template. */
const contentPlaceholder = "content-of-the-chunk";

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
  #template: ChunkTemplate | undefined;
  /** The last chunk, if it left as it came and has no text but the content of one choice. */
  #lastUnchanged: UnchangedChunk | undefined;
  /** A chunk for the usage that came beside choices; the last one is sent at the stream's end. */
  #usage: JsonObject | undefined;
  /** What the upstream last called its model, and that name if it is another than the one asked. */
  #lastModel: Json | undefined;
  #otherModel: string | undefined;

  constructor(options: ShapeOptions) {
    this.#options = options;
    this.#guard = options.guard === undefined ? undefined : new StreamGuard(options.guard);
  }

  /** What the upstream calls the model that answers, if it is another than the one that was asked. */
  get otherModel(): string | undefined {
    return this.#otherModel;
  }

  /** The server-sent events, as text, that one upstream event becomes; "" when the caller is to see nothing. */
  shape(event: UpstreamEvent): string {
    switch (event.kind) {
      case "keepalive":
        return "";
      case "chunk":
        return this.#shapeChunk(event.raw, event.chunk);
      case "run":
        return this.#shapeRun(event);
      case "end":
        return `${this.#releaseHeld(true)}${this.#takeUsage()}data: [DONE]\n\n`;
      case "broken":
        return this.fail(inBandErrorOf(event.failure));
    }
  }

  /** What decides for each chunk of a pattern whether it leaves as it came; undefined where more is to be done. */
  fastPathFor(pattern: ContentTemplate): { readonly guarded: GuardedStream | undefined } | undefined {
    const template = this.#template;
    return template?.pattern === pattern && template.unchanged && isOpen(template.choice) ? template : undefined;
  }

  /** Shapes chunks as the last one of their pattern was, without reading them, as long as that comes to the same. */
  #shapeRun(run: ChunkRun): string {
    const { events, count, template: pattern } = run;
    if (this.#template?.pattern !== pattern) this.#template = this.#templateOf(pattern);
    let out = "";
    for (let from = 0; from < count; ) {
      const to = this.#passing(run, from);
      if (to - from === count) return events;
      out += events.slice(run.eventFrom(from), run.eventFrom(to));
      if (to < count) out += this.#shapeLike(pattern, events.slice(run.contentFrom(to), run.contentTo(to)));
      from = to + 1;
    }
    return out;
  }

  /** Where the events of a run end that leave as they came, from one on. */
  #passing(run: ChunkRun, from: number): number {
    const fastPath = this.fastPathFor(run.template);
    if (fastPath === undefined) return from;
    const { guarded } = fastPath;
    if (guarded === undefined) return run.count;
    const { events: json, contentEnds: ends, template } = run;
    const first = template.head.length;
    return guarded.passUnchanged({ json, ends, first, gap: template.tail.length + first }, from);
  }

  /** Shapes a chunk of a pattern, which has this content. */
  #shapeLike(pattern: ContentTemplate, contentJson: string): string {
    const template = this.#template;
    if (template?.pattern !== pattern) {
      const text = this.#shapeRead(pattern, contentJson);
      this.#template = this.#templateOf(pattern);
      return text;
    }
    const { choice, guarded, before, after } = template;
    if (!isOpen(choice) || guarded?.passesUnchanged(contentJson) === false) {
      return this.#shapeRead(pattern, contentJson);
    }
    if (choice.restorer === undefined) return before + contentJson + after;
    const content: string = JSON.parse(`"${contentJson}"`);
    return before + JSON.stringify(choice.restorer.push(content)).slice(1, -1) + after;
  }

  #shapeRead(pattern: ContentTemplate, contentJson: string): string {
    const raw = pattern.withContent(contentJson);
    return this.#shapeChunk(raw, JSON.parse(raw));
  }

  /** The frame of a pattern, one chunk of which has been shaped; undefined before its choice has its role and content. */
  #templateOf(pattern: ContentTemplate): ChunkTemplate | undefined {
    const last = this.#lastUnchanged;
    this.#lastUnchanged = undefined;
    if (last?.raw === pattern.source) {
      const { head: before, tail: after } = pattern;
      const choice = this.#choice(last.index);
      return { pattern, choice, guarded: this.#guard?.contentOf(last.index), unchanged: true, before, after };
    }
    const raw = pattern.withContent(contentPlaceholder);
    const chunk: JsonObject = JSON.parse(raw);
    const only = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isObject(only)) return undefined;
    // Another model has been named meanwhile.
    if (chunk.model != null && chunk.model !== this.#lastModel) return undefined;
    const index = typeof only.index === "number" ? only.index : 0;
    const choice = this.#choice(index);
    const delta = only.delta;
    // Reasoning beside content leaves as it came only while nothing is held back.
    if (!isOpen(choice) || !choice.contentSent || !isObject(delta)) return undefined;
    const sent = this.#send(raw, chunk, choice.restorer !== undefined);
    const [before, after, ...more] = sent.split(contentPlaceholder);
    if (before === undefined || after === undefined || more.length > 0) return undefined;
    if (this.#guard?.isOnlyInContent(raw, chunk) === false) return undefined;
    const guarded = this.#guard?.contentOf(index);
    const unchanged = choice.restorer === undefined && sent === `data: ${raw}\n\n`;
    return { pattern, choice, guarded, unchanged, before, after };
  }

  #shapeChunk(raw: string, chunk: JsonObject): string {
    this.#lastUnchanged = undefined;
    const guarded = this.#guard?.chunk(raw, chunk) === true;
    if (chunk.model !== this.#lastModel && chunk.model != null) {
      this.#lastModel = chunk.model;
      this.#otherModel = otherModel(this.#options.model, chunk.model);
      // Chunks of its pattern name the model as before; the next one has to be read for that.
      this.#template = undefined;
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
    const data = this.#dataOf(raw, chunk, changed);
    if (!changed && data === raw && this.#template === undefined) this.#noteUnchanged(raw, kept);
    return before + eventOf(data);
  }

  #noteUnchanged(raw: string, [choice]: readonly Json[]): void {
    if (!isObject(choice) || !isObject(choice.delta) || !hasContentOnly(choice.delta)) return;
    this.#lastUnchanged = { raw, index: typeof choice.index === "number" ? choice.index : 0 };
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
    const other = hasOtherAnswer(delta);

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

  #restored(state: ChoiceState, text: string): string {
    return state.restorer === undefined ? text : state.restorer.push(text);
  }

  /** Puts into a delta its content and what was held back before it. */
  #addHeld(state: ChoiceState, delta: JsonObject, content: string): void {
    const held = state.held;
    state.held = undefined;
    let early = "";
    if (held !== undefined) {
      if (this.#options.reasoning === "field") Object.assign(delta, fieldsOf(held));
      else early = textOf(held);
    }
    const blankLine = early !== "" || state.blankLineDue ? "\n\n" : "";
    state.blankLineDue = false;
    delta.content = this.#restored(state, early + blankLine + content);
  }

  /** A chunk with what was held back. `last`: the answer ends here, and reasoning is all of it unless more was sent. */
  #heldChunk(index: number, state: ChoiceState, last: boolean): string {
    const { held } = state;
    if (held === undefined) return "";
    state.held = undefined;
    const text = textOf(held);
    const asContent = this.#options.reasoning === "content" || (last && !state.otherSent && text !== "");
    state.otherSent = true;
    if (!asContent) return this.#ownChunk(index, state, fieldsOf(held));
    state.blankLineDue = true;
    const content = this.#restored(state, text) + (last ? (state.restorer?.flush() ?? "") : "");
    return this.#ownChunk(index, state, { content });
  }

  /** Everything that was kept back in choices without a finish reason. */
  #releaseHeld(complete: boolean): string {
    let out = "";
    this.#choices.forEach((state, index) => {
      if (state.finished) return;
      const rest = this.#guard?.rest(index, {});
      if (typeof rest?.content === "string") rest.content = this.#restored(state, rest.content);
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
    const model = this.#otherModel ?? this.#options.model;
    return { id: this.#id ?? identity.id, object: chunkObject, created: this.#created ?? identity.created, model };
  }

  #choice(index: number): ChoiceState {
    const at = Number.isSafeInteger(index) && index >= 0 && index < 128 ? index : 0;
    for (let missing = this.#choices.length; missing <= at; missing++) {
      this.#choices.push({
        roleSent: false,
        contentSent: false,
        otherSent: false,
        finished: false,
        held: undefined,
        blankLineDue: false,
        restorer: this.#options.restorer?.(),
      });
    }
    const state = this.#choices[at];
    if (state === undefined) throw new Error("unreachable: the loop above made it");
    return state;
  }

  #send(raw: string, chunk: JsonObject, changed: boolean): string {
    return eventOf(this.#dataOf(raw, chunk, changed));
  }

  /** The chunk as it is sent, with its names; `raw` itself if nothing of it has changed. */
  #dataOf(raw: string, chunk: JsonObject, changed: boolean): string {
    const same = this.#nameChunk(chunk) && !changed && isOneLine(raw);
    return same ? raw : JSON.stringify(chunk);
  }

  /** Gives a chunk the names that the caller is to see. True if it had them. */
  #nameChunk(chunk: JsonObject): boolean {
    let same = true;
    const model = this.#otherModel ?? this.#options.model;
    if (chunk.model !== model) {
      chunk.model = model;
      same = false;
    }
    if (chunk.object !== chunkObject) {
      chunk.object = chunkObject;
      same = false;
    }
    if (chunk.id == null || chunk.created == null) {
      const { id, created } = this.#names();
      Object.assign(chunk, { id, created });
      same = false;
    }
    return same;
  }
}

/** An event has one data line. */
function isOneLine(raw: string): boolean {
  return !raw.includes("\n");
}

function eventOf(data: string): string {
  return `data: ${data}\n\n`;
}

/** Whether a delta carries an answer that is not text. */
function hasOtherAnswer(delta: JsonObject): boolean {
  return otherAnswers.some((name) => {
    const value = delta[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== "";
  });
}

const otherAnswers = ["tool_calls", "function_call", "refusal", "audio", "images"] as const;
