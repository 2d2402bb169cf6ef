import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { maxUsd, parseUsd, saturatedUsd, usdToNano } from "#domain/money/money.ts";
import type { TokenUsage } from "#domain/money/tokens.ts";
import type { Writable } from "#domain/writable.ts";
import type { UsageReport } from "./upstream.ts";

/** Ways to a member: `a.b c` are two. */
const ways = (words: string) => words.split(" ").map((way) => way.split("."));

/** Where an answer states its usage: the format's own place; Groq; Gemini, Vertex AI; llama.cpp; Cohere; Bedrock. */
const places = ways("usage x_groq.usage usageMetadata usage_metadata timings meta amazon-bedrock-invocationMetrics");
/** A usage without a place of its own has one of these: Ollama, llama.cpp, Infron. */
const unplaced = ways("eval_count tokens_predicted cost");

/** The names of each figure, of which the first that is there counts: a new dialect is a word here, and a row of the test's table. */
const names = {
  /** With what was read from the cache. */
  prompt: ways("prompt_tokens promptTokens promptTokenCount prompt_token_count prompt_eval_count tokens_evaluated"),
  /** Without the cache's figures where these are stated `beside`. */
  input: ways("input_tokens inputTokens billed_units.input_tokens tokens.input_tokens inputTokenCount prompt_n"),
  output: ways(
    "completion_tokens completionTokens output_tokens outputTokens candidatesTokenCount candidates_token_count eval_count " +
      "tokens_predicted billed_units.output_tokens tokens.output_tokens outputTokenCount predicted_n",
  ),
  total: ways("total_tokens totalTokens totalTokenCount total_token_count"),
  /** Reasoning that is never part of the output. */
  thoughts: ways("thoughtsTokenCount thoughts_token_count"),
  reasoning: ways(
    "completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens reasoning_tokens reasoningTokens",
  ),
  cached: ways(
    "prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens prompt_cache_hit_tokens cached_tokens " +
      "num_cached_tokens cachedContentTokenCount cached_content_token_count cachedInputTokens",
  ),
  cachedBeside: ways("cache_read_input_tokens cacheReadInputTokens cacheReadInputTokenCount cache_n"),
  written: ways("prompt_tokens_details.cache_write_tokens prompt_tokens_details.cache_creation_tokens"),
  writtenBeside: ways("cache_creation_input_tokens cacheWriteInputTokens cacheWriteInputTokenCount"),
  cost: ways("cost cost.total_cost"),
  /** Of which a dollar has 10¹⁰. */
  costTicks: ways("cost_in_usd_ticks"),
  hostCost: ways("cost_details.upstream_inference_cost"),
};

/** More tokens than any model can read or write: a count above is a defect of the upstream, not a bill. */
const maxTokens = 2 ** 31 - 1;

/** `defective`: the cost is no amount, and then the counts must not make the call cheaper. */
type Statement = UsageReport | "defective" | undefined;

/**
 * Reads a usage object of any dialect. Tokens and cost are read independently: counts that are absent or impossible
 * leave `usage` out, an absent cost leaves `costNanoUsd` out, and without either it says nothing. Nothing is ever taken
 * for zero.
 *
 * With `is_byok` the aggregator charges its fee (`cost`) and the model's host charges the operator's own account for
 * the rest (`cost_details.upstream_inference_cost`): both are owed. Without it that detail is part of the cost already.
 */
function statementIn(usage: Json | undefined): Statement {
  if (!isObject(usage)) return undefined;
  const stated = costIn(memberIn(usage, names.cost)) ?? ticksIn(memberIn(usage, names.costTicks));
  const ownAccount = usage["is_byok"];
  const host = ownAccount === true ? costIn(memberIn(usage, names.hostCost)) : 0;
  if (Number.isNaN(stated) || Number.isNaN(host)) return "defective";
  const tokens = tokensIn(usage);
  const report: Writable<UsageReport> = {};
  if (tokens !== undefined) report.usage = tokens;
  // The fee is only a part of the cost: without the host's part the tokens give the better figure.
  if (stated !== undefined && host !== undefined) report.costNanoUsd = saturatedUsd(stated + host);
  else if (tokens === undefined) return undefined;
  if (typeof ownAccount === "boolean") report.ownAccount = ownAccount;
  return report;
}

/** A usage object by itself; empty where it says nothing that can be believed. */
export function usageReport(usage: Json | undefined): UsageReport {
  const statement = statementIn(usage);
  return statement === undefined || statement === "defective" ? {} : statement;
}

/**
 * The tokens of a usage object. What the total has beyond prompt and completion is output, and so is reasoning that the
 * completion cannot contain: some makers count it apart. What the prompt cannot contain of the cache's figures is
 * beside it.
 */
function tokensIn(usage: JsonObject): TokenUsage | undefined {
  const prompt = countIn(usage, names.prompt);
  const stated = prompt ?? countIn(usage, names.input);
  const completion = countIn(usage, names.output);
  const total = detailIn(usage, names.total);
  const isKnown = stated !== undefined && completion !== undefined;
  if (Number.isNaN(stated) || Number.isNaN(completion) || (!isKnown && total === 0)) return undefined;
  const besideRead = detailIn(usage, names.cachedBeside);
  const besideWritten = detailIn(usage, names.writtenBeside);
  const cachedInput = detailIn(usage, names.cached) || besideRead;
  const cacheWrite = detailIn(usage, names.written) || besideWritten;
  let input = stated ?? Math.max(0, total - (completion ?? total));
  if (prompt === undefined && stated !== undefined) input += besideRead + besideWritten;
  if (cachedInput + cacheWrite > input) input += cachedInput + cacheWrite;
  const thoughts = detailIn(usage, names.thoughts);
  const reasoning = detailIn(usage, names.reasoning) || thoughts;
  const written = (completion ?? 0) + thoughts;
  const output = Math.min(maxTokens, Math.max(total - input, reasoning > written ? written + reasoning : written));
  const tokens: Writable<TokenUsage> = { input, cachedInput, output, reasoning };
  if (cacheWrite > 0) tokens.cacheWrite = cacheWrite;
  return tokens;
}

/** The first of the members that is there. An object is no figure, but may have it within. */
function memberIn(usage: JsonObject, among: readonly (readonly string[])[]): Json | undefined {
  for (const way of among) {
    const value = at(usage, way);
    if (value !== undefined && value !== null && !isObject(value)) return value;
  }
  return undefined;
}

function at(value: Json | undefined, way: readonly string[]): Json | undefined {
  let member = value;
  for (const name of way) member = isObject(member) ? member[name] : undefined;
  return member;
}

/** A count, as a number or as text; NaN for what is none. */
function countIn(usage: JsonObject, among: readonly (readonly string[])[]): number | undefined {
  const value = memberIn(usage, among);
  if (value === undefined) return undefined;
  const count = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= maxTokens ? count : Number.NaN;
}

/** A count beside the two that are needed, else 0. */
function detailIn(usage: JsonObject, among: readonly (readonly string[])[]): number {
  return countIn(usage, among) || 0;
}

/**
 * US dollars as a number or as decimal text, rounded up to whole nano-dollars; NaN for what is no amount. More than an
 * amount can hold is the most that it can: an absurd figure must be visible as one, and not count as absent.
 */
function costIn(value: Json | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "number" && typeof value !== "string") return Number.NaN;
  const amount = typeof value === "number" ? usdToNano(value) : parseUsd(value);
  return amount ?? (Number(value) > maxUsd / 1e9 ? maxUsd : Number.NaN);
}

function ticksIn(value: Json | undefined): number | undefined {
  if (value === undefined) return undefined;
  return typeof value === "number" && value >= 0 ? saturatedUsd(Math.ceil(value / 10)) : Number.NaN;
}

/** What an answer has said of its usage so far: a whole one at once, a stream chunk by chunk. */
export class UsageReader {
  #report: UsageReport = {};
  /** A choice has stated the usage of itself alone, beside another: the sum is not known. */
  #isDivided = false;
  #hasOutput = false;
  /** Whether the figure is less than what is billed. `if_broken`: it came with output, which it counts if it was the last. */
  #interim: "yes" | "if_broken" | "no" = "yes";

  get hasReport(): boolean {
    return this.#report.usage !== undefined || this.#report.costNanoUsd !== undefined;
  }

  /** Reads an answer or a chunk; `hasOutput`: it has some of the answer in it. Says whether it states usage. */
  read(answer: JsonObject, hasOutput: boolean): boolean {
    let isStated = false;
    for (const way of places) isStated = this.#add(statementIn(at(answer, way))) || isStated;
    // Behind the others: it may be no more than their cost.
    if (memberIn(answer, unplaced) !== undefined) isStated = this.#add(statementIn(answer)) || isStated;
    const { choices } = answer;
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isObject(choice) || !this.#add(statementIn(choice["usage"]))) continue;
      isStated = true;
      if (choice["index"] !== 0 && choice["index"] != null) this.#isDivided = true;
    }
    if (isStated) this.#interim = hasOutput || !this.#hasOutput ? "if_broken" : "no";
    else if (hasOutput) this.#interim = "yes";
    this.#hasOutput ||= hasOutput;
    return isStated;
  }

  /** Output has come that nobody has to read. */
  skipOutput(): void {
    this.#hasOutput = true;
    this.#interim = "yes";
  }

  /** The usage that was read last is final. */
  close(): void {
    this.#interim = "no";
  }

  /** Partial where output followed the figure, or may have followed in a stream that is not complete. */
  report(isComplete: boolean): UsageReport {
    if (!this.hasReport) return this.#report;
    const { usage, costNanoUsd } = this.#report;
    const isInterim = this.#interim === "yes" || (this.#interim === "if_broken" && !isComplete);
    // Whoever counts no output where there is some has not counted yet.
    const isUncounted = this.#hasOutput && usage?.output === 0 && costNanoUsd === undefined;
    return isInterim || isUncounted || this.#isDivided ? { ...this.#report, partial: true } : this.#report;
  }

  #add(statement: Statement): boolean {
    if (statement === undefined) return false;
    this.#report = statement === "defective" ? {} : laterReport(this.#report, statement);
    return true;
  }
}

/**
 * The report after one more. Counts and costs only grow: a later report with less must not make the call cheaper, and
 * one that grew without a cost is priced by its tokens, because an earlier cost does not belong to later counts.
 */
function laterReport(before: UsageReport, after: UsageReport): UsageReport {
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
