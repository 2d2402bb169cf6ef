import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { ChunkEvent, Likeness, UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { inBandErrorOf } from "./failure-answer.ts";

/** Puts redacted values back into answer text; one per choice, because each choice is a text of its own. */
export interface TextRestorer {
  push(text: string): string;
  flush(): string;
}

/** What a completion is called, and when it was made, in Unix seconds. */
export interface Identity {
  readonly id: string;
  readonly created: number;
}

export interface ShapeOptions {
  /** The upstream id of the model that answers; every chunk names it. */
  readonly model: string;
  /** For chunks of our own making, when the upstream has said nothing of its own. */
  readonly identity: Identity;
  /** Whether the caller asked for the usage chunk. */
  readonly wantsUsage: boolean;
  /** Reasoning held back for the first content delta is let go as content of its own beyond this many characters. */
  readonly maxHeldCharacters: number;
  readonly restorer?: () => TextRestorer;
}

/** What has happened to one choice of the answer so far. */
interface ChoiceState {
  roleSent: boolean;
  contentSent: boolean;
  finished: boolean;
  held: string;
  readonly restorer: TextRestorer | undefined;
}

/** What chunks of one pattern become on their way to the caller: this text around their content. */
interface Frame {
  readonly pattern: object;
  readonly choice: ChoiceState;
  /** They leave as they came. */
  readonly unchanged: boolean;
  readonly before: string;
  readonly after: string;
}

/** Stands for the content while a frame is made. JSON leaves it alone; should it stand elsewhere too, there is no frame. */
const marker = "content-of-the-chunk";

const chunkObject = "chat.completion.chunk";

/**
 * Turns the upstream's chunks into what a caller may rely on: role first, reasoning folded into the first content delta,
 * one finish reason per choice, the usage chunk only if asked for, and never a clean end to a broken stream. A chunk that
 * needs no change leaves as the very text it came in. One shaper serves one stream.
 */
export class StreamShaper {
  readonly #options: ShapeOptions;
  readonly #choices: ChoiceState[] = [];
  /** The upstream's names for the completion, as far as it has said them. */
  #id: Json | undefined;
  #created: Json | undefined;
  #frame: Frame | undefined;

  constructor(options: ShapeOptions) {
    this.#options = options;
  }

  /** The server-sent events, as text, that one upstream event becomes; "" when the caller is to see nothing. */
  shape(event: UpstreamEvent): string {
    switch (event.kind) {
      case "alive":
        return "";
      case "chunk":
        return event.likeness === undefined
          ? this.#shapeChunk(event.raw, event.chunk)
          : this.#shapeLike(event, event.likeness);
      case "end":
        return `${this.#releaseHeld()}data: [DONE]\n\n`;
      case "broken":
        return this.#breakOff(event.failure);
    }
  }

  /** Shapes a chunk as the last one of its pattern was, without reading it, as long as that comes to the same. */
  #shapeLike(event: ChunkEvent, likeness: Likeness): string {
    const frame = this.#frame;
    if (frame === undefined || frame.pattern !== likeness.pattern) {
      const text = this.#shapeChunk(event.raw, event.chunk);
      this.#frame = this.#frameOf(likeness);
      return text;
    }
    const { restorer, finished, held } = frame.choice;
    if (finished || held !== "") return this.#shapeChunk(event.raw, event.chunk);
    if (restorer !== undefined) {
      const content: string = JSON.parse(`"${likeness.contentJson}"`);
      return frame.before + JSON.stringify(restorer.push(content)).slice(1, -1) + frame.after;
    }
    // One template, not two sums: each would be a string of its own to collect.
    return frame.unchanged ? likeness.event : `${frame.before}${likeness.contentJson}${frame.after}`;
  }

  /** The frame of a pattern, one chunk of which has just been shaped: from now on its choice has its role and content. */
  #frameOf(likeness: Likeness): Frame | undefined {
    const raw = likeness.withContent(marker);
    const chunk: JsonObject = JSON.parse(raw);
    const only = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isObject(only)) return undefined;
    const choice = this.#choice(typeof only.index === "number" ? only.index : 0);
    const delta = only.delta;
    // Reasoning beside content leaves as it came only while nothing is held back.
    if (choice.finished || choice.held !== "" || !choice.contentSent || !isObject(delta)) return undefined;
    const sent = this.#send(raw, chunk, choice.restorer !== undefined);
    const [before, after, ...more] = sent.split(marker);
    if (before === undefined || after === undefined || more.length > 0) return undefined;
    return { pattern: likeness.pattern, choice, unchanged: sent === `data: ${raw}\n\n`, before, after };
  }

  #shapeChunk(raw: string, chunk: JsonObject): string {
    this.#id ??= chunk.id;
    this.#created ??= chunk.created;
    const choices = chunk.choices;
    if (!Array.isArray(choices) || choices.length === 0) {
      // The usage chunk has no choices. One without usage either says nothing; callers trip over it.
      if (chunk.usage == null || !this.#options.wantsUsage) return "";
      return this.#send(raw, chunk, false);
    }
    let changed = false;
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
    if (chunk.usage != null && !this.#options.wantsUsage) {
      changed = true;
      delete chunk.usage;
    }
    if (kept.length === 0) return before;
    if (changed) chunk.choices = kept;
    return before + this.#send(raw, chunk, changed);
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
    const reasoning = reasoningOf(delta);

    if (reasoning !== "" && !state.contentSent) {
      state.held += reasoning;
      dropReasoning(delta);
      changed = true;
      if (content === "" && !("tool_calls" in delta) && finish === undefined) {
        if (state.held.length <= this.#options.maxHeldCharacters) return { choice: undefined, changed, before };
        delta.content = this.#takeHeld(state);
      }
    }
    if (content !== "") {
      if (state.held !== "") {
        delta.content = this.#takeHeld(state) + this.#restored(state, content);
        changed = true;
      } else if (state.restorer !== undefined) {
        delta.content = state.restorer.push(content);
        changed = true;
      }
      state.contentSent = true;
    }
    if (finish !== undefined) {
      const tail = this.#takeHeld(state) + (state.restorer?.flush() ?? "");
      if (tail !== "") {
        if (content === "") {
          before = this.#ownChunk(index, state, { content: tail });
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

  #restored(state: ChoiceState, text: string): string {
    return state.restorer === undefined ? text : state.restorer.push(text);
  }

  /** What was held back, as content from now on. */
  #takeHeld(state: ChoiceState): string {
    if (state.held === "") return "";
    const text = this.#restored(state, state.held);
    state.held = "";
    state.contentSent = true;
    return text;
  }

  #releaseHeld(): string {
    let out = "";
    this.#choices.forEach((state, index) => {
      if (state.finished) return;
      const tail = this.#takeHeld(state) + (state.restorer?.flush() ?? "");
      if (tail !== "") out += this.#ownChunk(index, state, { content: tail });
    });
    return out;
  }

  #breakOff(failure: UpstreamFailure): string {
    const released = this.#releaseHeld();
    const open = this.#choices.flatMap((state, index) => (state.finished ? [] : [index]));
    // What came after the last finish reason was no answer any more: the caller has the whole of it.
    if (open.length === 0 && this.#choices.length > 0) return `${released}data: [DONE]\n\n`;
    const indices = open.length === 0 ? [0] : open;
    const chunk = {
      ...this.#names(),
      error: inBandErrorOf(failure),
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
    const { identity, model } = this.#options;
    return { id: this.#id ?? identity.id, object: chunkObject, created: this.#created ?? identity.created, model };
  }

  #choice(index: number): ChoiceState {
    const at = Number.isSafeInteger(index) && index >= 0 && index < 128 ? index : 0;
    for (let missing = this.#choices.length; missing <= at; missing++) {
      this.#choices.push({
        roleSent: false,
        contentSent: false,
        finished: false,
        held: "",
        restorer: this.#options.restorer?.(),
      });
    }
    const state = this.#choices[at];
    if (state === undefined) throw new Error("unreachable: the loop above made it");
    return state;
  }

  #send(raw: string, chunk: JsonObject, changed: boolean): string {
    let same = !changed;
    if (chunk.model !== this.#options.model) {
      chunk.model = this.#options.model;
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
    return `data: ${same && !raw.includes("\n") ? raw : JSON.stringify(chunk)}\n\n`;
  }
}

/** The reasoning text of a delta, under either of the names in use. */
function reasoningOf(delta: JsonObject): string {
  if (typeof delta.reasoning === "string") return delta.reasoning;
  if (typeof delta.reasoning_content === "string") return delta.reasoning_content;
  return "";
}

function dropReasoning(delta: JsonObject): void {
  delete delta.reasoning;
  delete delta.reasoning_content;
  delete delta.reasoning_details;
}
