import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { maxUsd, parseUsd, saturatedUsd, usdToNano } from "#domain/money/money.ts";
import type { TokenUsage } from "#domain/money/tokens.ts";
import type { Writable } from "#domain/writable.ts";
import type { UsageReport } from "./upstream.ts";

/** More tokens than any model can read or write: a count above is a defect of the upstream, not a bill. */
const maxTokens = 2 ** 31 - 1;

/**
 * Reads a `usage` object. Tokens and cost are read independently: a count that is absent, negative, fractional or absurd leaves
 * `usage` out, an absent cost leaves `costNanoUsd` out; a cost that is negative or no number leaves out both. Nothing is
 * ever taken for zero.
 *
 * With `is_byok` the aggregator charges its fee (`cost`) and the model's host charges the operator's own account for the
 * rest (`cost_details.upstream_inference_cost`): both are owed. Without it that detail is part of the cost already.
 */
export function usageReport(usage: Json | undefined): UsageReport {
  if (!isObject(usage)) return {};
  const stated = costOf(usage["cost"]);
  const ownKey = usage["is_byok"] === true;
  const hostCost = ownKey ? field(usage["cost_details"], "upstream_inference_cost") : undefined;
  const host = costOf(hostCost);
  // A cost that is not an amount shows a defective report; then its counts must not make the call cheaper.
  if (isBroken(usage["cost"], stated) || isBroken(hostCost, host)) return {};
  // The fee is only a part of the cost: without the host's part the tokens give the better figure.
  const cost = ownKey ? sumOf(stated, host) : stated;
  const tokens = tokensOf(usage);
  const report: Writable<UsageReport> = {};
  if (tokens !== undefined) report.usage = tokens;
  if (cost !== undefined) report.costNanoUsd = cost;
  if (typeof usage["is_byok"] === "boolean") report.ownAccount = usage["is_byok"];
  return report;
}

/**
 * The report of a stream after one more `usage`. Counts and costs of a stream only grow: a later report with less must not make the
 * call cheaper, and one that grew without a cost is priced by its tokens, because an earlier cost does not belong to later counts.
 * A later report that is defective leaves nothing to settle by.
 */
export function laterReport(before: UsageReport, after: UsageReport): UsageReport {
  if (after.usage === undefined && after.costNanoUsd === undefined) return after;
  const [countedBefore, counted] = [allTokens(before), allTokens(after)];
  const report: Writable<UsageReport> = { ...after };
  if (counted < countedBefore && before.usage !== undefined) report.usage = before.usage;
  const { costNanoUsd: earlier = 0 } = before;
  if (after.costNanoUsd !== undefined || (counted <= countedBefore && before.costNanoUsd !== undefined))
    report.costNanoUsd = Math.max(earlier, after.costNanoUsd ?? 0);
  return report;
}

function allTokens({ usage }: UsageReport): number {
  return usage === undefined ? 0 : usage.input + usage.output;
}

function tokensOf(usage: JsonObject): TokenUsage | undefined {
  const input = count(usage["prompt_tokens"]);
  const output = count(usage["completion_tokens"]);
  if (input === undefined || output === undefined) return undefined;
  // Cached tokens make a call cheaper, so an impossible count is ignored.
  const cached = count(field(usage["prompt_tokens_details"], "cached_tokens") ?? usage["prompt_cache_hit_tokens"]) ?? 0;
  const reasoning = count(field(usage["completion_tokens_details"], "reasoning_tokens")) ?? 0;
  const written =
    count(field(usage["prompt_tokens_details"], "cache_write_tokens") ?? usage["cache_creation_input_tokens"]) ?? 0;
  const cachedInput = cached <= input ? cached : 0;
  const tokens: Writable<TokenUsage> = { input, cachedInput, output, reasoning: Math.min(reasoning, output) };
  if (written > 0) tokens.cacheWrite = Math.min(written, input - cachedInput);
  return tokens;
}

function count(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxTokens ? value : undefined;
}

/**
 * US dollars as a number or as decimal text, rounded up to whole nano-dollars. More than an amount can hold is the most that
 * it can: an absurd figure must be visible as one, and not count as absent.
 */
function costOf(value: Json | undefined): number | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const amount = typeof value === "number" ? usdToNano(value) : parseUsd(value);
  return amount ?? (Number(value) > maxUsd / 1e9 ? maxUsd : undefined);
}

/** The field is present and is not an amount. */
function isBroken(value: Json | undefined, amount: number | undefined): boolean {
  return amount === undefined && value !== undefined && value !== null;
}

function sumOf(fee: number | undefined, host: number | undefined): number | undefined {
  return fee === undefined || host === undefined ? undefined : saturatedUsd(fee + host);
}

function field(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined;
}
