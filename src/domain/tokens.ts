import type { Price } from "./model.ts";
import { type NanoUsd, nanoUsd } from "./money.ts";

/** Tokens of one attempt, as the upstream counts them. `output` includes reasoning tokens, `input` includes cached ones. */
export interface TokenUsage {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly reasoning: number;
}

/** What `usage` costs, rounded up once per attempt, so that a sum of costs is never below the invoice. */
export function costOf(usage: TokenUsage, price: Price): NanoUsd {
  const cached = Math.min(usage.cachedInput, usage.input);
  return perMillion([usage.input - cached, price.input], [cached, price.cachedInput], [usage.output, price.output]);
}

/** The dearest an attempt can be: every byte an uncached token, every allowed output token used, `choices` times. */
export function holdFor(bound: { inputTokens: number; outputTokens: number; choices: number }, price: Price): NanoUsd {
  const dearestInput = Math.max(price.input, price.cachedInput);
  return perMillion([bound.inputTokens, dearestInput], [bound.choices * bound.outputTokens, price.output]);
}

/** The sum of tokens × price per million tokens, rounded up. */
function perMillion(...parts: readonly (readonly [tokens: number, price: number])[]): NanoUsd {
  let millionths = 0;
  for (const [tokens, price] of parts) millionths += tokens * price;
  // Up to 2^53 floats are exact, and nearly all sums are far below; above, they lose whole units.
  if (millionths > Number.MAX_SAFE_INTEGER) {
    const exact = parts.reduce((sum, [tokens, price]) => sum + BigInt(tokens) * BigInt(price), 0n);
    return nanoUsd(Number((exact + 999_999n) / 1_000_000n));
  }
  return nanoUsd(Math.ceil(millionths / 1_000_000));
}
