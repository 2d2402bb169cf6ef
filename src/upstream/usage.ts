import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { parseUsd, usdToNano } from "#domain/money.ts";
import type { TokenUsage } from "#domain/tokens.ts";
import type { UsageReport } from "./upstream.ts";

/** More tokens than any model can read or write: a count above is a defect of the upstream, not a bill. */
const maxTokens = 2 ** 31 - 1;

/**
 * What a `usage` object says. Each half stands alone: a count that is absent, negative, fractional or absurd leaves
 * `usage` out, an absent cost leaves `costNanoUsd` out; a cost that is negative or no number leaves out both. Nothing is
 * ever taken for zero.
 */
export function usageReport(usage: Json | undefined): UsageReport {
  if (!isObject(usage)) return {};
  const cost = costOf(usage["cost"]);
  // A cost that is no amount says that the report is broken; then its counts cannot be trusted to make the call cheaper.
  if (cost === undefined && usage["cost"] !== undefined && usage["cost"] !== null) return {};
  const tokens = tokensOf(usage);
  return {
    ...(tokens === undefined ? {} : { usage: tokens }),
    ...(cost === undefined ? {} : { costNanoUsd: cost }),
  };
}

function tokensOf(usage: JsonObject): TokenUsage | undefined {
  const input = count(usage["prompt_tokens"]);
  const output = count(usage["completion_tokens"]);
  if (input === undefined || output === undefined) return undefined;
  // Cached tokens make a call cheaper, so a count that cannot be true is not believed.
  const cached = count(field(usage["prompt_tokens_details"], "cached_tokens") ?? usage["prompt_cache_hit_tokens"]) ?? 0;
  const reasoning = count(field(usage["completion_tokens_details"], "reasoning_tokens")) ?? 0;
  return { input, cachedInput: cached <= input ? cached : 0, output, reasoning: Math.min(reasoning, output) };
}

function count(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxTokens ? value : undefined;
}

/** US dollars as a number or as decimal text, rounded up to whole nano-dollars. */
function costOf(value: Json | undefined): number | undefined {
  if (typeof value === "number") return usdToNano(value);
  return typeof value === "string" ? parseUsd(value) : undefined;
}

function field(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined;
}
