import type { KeyFilter } from "#privacy/redaction.ts";
import type { ExactValue } from "#privacy/rules/exact-values.ts";

/** Shorter keys stand in ordinary text, and so do those below the second length without a digit. */
const minKeyLength = 8;
const minWordlikeKeyLength = 16;

/** A beginning this long is no coincidence: it is replaced, and as much of the rest as follows. */
const headLength = 16;

/**
 * Keeps a key that upstreams know, because every call carries it, out of their answers; undefined for keys that are
 * ordinary words. It is looked for as it is, and as JSON may write it. Encoded, reversed or split over events it is not
 * found: there is no end of what a model can be asked to do.
 */
export function createKeyFilter({ rule, value }: ExactValue): KeyFilter | undefined {
  if (value.length < minKeyLength || (value.length < minWordlikeKeyLength && !/[0-9]/.test(value))) return undefined;
  const inJson = JSON.stringify(value).slice(1, -1);
  const forms = [...new Set([value, inJson, inJson.replaceAll("/", "\\/")])];
  const placeholder = `[REDACTED:${rule}:1]`;
  return {
    isIn: (text) => forms.some((form) => text.includes(form.slice(0, headLength))),
    text: (text) => forms.reduce((rest, form) => without(form, placeholder, rest), text),
  };
}

function without(key: string, placeholder: string, text: string): string {
  const head = key.slice(0, headLength);
  let out = "";
  let from = 0;
  for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, from)) {
    let length = head.length;
    while (length < key.length && text[at + length] === key[length]) length++;
    out += text.slice(from, at) + placeholder;
    from = at + length;
  }
  return out + text.slice(from);
}
