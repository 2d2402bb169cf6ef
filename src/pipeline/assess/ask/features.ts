import { windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { isDense, type TopicCounts, topicCountsOf } from "./vocabulary.ts";

/** What an ask looks like, measured once and read by every inference. */
export interface AskFeatures {
  readonly characters: number;
  /** Topics named in the beginning and the end of the ask, outside code. */
  readonly topics: TopicCounts;
  /** Lines that are list items, answer options (`A. …`), code, and frames of a stack trace. */
  readonly listItems: number;
  readonly options: number;
  readonly codeLines: number;
  readonly traceLines: number;
  readonly numbers: number;
  /** Signs of formulas: TeX commands, powers, roots, relations. */
  readonly mathSigns: number;
  readonly commas: number;
  /** Characters of scripts that pack a word into one or two of them. */
  readonly denseCharacters: number;
  /** The language puts its verb last (Japanese, Korean, Hindi): what is to be done stands at the end. */
  readonly verbLast: boolean;
  /** Names as programs have them: camelCase, snake_case, and words in backticks. */
  readonly identifiers: number;
}

/** Words are looked up in this much of the ask: what is wanted is said first or last. */
const wordsHead = 1_200;
const wordsTail = 400;
/** Characters whose shape is measured. */
const shapeHead = 2_000;
const shapeTail = 500;

export function featuresOf(ask: string): AskFeatures {
  const shown = windowOf(ask, shapeHead, shapeTail);
  const shape = shapeOf(shown);
  return {
    characters: ask.length,
    topics: topicCountsOf(windowOf(withoutFences(shown), wordsHead, wordsTail)),
    ...shape,
  };
}

/** The text outside fenced code; all of it when nothing stands outside. */
function withoutFences(text: string): string {
  if (!text.includes("```")) return text;
  const outside = text
    .split("```")
    .filter((_, index) => index % 2 === 0)
    .join(" ");
  return outside.trim() === "" ? text : outside;
}

const codeEnd = new Set([...";{}()[],:>"].map((sign) => sign.charCodeAt(0)));

/** One pass over the characters. */
function shapeOf(text: string) {
  let listItems = 0;
  let options = 0;
  let codeLines = 0;
  let traceLines = 0;
  let numbers = 0;
  let mathSigns = 0;
  let commas = 0;
  let denseCharacters = 0;
  let identifiers = 0;
  let verbLast = false;
  let brackets = 0; // brackets, semicolons, equals signs of the line so far
  let atLineStart = true;
  let indent = 0;
  let last = 10;
  let lastInk = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 10;
    // Most of most texts: a small letter inside a line.
    if (code >= 97 && code <= 122 && !atLineStart) {
      last = lastInk = code;
      continue;
    }
    if (code === 10) {
      if (!atLineStart) {
        if ((brackets >= 2 && codeEnd.has(lastInk)) || (indent >= 2 && brackets >= 2)) codeLines++;
      }
      atLineStart = true;
      brackets = 0;
      indent = 0;
      lastInk = 0;
      last = code;
      continue;
    }
    const blank = code === 32 || code === 9 || code === 13;
    if (atLineStart) {
      if (blank) {
        indent++;
        last = code;
        continue;
      }
      atLineStart = false;
      const next = text.charCodeAt(at + 1);
      const afterNext = text.charCodeAt(at + 2);
      const marked = (next === 46 || next === 41) && afterNext === 32; // "A. ", "1) "
      if (marked && code >= 65 && code <= 74) options++;
      else if ((marked && isDigit(code)) || ((code === 45 || code === 42 || code === 0x2022) && next === 32))
        listItems++;
      else if (code === 97 && next === 116 && afterNext === 32 && indent > 1)
        traceLines++; // "   at f (x.js:1)"
      else if (code === 70 && text.startsWith('File "', at)) traceLines++;
    }
    if (!blank) lastInk = code;
    if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90)) {
      if (code < 97 && last >= 97 && last <= 122) identifiers++;
    } else if (isDigit(code)) {
      if (!isDigit(last) && last !== 46) numbers++;
    } else if (code > 0x8ff && isVerbLast(code)) {
      verbLast = true;
      if (isDense(code)) denseCharacters++;
    } else if (code > 0xdff && isDense(code)) denseCharacters++;
    else {
      switch (code) {
        case 36: // $
        case 92: // backslash
        case 94: // ^
        case 0x221a: // √
        case 0x2211: // ∑
        case 0x222b: // ∫
        case 0x2264: // ≤
        case 0x2265: // ≥
        case 0x03c0: // π
          mathSigns++;
          break;
        case 95: // _
          if (last >= 97 && last <= 122) identifiers++;
          break;
        case 96: // backtick
          identifiers += 0.5;
          break;
        case 61: // =
          mathSigns += 0.5;
          brackets++;
          break;
        case 40:
        case 41:
        case 59:
        case 91:
        case 93:
        case 123:
        case 125:
          brackets++;
          break;
        case 44:
        case 0x3001:
        case 0xff0c:
          commas++;
          break;
      }
    }
    last = code;
  }
  return {
    listItems,
    options,
    codeLines,
    traceLines,
    numbers,
    mathSigns,
    commas,
    denseCharacters,
    identifiers,
    verbLast,
  };
}

/** Devanagari, kana and Hangul. */
function isVerbLast(code: number): boolean {
  return (code <= 0x97f && code >= 0x900) || (code >= 0x3040 && code <= 0x30ff) || (code >= 0xac00 && code <= 0xd7af);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
