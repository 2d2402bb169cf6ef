import { isIdentifier, shapeOf } from "#privacy/detect/randomness.ts";
import { classes, inToken } from "#privacy/text/characters.ts";

/** Fewer characters behind a whole token are the beginning of something else. */
const minContinuationLength = 8;
const maxContinuationLength = 512;

/**
 * Whether a text that follows a whole token, in the next part of a message, can be more of it: at least eight characters of tokens
 * in a row that are no words. `Continue`, `C` and `import os` are not.
 * @param inPieces the token is in several parts itself: then fewer characters can be its last piece
 */
export function mayContinueToken(text: string, inPieces: boolean): boolean {
  let end = 0;
  while (end < maxContinuationLength && ((classes[text.charCodeAt(end)] ?? 0) & inToken) !== 0) end++;
  if (end < minContinuationLength) return inPieces && end > 0;
  const run = text.slice(0, end);
  const { digits, bigramScore, classChanges } = shapeOf(run);
  if (digits === 0) return bigramScore < -0.5 || classChanges * 3 > end;
  return !isIdentifier(run);
}
