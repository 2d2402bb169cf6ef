import type { AskFeatures } from "#domain/routing.ts";
import { windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { readWords, type Word } from "#platform/words.ts";

/** An ask as the inferences read it. */
export interface AskText {
  readonly features: AskFeatures;
  /** The words in lower case, in their order, without code, logs and names of programs (`auth/login.py`, `user_id`). */
  readonly words: readonly Word[];
  /** The same text in lower case, where it has words that are written without blanks; else empty. */
  readonly unspaced: string;
}

/** Of a long ask its beginning and its end are read: what is wanted is said there. */
const head = 3_000;
const tail = 1_000;

const fence = /```[\s\S]*?(?:```|$)/g;
/** A line as programs log: behind a date, a time, an address or a level. */
const logLines =
  /^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[.,\] ]|\d{1,3}(?:\.\d{1,3}){3} |\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\b[\]:| ])[^\n]*/gm;
/** Nobody has said what stands in the place of redacted credentials. */
const placeholder = /\[REDACTED:\w{1,64}:\d{1,9}\]/g;
/** New wording behind "to", "as" and the like, in quotes: what a label is to say is not what the ask is about. */
const newWording =
  /(?:\b(?:to|into|as|says?|zu|in|en|par|por|para|su|naar)|\s(?:на|в)|[为成])\s?(?:["“«„「][^"”»“」\n]{1,40}["”»“」]|'[^'\n]{1,40}')/g;
/** Written without blanks, a character is so many words. */
const wordsPerLetter = 0.6;

export function readAskText(ask: string): AskText {
  const shown = windowOf(ask, head, tail);
  const outside = (shown.includes("```") ? shown.replace(fence, " ") : shown).replace(logLines, " ");
  // Code or a log alone is all there is to be read.
  let own = outside.trim() === "" ? shown : outside;
  if (own.includes("[REDACTED:")) own = own.replace(placeholder, " ");
  if (/["“«„「']/.test(own)) own = own.replace(newWording, " ");
  // The one character whose lower case is longer.
  own = own.replaceAll("İ", "i").toLowerCase();
  const { words, commas, letters } = readWords(own);
  return {
    words,
    unspaced: letters.length > 0 ? own : "",
    features: {
      characters: ask.length,
      words: Math.round(words.length + wordsPerLetter * letters.length),
      distinct_words: Math.round(new Set(words).size + wordsPerLetter * new Set(letters).size),
      ...countLines(shown),
      ...countSigns(shown),
      commas,
    },
  };
}

/** Numbers, signs of mathematics, and identifiers such as `parseDate` and `user_id`. */
function countSigns(text: string): Pick<AskFeatures, "numbers" | "math_signs" | "identifiers"> {
  return {
    numbers: text.match(/\d+(?:\.\d+)?/g)?.length ?? 0,
    math_signs: text.match(/[$\\^√∑∫≤≥π=<>+*/]/g)?.length ?? 0,
    // By the character that is rarer than lower-case letters.
    identifiers: text.match(/\p{Lu}(?<=\p{Ll}\p{Lu})|_(?=\p{Ll})(?<=\p{Ll}_)|`\w/gu)?.length ?? 0,
  };
}

const statement = /^\s*(?:def|class|import|from|function|const|let|var|return|assert|print)\b.*[.()=:;]/;

function isCode(line: string): boolean {
  if (/^(?: {2}|\t)/.test(line) && /[=()[\]{};]/.test(line)) return true;
  return /(?:[;{}]|\)\s*:|=>|==)\s*$/.test(line) || statement.test(line);
}

/** Lines that look like code, like a stack trace, like an item of a list, and like an answer to choose. */
function countLines(text: string): Pick<AskFeatures, "code_lines" | "trace_lines" | "list_items" | "options"> {
  const counts = { code_lines: 0, trace_lines: 0, list_items: 0, options: 0 };
  for (const line of text.split("\n")) {
    if (isCode(line)) counts.code_lines++;
    if (/^(?:\s+at \S|\s*File "|Traceback)/.test(line)) counts.trace_lines++;
    if (/^\s*(?:[-*•]|\d[.)]) /.test(line)) counts.list_items++;
    if (/^\s*\(?[A-J][.)] /.test(line)) counts.options++;
  }
  return counts;
}
