import { matchAt } from "#platform/text-search/match-at.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

const seedPhrase =
  /(?:mnemonic|phrase|seed)[^\n:="'`]{0,40}["'`]?[ \t]{0,4}(?:[:=]|is)\s{0,8}["'`]?((?:[a-z]{3,8}[ ,\n]{1,2}){11,23}[a-z]{3,8})(?![a-z])/iy;
/** Common words that are not in the list wallets draw from. */
const nonWalletWords =
  /\b(?:the|and|for|with|that|this|from|are|was|will|not|but|you|your|have|has|its|they|were|been|into|than)\b/;

/** The words of a wallet: twelve to twenty-four, behind `seed`, `mnemonic` or `recovery phrase`. */
export function scanPhrase(normalized: NormalizedText, keywordAt: number, found: Span[]): void {
  const match = matchAt(seedPhrase, normalized.text, keywordAt);
  const words = match?.[1];
  if (match === undefined || words === undefined || nonWalletWords.test(words)) return;
  const end = keywordAt + match[0].length;
  found.push({ start: end - words.length, end, rule: "seed_phrase" });
}
