/** Deepest nesting of objects and arrays that a body may have. */
export const maxJsonDepth = 64;

/** What can be said of JSON text before anything is built from it. Says nothing about whether the text is JSON. */
export interface JsonShape {
  /** It nests deeper than the limit; then nothing else is known. */
  readonly tooDeep: boolean;
  /** Numbers written with an exponent (`1e20`): the only values that may come out longer when they are written anew. */
  readonly exponents: number;
}

/**
 * Looks at the text, so that a hostile body is refused before anything is built from it; strings are skipped by a native
 * search, so it costs little on bodies that are mostly text.
 */
export function shapeOfJson(text: string, limit: number): JsonShape {
  let depth = 0;
  let exponents = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22 /* " */:
        at = endOfString(text, at);
        if (at < 0) return { tooDeep: false, exponents };
        break;
      case 0x5b /* [ */:
      case 0x7b /* { */:
        if (++depth > limit) return { tooDeep: true, exponents };
        break;
      case 0x5d /* ] */:
      case 0x7d /* } */:
        depth--;
        break;
      case 0x45 /* E */:
      case 0x65 /* e */:
        if (isDigit(text.charCodeAt(at - 1))) exponents++;
        break;
    }
  }
  return { tooDeep: false, exponents };
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Index of the quote that closes the string opened at `open`; -1 when it is never closed. */
function endOfString(text: string, open: number): number {
  let quote = text.indexOf('"', open + 1);
  while (quote > 0) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    quote = text.indexOf('"', quote + 1);
  }
  return -1;
}
