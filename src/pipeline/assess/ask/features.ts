import type { AskFeatures } from "#domain/routing.ts";
import { windowOf } from "#pipeline/assess/conversation/text.ts";
import { isLetter, isUnspaced } from "./characters.ts";

/** Characters of an ask that are read. */
const head = 3_000;
const tail = 1_000;

/** Words that order an answer's steps, and those that bound it. */
const stepWords =
  "first second third then next after afterwards before finally last until each every while when whenever once again";
const constraintWords =
  "must should only exactly without unless except not never cannot no least most such require requires ensure limit maximum minimum less " +
  "greater more fewer between within both neither";
const multiplier = 0x01000193;
const step = 1;
const constraint = 2;
const lists = new Map<number, number>();
for (const word of stepWords.split(" ")) lists.set(hashOf(word), step);
for (const word of constraintWords.split(" ")) lists.set(hashOf(word), constraint);

function hashOf(word: string): number {
  let hash = 0;
  for (let at = 0; at < word.length; at++) hash = (Math.imul(hash, multiplier) + word.charCodeAt(at)) | 0;
  return hash;
}

/** Places for words: two that share one count as one. */
const places = 4_096;
const seen = new Uint8Array(places);
/** Written without blanks (Chinese, Japanese, Thai), a character is so many words. */
const wordsPerCharacter = 0.6;

/** What an ask looks like, in numbers: one walk over its beginning and its end. */
export function featuresOf(ask: string, attached = ""): AskFeatures {
  const text = windowOf(attached === "" ? ask : `${ask}\n${attached}`, head, tail);
  seen.fill(0);
  const counts = { words: 0, unspaced: 0, code: 0, items: 0, steps: 0, constraints: 0 };
  let hash = 0;
  let lineStart = true;
  let before = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0x0a;
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (isLetter(code)) {
      hash = (Math.imul(hash, multiplier) + lower) | 0;
    } else {
      if (hash !== 0) {
        const place = (hash ^ (hash >>> 15)) & (places - 1);
        if (seen[place] === 0) counts.words += seen[place] = 1;
        const list = lists.get(hash);
        if (list === step) counts.steps++;
        else if (list === constraint) counts.constraints++;
        hash = 0;
      }
      if (isUnspaced(code)) {
        const place = (code ^ (code >>> 7)) & (places - 1);
        if (seen[place] === 0) counts.unspaced += seen[place] = 1;
      } else if (code === 0x0a) {
        // A line that ends like one of a program: `;`, `{`, `}`, `)`.
        if (before === 0x3b || before === 0x7b || before === 0x7d || before === 0x29) counts.code++;
      } else if (lineStart && (code === 0x2d || code === 0x2a)) counts.items++;
    }
    lineStart = code === 0x0a || (lineStart && code === 0x20);
    before = code;
  }
  return {
    characters: ask.length + attached.length,
    distinct_words: Math.round(counts.words + wordsPerCharacter * counts.unspaced),
    code_lines: counts.code,
    steps: counts.steps + counts.items,
    constraints: counts.constraints,
    is_short_question: counts.words < shortQuestion && questionOpening.test(text) ? 1 : 0,
  };
}

/** A greeting or a short question of fact. */
const shortQuestion = 12;
const questionOpening =
  /^(?:hi|hello|hey|thanks?|ok(?:ay)?|what(?:'s| is| are)|who|when|where|which|define|translate|say|tell me)\b/i;

export const dimensionNames = [
  "reasoning_requirement",
  "ambiguity",
  "dependency_depth",
  "verification_difficulty",
] as const;
/** The four complexity dimensions of a routing task, each 0..1. */
export type Dimensions = { readonly [Name in (typeof dimensionNames)[number]]: number };

/** Different words at which an ask counts as full, and words of a list at which half of their weight is reached. */
const fullWords = Math.log1p(400);
const halfWords = 3;

/** What the counts add to the dimensions: all four, and the last two to dependency_depth alone. */
export const askWeights = { words: 0.6, short_question: -0.05, steps: 0.2, constraints: 0.2 };

/**
 * Difficulty can hardly be read from a prompt. With whole sources left out, the number of different words ranks as well
 * as anything, words that bound an answer or order its steps add a little, lines of code and subjects add nothing.
 */
export function dimensionsOf(features: AskFeatures, weights: typeof askWeights = askWeights): Dimensions {
  if (features.characters === 0) return everywhere(0.3);
  const words = Math.min(1, Math.log1p(features.distinct_words) / fullWords);
  const base = bounded(weights.words * words + weights.short_question * features.is_short_question);
  const parts = weights.steps * share(features.steps) + weights.constraints * share(features.constraints);
  return { ...everywhere(base), dependency_depth: bounded(base + parts) };
}

/** The same in all four. */
export function everywhere(value: number): Dimensions {
  return {
    reasoning_requirement: value,
    ambiguity: value,
    dependency_depth: value,
    verification_difficulty: value,
  };
}

function share(count: number): number {
  return count / (count + halfWords);
}

/** Three decimals: enough to rank, short enough to read. */
function bounded(value: number): number {
  return Math.round(Math.min(1, Math.max(0, value)) * 1_000) / 1_000;
}
