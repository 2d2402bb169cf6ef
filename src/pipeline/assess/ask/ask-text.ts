import type { AskFeatures } from "#domain/routing.ts";
import { windowOf } from "#pipeline/assess/envelope/text-window.ts";

/** An ask as the inferences read it. */
export interface AskText {
  readonly features: AskFeatures;
  /** The words in lower case, in their order, without code, logs and names of programs (`auth/login.py`, `user_id`). */
  readonly words: readonly string[];
  /** The same text in lower case, where it has words that are written without blanks; else empty. */
  readonly unspaced: string;
}

/** Of a long ask its beginning and its end are read: what is wanted is said there. */
const head = 3_000;
const tail = 1_000;

const fence = /```[\s\S]*?(?:```|$)/g;
/** A line as programs log: behind a date, a time, an address or a level. */
const logLine =
  /^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[.,\] ]|\d{1,3}(?:\.\d{1,3}){3} |\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\b[\]:| ]).*$/gm;
/** Nobody has said what stands in the place of redacted credentials. */
const placeholder = /\[REDACTED:\w{1,64}:\d{1,9}\]/g;
/** New wording behind "to", "as" and the like, in quotes: what a label is to say is not what the ask is about. */
const newWording =
  /(?:\b(?:to|into|as|says?|zu|in|en|par|por|para|su|naar)|\s(?:на|в)|[为成])\s?(?:["“«„「][^"”»“」\n]{1,40}["”»“」]|'[^'\n]{1,40}')/g;
const word = /[\p{L}\p{M}\p{N}_]+(?:[./@:\\][\p{L}\p{M}\p{N}_]+)*/gu;
const asciiWord = /\w+(?:[./@:\\]\w+)*/g;
const name = /[_./@:\\]|^\p{N}+$/u;
const asciiName = /[_./@:\\]|^\d+$/;
const codeLine =
  /^(?: {2,}|\t+).*[=()[\]{};].*$|^.*(?:[;{}]|\)\s*:|=>|==)\s*$|^\s*(?:def|class|import|from|function|const|let|var|return|assert|print)\b.*[.()=:;].*$/gm;
const unspacedLetters = /[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]/g;

export function readAskText(ask: string): AskText {
  const shown = windowOf(ask, head, tail);
  // Properties of Unicode take several times as long to look for; most asks need none.
  const isAscii = /^[\x00-\x7f]*$/.test(shown);
  const outside = (shown.includes("```") ? shown.replace(fence, " ") : shown).replace(logLine, " ");
  // Code or a log alone is all there is to be read.
  let own = outside.trim() === "" ? shown : outside;
  if (own.includes("[REDACTED:")) own = own.replace(placeholder, " ");
  if (/["“«„「']/.test(own)) own = own.replace(newWording, " ");
  own = own.toLowerCase();
  const letters = isAscii ? [] : (own.match(unspacedLetters) ?? []);
  const spaced = letters.length > 0 ? own.replace(unspacedLetters, " ") : own;
  const words = isAscii
    ? (spaced.match(asciiWord) ?? []).filter((each) => !asciiName.test(each))
    : (spaced.match(word) ?? []).filter((each) => !name.test(each));
  const packed = 0.6;
  return {
    words,
    unspaced: letters.length > 0 ? own : "",
    features: {
      characters: ask.length,
      words: Math.round(words.length + packed * letters.length),
      distinct_words: Math.round(new Set(words).size + packed * new Set(letters).size),
      // Without one of these signs no line looks like code, and nearly all asks have none.
      code_lines: /[=()[\]{};]|^\s*(?:def|class|import|from|function|const|let|var|return|assert|print)\b/m.test(shown)
        ? count(shown, codeLine)
        : 0,
      trace_lines: count(shown, /^\s+at \S|^\s*File "|^Traceback/gm),
      list_items: count(shown, /^\s*(?:[-*•]|\d[.)]) /gm),
      options: count(shown, /^\s*\(?[A-J][.)] /gm),
      numbers: count(shown, /\d+(?:\.\d+)?/g),
      commas: count(own, /[,、，]/g),
      math_signs: count(shown, /[$\\^√∑∫≤≥π=<>+*/]/g),
      identifiers: count(shown, isAscii ? /[a-z](?:[A-Z]|_[a-z])|`\w/g : /\p{Ll}\p{Lu}|\p{Ll}_\p{Ll}|`\w/gu),
    },
  };
}

function count(text: string, sign: RegExp): number {
  return text.match(sign)?.length ?? 0;
}
