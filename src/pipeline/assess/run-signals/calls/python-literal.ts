import type { Json } from "#domain/chat.ts";
import { matchAt } from "#platform/text-search/match-at.ts";

/**
 * Literals as Python writes them. Libraries put the arguments of a call into a conversation as `repr()` gives them:
 * `{'command': "it's"}`.
 */

/** A literal, and the index behind it. */
interface ReadLiteral {
  readonly value: Json;
  readonly end: number;
}

const maxDepth = 16;
const white = /[ \t\r\n]*/y;
const word = /(?:True|False|None|true|false|null)\b/y;
const number = /-?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?/y;
const string =
  /[rRbBuUfF]{0,2}(?:"""([\s\S]*?)"""|'''([\s\S]*?)'''|"((?:[^"\\\n]|\\[\s\S])*)"|'((?:[^'\\\n]|\\[\s\S])*)')/y;
const words: Readonly<Record<string, Json>> = { True: true, False: false, None: null, true: true, false: false };
const escaped = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\s\S]))/g;
const controls: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\n": "" };

/** The literal that a text consists of; undefined where it is none. */
export function pythonLiteralIn(text: string): Json | undefined {
  const read = pythonLiteralAt(text, 0);
  return read === undefined || behindWhite(text, read.end) < text.length ? undefined : read.value;
}

/** The literal that begins at an index, or behind white space there. Strings of any kind are read by their letters alone. */
export function pythonLiteralAt(text: string, from: number, depth = 0): ReadLiteral | undefined {
  const at = behindWhite(text, from);
  if (depth > maxDepth) return undefined;
  if (text[at] === "{") return itemsAt(text, at, "}", depth);
  if (text[at] === "[") return itemsAt(text, at, "]", depth);
  if (text[at] === "(") return itemsAt(text, at, ")", depth);
  const quoted = matchAt(string, text, at);
  if (quoted !== undefined) {
    const value = (quoted[1] ?? quoted[2] ?? quoted[3] ?? quoted[4] ?? "").replace(escaped, unescaped);
    return { value, end: at + quoted[0].length };
  }
  const [named] = matchAt(word, text, at) ?? [];
  if (named !== undefined) return { value: words[named] ?? null, end: at + named.length };
  const [digits] = matchAt(number, text, at) ?? [];
  return digits === undefined ? undefined : { value: Number(digits), end: at + digits.length };
}

/** A dictionary, a list or a tuple. */
function itemsAt(text: string, start: number, close: string, depth: number): ReadLiteral | undefined {
  const named = new Map<string, Json>();
  const listed: Json[] = [];
  let at = behindWhite(text, start + 1);
  while (text[at] !== close) {
    const first = pythonLiteralAt(text, at, depth + 1);
    if (first === undefined) return undefined;
    at = behindWhite(text, first.end);
    if (close === "}") {
      const value = text[at] === ":" ? pythonLiteralAt(text, at + 1, depth + 1) : undefined;
      if (value === undefined) return undefined;
      named.set(String(first.value), value.value);
      at = behindWhite(text, value.end);
    } else listed.push(first.value);
    if (text[at] === ",") at = behindWhite(text, at + 1);
    else if (text[at] !== close) return undefined;
  }
  return { value: close === "}" ? Object.fromEntries(named) : listed, end: at + 1 };
}

function behindWhite(text: string, at: number): number {
  return at + (matchAt(white, text, at)?.[0].length ?? 0);
}

function unescaped(_: string, byte?: string, unit?: string, character?: string): string {
  const code = byte ?? unit;
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
  return controls[character ?? ""] ?? character ?? "";
}
