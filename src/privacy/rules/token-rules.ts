import { readTable } from "./tables.ts";
import rows from "./token-rules.jsonl" with { type: "text" };

/**
 * Credentials that are recognised by themselves: the text they start with and the shape of what follows, as their
 * vendors document it. `token-rules.jsonl` has one a line, and is the place to add one.
 */
export interface TokenRule {
  /** snake_case; also the word in placeholders, findings and `privacy.disabled_rules`. */
  readonly id: string;
  /** The literal starts, of two characters and more; `<10-99>` is every two digits a number can begin with. */
  readonly starts: readonly string[];
  /** A regular expression for what follows; quantifiers bounded, nothing that backtracks over the same text. */
  readonly body: string;
  /** `high` (default): the vendor's own start, length and alphabet. `medium`: the body must also look random. */
  readonly confidence?: "high" | "medium";
  /** The token ends where the body ends: a longer run of token characters is something else. */
  readonly exact?: true;
  /** Where the vendor documents the credential. */
  readonly docs: string;
}

const digitPairs = Array.from({ length: 90 }, (_, i) => String(i + 10));

export const tokenRules: readonly TokenRule[] = readTable<TokenRule>(rows).map((rule) =>
  rule.starts[0] === "<10-99>" ? { ...rule, starts: digitPairs } : rule,
);
