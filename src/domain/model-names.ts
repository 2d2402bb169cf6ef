import type { Json } from "./chat.ts";

/** Longer names, and names with control characters, are no names. */
const name = /^[^\p{Cc}\p{Cs}]{1,256}$/u;

/**
 * The name of the model that an upstream says has answered, if it is another than the one that was asked; undefined
 * when it is the same or the upstream says nothing usable.
 *
 * The same model goes by several names: with the day of its release (`vendor/model-20260115`, `-2026-01-15`,
 * `@20260115`) or `-latest`, with a suffix that only says how it was chosen (`:nitro`), without its vendor. `:free` is
 * not such a suffix: it has other terms and another price.
 */
export function otherModel(asked: string, said: Json | undefined): string | undefined {
  if (said === asked || typeof said !== "string" || !name.test(said)) return undefined;
  const [a, b] = [partsOf(asked), partsOf(said)];
  const same =
    a.base === b.base &&
    (a.vendor === b.vendor || a.vendor === "" || b.vendor === "") &&
    (a.day === b.day || a.day === "" || b.day === "") &&
    a.free === b.free;
  return same ? undefined : said;
}

interface Parts {
  readonly vendor: string;
  readonly base: string;
  /** Eight digits; "" when the name says no day. */
  readonly day: string;
  readonly free: boolean;
}

function partsOf(model: string): Parts {
  const plain = model.toLowerCase();
  const slash = plain.lastIndexOf("/");
  const [named = "", ...suffixes] = plain.slice(slash + 1).split(":");
  const dated = /^(.+?)[-@](20\d\d)-?([01]\d)-?([0-3]\d)$/.exec(named);
  const base = dated?.[1] ?? named.replace(/-latest$/, "");
  return {
    vendor: slash < 0 ? "" : plain.slice(0, slash),
    base,
    day: dated === null ? "" : dated.slice(2).join(""),
    free: suffixes.includes("free"),
  };
}
