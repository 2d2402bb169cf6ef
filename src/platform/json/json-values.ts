import { runAtOnce } from "#platform/event-loop-turns.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** Characters outside of strings that a step looks at. */
const stepLength = 1_048_576;

/**
 * Whether JSON text holds more values (objects, arrays, texts, numbers, literals) than `limit`. Looks no further than that,
 * and skips strings by a native search. A value of two characters takes a hundred bytes of memory and more once it is parsed,
 * so this is asked before. Says nothing about whether the text is JSON.
 */
export function hasMoreValuesThan(text: string, limit: number): boolean {
  // Each value takes a character, and another that separates it from the next.
  return text.length >= 2 * limit && runAtOnce(hasMoreValuesInSteps(text, limit));
}

/** The same in steps, for texts of megabytes. */
export function* hasMoreValuesInSteps(text: string, limit: number): Generator<undefined, boolean> {
  if (text.length < 2 * limit) return false;
  let values = 1;
  let stepEnd = stepLength;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at + 1);
        if (at < -1) at = yield* closingQuoteInSteps(text, ~at);
        if (at < 0) return false;
        break;
      case COMMA:
      case OPEN_BRACKET:
      case OPEN_BRACE:
        if (++values > limit) return true;
    }
    if (at < stepEnd) continue;
    stepEnd = at + stepLength;
    yield;
  }
  return false;
}

/** Index of the quote that closes the JSON string opened at `open`; -1 when it is never closed. */
export function endOfString(text: string, open: number): number {
  return closingQuote(text, open + 1, Number.POSITIVE_INFINITY);
}

/** Searches for a quote in a step: some milliseconds. */
const searchesPerStep = 65_536;
const closeLength = 32;
const closeQuotes = 4;

/**
 * The index of the quote that closes a JSON string, looked for from a place in it on that is in no escape sequence; -1 where there is
 * none. In a string of megabytes of escape sequences it stops after so many searches: the complement (`~`) of where to go on.
 */
export function closingQuote(text: string, from: number, maxSearches = searchesPerStep): number {
  let quote = text.indexOf('"', from);
  let searches = 0;
  /** Escaped quotes in a row that stood close together. */
  let close = 0;
  let last = from - 1;
  while (quote > 0) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
    if (++searches > maxSearches) return ~(quote + 1);
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

/** The same in steps, to the end. */
export function* closingQuoteInSteps(text: string, from: number): Generator<undefined, number> {
  let end = ~from;
  while (end < -1) {
    yield;
    end = closingQuote(text, ~end);
  }
  return end;
}
