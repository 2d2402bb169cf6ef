import { windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { isDense, type TopicCounts, topicCountsOf } from "./vocabulary.ts";

const TAB = 9;
const LF = 10;
const CR = 13;
const BLANK = 32;
const CLOSE_PARENTHESIS = 41;
const ASTERISK = 42;
const HYPHEN = 45;
const POINT = 46;
const EQUALS = 61;
const CAPITAL_A = 65;
const CAPITAL_F = 70;
const CAPITAL_J = 74;
const UNDERSCORE = 95;
const BACKTICK = 96;
const SMALL_A = 97;
const SMALL_T = 116;
const BULLET = 0x2022;

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
  /** Lines of a pasted log that report a failure. */
  readonly failureLines: number;
  readonly numbers: number;
  /** Signs of formulas: TeX commands, powers, roots, relations. */
  readonly mathSigns: number;
  readonly commas: number;
  /** Characters of scripts that pack a word into one or two of them. */
  readonly denseCharacters: number;
  /** The language puts its verb last (Japanese, Korean, Hindi): what is to be done comes at the end. */
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

export function askFeaturesOf(ask: string): AskFeatures {
  const shown = windowOf(ask, shapeHead, shapeTail);
  const shape = shapeOf(shown);
  const { text, failureLines } = withoutLog(withoutFences(shown));
  return {
    characters: ask.length,
    topics: topicCountsOf(windowOf(withoutNewWording(withoutPlaceholders(text)), wordsHead, wordsTail)),
    failureLines,
    ...shape,
  };
}

const newWording =
  /(?:\b(?:to|into|as|zu|in|en|par|por|para|em|su|naar|na)|\s(?:на|в)|[为成作にへ]|로)\s?(?:"[^"\n]{1,40}"|“[^”\n]{1,40}”|«[^»\n]{1,40}»|„[^“”\n]{1,40}[“”]|「[^」\n]{1,40}」)/g;

/** The text without what a label or a title is to say: the ask is not about that. */
function withoutNewWording(text: string): string {
  return /["“«„「]/.test(text) ? text.replace(newWording, " ") : text;
}

/** A line as programs log: behind a date, a time, an address or a level. */
const logLine =
  /\n[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[.,\] ]|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3} \S+ \S+ \[|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\b[\]:|] ?)[^\n]*/g;
const failureInLog = /\b(?:ERROR|FATAL|FAILED|FAILURE|SEVERE|CRITICAL|panic|[A-Z]\w{0,40}(?:Error|Exception))\b/;

/** The text without the lines of a pasted log: they are about what has happened, and name parts of the program. */
function withoutLog(text: string): { readonly text: string; readonly failureLines: number } {
  if (!text.includes("\n")) return { text, failureLines: 0 };
  let failureLines = 0;
  const own = `\n${text}`.replace(logLine, (line) => {
    if (failureInLog.test(line)) failureLines++;
    return "\n";
  });
  // A log alone is all there is to be read.
  return own.trim() === "" ? { text, failureLines } : { text: own, failureLines };
}

/** The text without what stands in the place of redacted credentials: nobody has said these words. */
function withoutPlaceholders(text: string): string {
  return text.includes("[REDACTED:") ? text.replace(/\[REDACTED:\w{1,64}:\d{1,9}\]/g, " ") : text;
}

/** The text outside fenced code; all of it when nothing is outside. */
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
  let last = LF;
  let lastInk = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : LF;
    // Most of most texts: a small letter inside a line.
    if (isSmallLetter(code) && !atLineStart) {
      last = lastInk = code;
      continue;
    }
    if (code === LF) {
      if (!atLineStart && brackets >= 2 && (indent >= 2 || codeEnd.has(lastInk))) codeLines++;
      atLineStart = true;
      brackets = 0;
      indent = 0;
      lastInk = 0;
      last = code;
      continue;
    }
    const blank = code === BLANK || code === TAB || code === CR;
    if (atLineStart) {
      if (blank) {
        indent++;
        last = code;
        continue;
      }
      atLineStart = false;
      const start = lineStartAt(text, at, code, indent);
      if (start === optionLine) options++;
      else if (start === listLine) listItems++;
      else if (start === traceLine) traceLines++;
    }
    if (!blank) lastInk = code;
    if (isSmallLetter(code) || isCapital(code)) {
      if (isCapital(code) && isSmallLetter(last)) identifiers++;
    } else if (isDigit(code)) {
      if (!isDigit(last) && last !== POINT) numbers++;
    } else if (code > 0x8ff && isVerbLast(code)) {
      verbLast = true;
      if (isDense(code)) denseCharacters++;
    } else if (code > 0xdff && isDense(code)) denseCharacters++;
    else {
      const sign = signOf(code);
      if (sign === bracketSign) brackets++;
      else if (sign === commaSign) commas++;
      else if (sign === mathSign) mathSigns++;
      else if (code === EQUALS) {
        mathSigns += 0.5;
        brackets++;
      } else if (code === BACKTICK) identifiers += 0.5;
      else if (code === UNDERSCORE && isSmallLetter(last)) identifiers++;
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

/** What a line starts with, as far as it is counted; 0 for all others. */
const optionLine = 1;
const listLine = 2;
const traceLine = 3;

function lineStartAt(text: string, at: number, code: number, indent: number): number {
  const next = text.charCodeAt(at + 1);
  const afterNext = text.charCodeAt(at + 2);
  const marked = (next === POINT || next === CLOSE_PARENTHESIS) && afterNext === BLANK; // "A. ", "1) "
  if (marked && code >= CAPITAL_A && code <= CAPITAL_J) return optionLine;
  if (marked && isDigit(code)) return listLine;
  if ((code === HYPHEN || code === ASTERISK || code === BULLET) && next === BLANK) return listLine;
  if (code === SMALL_A && next === SMALL_T && afterNext === BLANK && indent > 1) return traceLine; // "   at f (x.js:1)"
  return code === CAPITAL_F && text.startsWith('File "', at) ? traceLine : 0;
}

/** Signs that are counted alike; 0 for all others. */
const mathSign = 1;
const bracketSign = 2;
const commaSign = 3;

function signOf(code: number): number {
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
      return mathSign;
    case 40: // ( ) ; [ ] { }
    case 41:
    case 59:
    case 91:
    case 93:
    case 123:
    case 125:
      return bracketSign;
    case 44: // , 、 ，
    case 0x3001:
    case 0xff0c:
      return commaSign;
    default:
      return 0;
  }
}

function isSmallLetter(code: number): boolean {
  return code >= SMALL_A && code <= 122;
}

function isCapital(code: number): boolean {
  return code >= CAPITAL_A && code <= 90;
}

/** Devanagari, kana and Hangul. */
function isVerbLast(code: number): boolean {
  return (code <= 0x97f && code >= 0x900) || (code >= 0x3040 && code <= 0x30ff) || (code >= 0xac00 && code <= 0xd7af);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
