import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { AnswerGuard, GuardedStream } from "#privacy/redaction.ts";

/** Takes the gateway's own key out of a whole answer, in place. True when it was in it. */
export function guardAnswer(answer: JsonObject, raw: string, guard: AnswerGuard | undefined): boolean {
  return guard?.mayContainKey(raw) === true && replaceIn(answer, guard);
}

/** Takes the gateway's own key out of a stream, also where it comes in pieces. One serves one stream. */
export class StreamGuard {
  readonly #guard: AnswerGuard;
  /** The texts of each choice, by their place in its deltas. */
  readonly #choices = new Map<number, Map<string, GuardedPlace>>();

  constructor(guard: AnswerGuard) {
    this.#guard = guard;
  }

  /** The content of a choice, for chunks that are known by their pattern. */
  contentOf(index: number): GuardedStream {
    return this.#place(index, ["content"])?.text ?? this.#guard.stream();
  }

  /** Changes a chunk in place; true when it did. */
  chunk(raw: string, chunk: JsonObject): boolean {
    let changed = false;
    const mayContainKey = this.#guard.mayContainKey(raw);
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      const index = typeof choice.index === "number" ? choice.index : 0;
      if (isObject(choice.delta)) changed = this.#pieces(index, choice.delta, []) || changed;
      if (typeof choice.finish_reason !== "string") continue;
      const rest = this.rest(index, isObject(choice.delta) ? choice.delta : {});
      if (rest === undefined) continue;
      choice.delta = rest;
      changed = true;
    }
    // What stands in one string is left: ids, names, whatever an upstream adds.
    return (mayContainKey && replaceIn(chunk, this.#guard)) || changed;
  }

  /** The delta with what was held back of its choice, which has ended; undefined where there is nothing. */
  rest(index: number, delta: JsonObject): JsonObject | undefined {
    let found = false;
    for (const { path, text } of this.#choices.get(index)?.values() ?? []) {
      const held = text.flush();
      if (held === "") continue;
      append(delta, path, held);
      found = true;
    }
    return found ? delta : undefined;
  }

  #pieces(index: number, value: JsonObject | Json[], path: readonly (string | number)[]): boolean {
    let changed = false;
    for (const key of Object.keys(value)) {
      if (path.length > deepest || whole.has(key)) continue;
      const at = Array.isArray(value) ? Number(key) : key;
      const item = (value as JsonObject)[key]; // arrays have their places for keys
      if (typeof item === "string") {
        if (item === "") continue;
        const place = this.#place(index, [...path, at]);
        const guarded = place === undefined ? this.#guard.text(item) : place.text.push(item);
        if (guarded === item) continue;
        (value as JsonObject)[key] = guarded;
        changed = true;
      } else if (item !== null && typeof item === "object") {
        // Items of a list are known by their own index, wherever they stand in this chunk.
        const known = typeof at === "number" && isObject(item) && typeof item.index === "number" ? item.index : at;
        changed = this.#pieces(index, item, [...path, known]) || changed;
      }
    }
    return changed;
  }

  /** Undefined where an upstream invents more places than a memory should hold. */
  #place(index: number, path: readonly (string | number)[]): GuardedPlace | undefined {
    let places = this.#choices.get(index);
    if (places === undefined) {
      if (this.#choices.size >= maxChoices) return undefined;
      places = new Map();
      this.#choices.set(index, places);
    }
    const name = path.length === 1 ? String(path[0]) : path.join(" ");
    let place = places.get(name);
    if (place === undefined && places.size < maxPlaces) {
      place = { path, text: this.#guard.stream() };
      places.set(name, place);
    }
    return place;
  }
}

interface GuardedPlace {
  readonly path: readonly (string | number)[];
  readonly text: GuardedStream;
}

const maxChoices = 128;
/** In one choice. */
const maxPlaces = 1_024;
const deepest = 6;
/** Members that come whole. */
const whole: ReadonlySet<string> = new Set(["role", "type", "id", "index", "format"]);

/** Whether a delta has no text that comes in pieces but its content. */
export function hasContentOnly(delta: JsonObject): boolean {
  return Object.entries(delta).every(([key, value]) => {
    if (key === "content" || whole.has(key) || value === null || value === "") return true;
    return typeof value === "object" ? Object.keys(value).length === 0 : typeof value !== "string";
  });
}

/** Adds a piece to the text at a place of a delta, which need not have it. */
function append(delta: JsonObject, path: readonly (string | number)[], piece: string): void {
  let at: Json = delta;
  for (let step = 0; step < path.length - 1; step++) {
    const key = path[step] ?? "";
    const empty: Json = typeof path[step + 1] === "number" ? [] : {};
    if (Array.isArray(at)) {
      let item: Json | undefined = at.find((each) => isObject(each) && each.index === key);
      if (item === undefined) {
        item = { index: key };
        at.push(item);
      }
      at = item;
    } else if (isObject(at)) {
      const next: Json = at[key] ?? empty;
      at[key] = next;
      at = next;
    }
  }
  const last = path.at(-1) ?? "";
  if (isObject(at)) at[last] = `${typeof at[last] === "string" ? at[last] : ""}${piece}`;
}

/** Replaces the key in all strings and keys of a value; true when it was there. */
function replaceIn(value: JsonObject | Json[], guard: AnswerGuard): boolean {
  let changed = false;
  for (const key of Object.keys(value)) {
    const holder = value as JsonObject; // arrays have their places for keys
    const item = holder[key];
    const name = guard.text(key);
    if (typeof item === "string") {
      const text = guard.text(item);
      if (text !== item) {
        holder[key] = text;
        changed = true;
      }
    } else if (item !== null && typeof item === "object") {
      changed = replaceIn(item, guard) || changed;
    }
    if (name === key) continue;
    holder[name] = holder[key] ?? null;
    delete holder[key];
    changed = true;
  }
  return changed;
}
