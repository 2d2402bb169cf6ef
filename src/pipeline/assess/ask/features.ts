import { windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { denseRanges } from "./vocabulary/term-characters.ts";
import { type TopicCounts, topicCountsOf } from "./vocabulary/vocabulary.ts";

const TAB = 9;
const CR = 13;
const BLANK = 32;
const CLOSE_PARENTHESIS = 41;
const ASTERISK = 42;
const HYPHEN = 45;
const POINT = 46;
const CAPITAL_A = 65;
const CAPITAL_F = 70;
const CAPITAL_J = 74;
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

/** The word before a quotation that says that it is new wording. */
const wordBeforeQuote = /(?:\b(?:to|into|as|zu|in|en|par|por|para|em|su|naar|na)|\s(?:на|в)|[为成作にへ]|로)\s?$/;
const longestWordBeforeQuote = 8;
const quotation = /"[^"\n]{1,40}"|“[^”\n]{1,40}”|«[^»\n]{1,40}»|„[^“”\n]{1,40}[“”]|「[^」\n]{1,40}」/y;
const openingQuote = /["“«„「]/g;

/** The text without what a label or a title is to say: the ask is not about that. */
function withoutNewWording(text: string): string {
  let rest = "";
  let copied = 0;
  openingQuote.lastIndex = 0;
  // The words are looked for before quotes: at every place of a text they take ten times as long.
  while (openingQuote.test(text)) {
    const quote = openingQuote.lastIndex - 1;
    const before = text.slice(Math.max(0, quote - longestWordBeforeQuote), quote);
    const word = wordBeforeQuote.exec(before);
    const from = word === null ? -1 : quote - before.length + word.index;
    quotation.lastIndex = quote;
    if (from < copied || !quotation.test(text)) continue;
    rest += `${text.slice(copied, from)} `;
    copied = quotation.lastIndex;
    openingQuote.lastIndex = copied;
  }
  return rest + text.slice(copied);
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
  const { length } = text;
  for (let at = 0; at < length; at++) {
    const lineStart = at;
    while (at < length && isBlank(text.charCodeAt(at))) at++;
    const indent = at - lineStart;
    const start = at < length ? lineStartAt(text, at, text.charCodeAt(at), indent) : 0;
    if (start === optionLine) options++;
    else if (start === listLine) listItems++;
    else if (start === traceLine) traceLines++;
    let brackets = 0; // brackets, semicolons, equals signs of the line
    line: for (at = behindNumber(text, at, start); at < length; at++) {
      switch (countsAs[text.charCodeAt(at)]) {
        case nothing: // most of most texts
          break;
        case lineEnd:
          break line;
        case capital:
          if (isSmallLetter(text.charCodeAt(at - 1))) identifiers++;
          break;
        case digit: {
          const before = text.charCodeAt(at - 1);
          if (!isDigit(before) && before !== POINT) numbers++;
          break;
        }
        case bracket:
          brackets++;
          break;
        case comma:
          commas++;
          break;
        case mathSign:
          mathSigns++;
          break;
        case equals:
          mathSigns += 0.5;
          brackets++;
          break;
        case backtick:
          identifiers += 0.5;
          break;
        case underscore:
          if (isSmallLetter(text.charCodeAt(at - 1))) identifiers++;
          break;
        case dense:
          denseCharacters++;
          break;
        case kana:
          denseCharacters++;
          verbLast = true;
          break;
        case verbLastLetter:
          verbLast = true;
      }
    }
    if (brackets >= 2 && (indent >= 2 || codeEnd.has(lastInkBefore(text, at)))) codeLines++;
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

/** Behind the number of a step, which is no number of the ask. */
function behindNumber(text: string, at: number, lineStart: number): number {
  return lineStart === listLine && isDigit(text.charCodeAt(at)) ? at + 1 : at;
}

/** The last character of a line that is no blank; there is one. */
function lastInkBefore(text: string, end: number): number {
  let at = end - 1;
  while (isBlank(text.charCodeAt(at))) at--;
  return text.charCodeAt(at);
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

/** What a character may count as. */
const nothing = 0;
const lineEnd = 1;
const capital = 2;
const digit = 3;
const bracket = 4;
const comma = 5;
const mathSign = 6;
const equals = 7;
const backtick = 8;
const underscore = 9;
const dense = 10;
/** Dense, and of a language that puts its verb last. */
const kana = 11;
const verbLastLetter = 12;

const countsAs = new Uint8Array(0x10000);
for (const [first, last] of denseRanges) countsAs.fill(dense, first, last + 1);
countsAs.fill(kana, 0x3040, 0x3100); // Hiragana, katakana
countsAs.fill(verbLastLetter, 0x900, 0x980); // Devanagari
countsAs.fill(verbLastLetter, 0xac00, 0xd7b0); // Hangul
for (const [kind, signs] of [
  [lineEnd, "\n"],
  [capital, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"],
  [digit, "0123456789"],
  [bracket, "();[]{}"],
  [comma, ",、，"],
  [mathSign, "$\\^√∑∫≤≥π"],
  [equals, "="],
  [backtick, "`"],
  [underscore, "_"],
] as const) {
  for (const sign of signs) countsAs[sign.charCodeAt(0)] = kind;
}

function isBlank(code: number): boolean {
  return code === BLANK || code === TAB || code === CR;
}

function isSmallLetter(code: number): boolean {
  return code >= SMALL_A && code <= 122;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
