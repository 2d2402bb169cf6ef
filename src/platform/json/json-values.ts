const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/**
 * Whether JSON text holds more values (objects, arrays, texts, numbers, literals) than `limit`. Looks no further than that,
 * and skips strings by a native search. A value of two characters takes a hundred bytes of memory and more once it is parsed,
 * so this is asked before. Says nothing about whether the text is JSON.
 */
export function hasMoreValuesThan(text: string, limit: number): boolean {
  // Each value takes a character, and another that separates it from the next.
  if (text.length < 2 * limit) return false;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        if (at < 0) return false;
        break;
      case COMMA:
      case OPEN_BRACKET:
      case OPEN_BRACE:
        if (++values > limit) return true;
    }
  }
  return false;
}

const closeLength = 32;
const closeQuotes = 4;

/** Index of the quote that closes the JSON string opened at `open`; -1 when it is never closed. */
export function endOfString(text: string, open: number): number {
  let quote = text.indexOf('"', open + 1);
  /** Escaped quotes in a row that stood close together. */
  let close = 0;
  let last = open;
  while (quote > 0) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    close = quote - last < closeLength ? close + 1 : 0;
    last = quote;
    // Where escapes are dense, as in JSON within JSON, a native search per quote would cost more; elsewhere it costs less.
    let at = quote + 1;
    const near = close < closeQuotes ? at : at + closeLength;
    while (at < near) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at;
      at += code === BACKSLASH ? 2 : 1;
    }
    quote = text.indexOf('"', at);
  }
  return -1;
}
