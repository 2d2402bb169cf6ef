import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { isIdentifier, shapeOf } from "#privacy/detect/randomness.ts";
import { classes, inToken } from "#privacy/text/characters.ts";

/** How much of each of two adjacent parts is read again across their joint. */
export const boundaryWindow = 4_096;

/** A part of a message, or what of it lies near a joint, in the text of all that stands beside it. */
export interface WindowPart {
  /** Of the part. */
  readonly index: number;
  /** Where it begins in the part's text. */
  readonly offset: number;
  /** Where it stands in the joined text: `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/** Which member of a part is its text. */
export function textFieldOf(part: JsonObject): "text" | "refusal" | undefined {
  if (typeof part["text"] === "string") return "text";
  return typeof part["refusal"] === "string" ? "refusal" : undefined;
}

/** The texts of parts that stand beside each other, joined; of long ones only what is near a joint. */
export function* boundaryWindows(
  array: readonly Json[],
): Generator<{ readonly text: string; readonly parts: readonly WindowPart[] }> {
  let text = "";
  let parts: WindowPart[] = [];
  const add = (index: number, offset: number, said: string) => {
    if (said === "") return;
    parts.push({ index, offset, from: text.length, to: text.length + said.length });
    text += said;
  };
  for (let index = 0; index < array.length; index++) {
    const item = array[index];
    const field = isObject(item) ? textFieldOf(item) : undefined;
    const part = isObject(item) && field !== undefined ? String(item[field]) : undefined;
    if (part !== undefined && part.length <= 2 * boundaryWindow) {
      add(index, 0, part);
      continue;
    }
    if (part !== undefined) add(index, 0, part.slice(0, boundaryWindow));
    if (parts.length > 1) yield { text, parts };
    text = "";
    parts = [];
    if (part !== undefined) add(index, part.length - boundaryWindow, part.slice(-boundaryWindow));
  }
  if (parts.length > 1) yield { text, parts };
}

/** Fewer characters behind a whole token are the beginning of something else. */
const minContinuationLength = 8;
const maxContinuationLength = 512;

/**
 * Whether a text that follows a whole token, in the next part of a message, can be more of it: eight characters of
 * tokens in a row that are no words. `Continue`, `C` and `import os` are not.
 * @param inSeveralParts the token is in several parts itself: then fewer characters can be its last part
 */
export function mayContinueToken(text: string, inSeveralParts: boolean): boolean {
  let end = 0;
  while (end < maxContinuationLength && ((classes[text.charCodeAt(end)] ?? 0) & inToken) !== 0) end++;
  if (end < minContinuationLength) return inSeveralParts && end > 0;
  const run = text.slice(0, end);
  const { digits, bigramScore, classChanges } = shapeOf(run);
  if (digits === 0) return bigramScore < -0.5 || classChanges * 3 > end;
  return !isIdentifier(run);
}
