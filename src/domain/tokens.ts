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
  const uncached = usage.input - cached;
  const millionths = uncached * price.input + cached * price.cachedInput + usage.output * price.output;
  if (millionths <= Number.MAX_SAFE_INTEGER) return nanoUsd(Math.ceil(millionths / 1_000_000));
  return exactly(
    BigInt(uncached) * BigInt(price.input) +
      BigInt(cached) * BigInt(price.cachedInput) +
      BigInt(usage.output) * BigInt(price.output),
  );
}

/** The dearest an attempt can be: every byte an uncached token, every allowed output token used, `choices` times. */
export function holdFor(bound: { inputTokens: number; outputTokens: number; choices: number }, price: Price): NanoUsd {
  const dearestInput = Math.max(price.input, price.cachedInput);
  const output = bound.choices * bound.outputTokens;
  const millionths = bound.inputTokens * dearestInput + output * price.output;
  if (millionths <= Number.MAX_SAFE_INTEGER) return nanoUsd(Math.ceil(millionths / 1_000_000));
  return exactly(BigInt(bound.inputTokens) * BigInt(dearestInput) + BigInt(output) * BigInt(price.output));
}

/** Floats are exact up to 2^53, which nearly all sums are far below; above it they would lose whole units. */
function exactly(millionths: bigint): NanoUsd {
  return nanoUsd(Number((millionths + 999_999n) / 1_000_000n));
}
