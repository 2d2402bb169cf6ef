/** Deepest nesting of objects and arrays that a body may have. */
export const maxJsonDepth = 64;

/**
 * Whether JSON text nests deeper than `limit`. Looks at the text, so that a hostile body is refused before anything is
 * built from it; strings are skipped by a native search, so it costs little on bodies that are mostly text.
 * Says nothing about whether the text is JSON.
 */
export function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22 /* " */:
        at = endOfString(text, at);
        if (at < 0) return false;
        break;
      case 0x5b /* [ */:
      case 0x7b /* { */:
        if (++depth > limit) return true;
        break;
      case 0x5d /* ] */:
      case 0x7d /* } */:
        depth--;
        break;
    }
  }
  return false;
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
