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
  // Products of token counts (< 2^31) and prices (< 2^40) can pass 2^53, where floats lose whole units: so BigInt.
  const millionths =
    BigInt(usage.input - cached) * BigInt(price.input) +
    BigInt(cached) * BigInt(price.cachedInput) +
    BigInt(usage.output) * BigInt(price.output);
  return nanoUsd(Number((millionths + 999_999n) / 1_000_000n));
}

/** The dearest an attempt can be: every byte an uncached token, every allowed output token used, `choices` times. */
export function holdFor(bound: { inputTokens: number; outputTokens: number; choices: number }, price: Price): NanoUsd {
  const dearestInput = Math.max(price.input, price.cachedInput);
  const millionths =
    BigInt(bound.inputTokens) * BigInt(dearestInput) +
    BigInt(bound.choices) * BigInt(bound.outputTokens) * BigInt(price.output);
  return nanoUsd(Number((millionths + 999_999n) / 1_000_000n));
}
