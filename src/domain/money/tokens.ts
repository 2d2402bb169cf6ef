import type { JsonObject } from "#domain/chat.ts";
import type { Price, Rates } from "#domain/model.ts";
import { type NanoUsd, nanoUsd, saturatedUsd } from "./money.ts";
import { highestRates, ratesOf, type TimeSpan } from "./prices.ts";

/**
 * Tokens of one attempt, as the upstream counts them. `output` includes reasoning tokens, `input` includes those read
 * from the prompt cache (`cachedInput`) and those written to it (`cacheWrite`).
 */
export interface TokenUsage {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite?: number;
  readonly output: number;
  readonly reasoning: number;
}

/**
 * What `usage` costs, rounded up once per attempt, so that a sum of costs is never below the invoice. `during` is the
 * time of the call, for prices that depend on it; without it the most expensive hours count. Never above `holdFor` of a
 * bound that holds the usage.
 */
export function costOf(usage: TokenUsage, price: Price, during?: TimeSpan): NanoUsd {
  const rates = ratesOf(price, usage.input, during);
  const cached = Math.min(usage.cachedInput, usage.input);
  const written = Math.min(usage.cacheWrite ?? 0, usage.input - cached);
  const fresh = usage.input - cached - written;
  const writeRate = rates.cacheWrite ?? rates.input;
  const request = rates.request ?? 0;
  const millionths =
    fresh * rates.input + cached * rates.cachedInput + written * writeRate + usage.output * rates.output;
  if (millionths <= Number.MAX_SAFE_INTEGER) return nanoUsd(Math.ceil(millionths / 1_000_000) + request);
  return exactly(
    BigInt(fresh) * BigInt(rates.input) +
      BigInt(cached) * BigInt(rates.cachedInput) +
      BigInt(written) * BigInt(writeRate) +
      BigInt(usage.output) * BigInt(rates.output),
    request,
  );
}

/**
 * The most that an attempt can cost: every byte an input token of the most expensive kind, every allowed output token
 * used, `choices` times, in the most expensive band that the call can reach.
 */
export function holdFor(bound: { inputTokens: number; outputTokens: number; choices: number }, price: Price): NanoUsd {
  const rates = highestRates(price, bound.inputTokens);
  const inputRate = highestInputRateOf(rates);
  const output = bound.choices * bound.outputTokens;
  const request = rates.request ?? 0;
  const millionths = bound.inputTokens * inputRate + output * rates.output;
  if (millionths <= Number.MAX_SAFE_INTEGER) return nanoUsd(Math.ceil(millionths / 1_000_000) + request);
  return exactly(BigInt(bound.inputTokens) * BigInt(inputRate) + BigInt(output) * BigInt(rates.output), request);
}

/** What a million input tokens cost at most, whether they are new, read from the prompt cache or written to it. */
export function highestInputRateOf({ input, cachedInput, cacheWrite }: Rates): number {
  return Math.max(input, cachedInput, cacheWrite ?? 0);
}

/** Floats are exact up to 2^53, which nearly all sums are far below; above it they would lose whole units. */
function exactly(millionths: bigint, request: number): NanoUsd {
  return saturatedUsd(Number((millionths + 999_999n) / 1_000_000n) + request);
}

/** What a chat template may add around one message (role marks, separators), in tokens; generous. */
const tokensPerMessage = 8;
/** What a chat template may add around the whole prompt, in tokens. */
const tokensPerRequest = 64;

/**
 * No tokenizer makes more input tokens of this body: a token of a byte-level tokenizer covers at least one byte, so the
 * UTF-8 bytes of everything sent, and what chat templates add, bound the prompt from above.
 *
 * The bytes are counted on the serialized body, which is all text sent plus its JSON: escapes only make it longer, and
 * no text is in the prompt that is not in the body. That one number covers every field, also those the gateway does not
 * know.
 */
export function inputBoundOf(body: JsonObject): number {
  const messages = Array.isArray(body["messages"]) ? body["messages"].length : 0;
  return Buffer.byteLength(JSON.stringify(body), "utf8") + tokensPerMessage * messages + tokensPerRequest;
}
