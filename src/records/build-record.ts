import { createHash } from "node:crypto";
import { type ModelKey, type Price, tierOfRole } from "#domain/model.ts";
import { ratesOf, type TimeSpan } from "#domain/money/prices.ts";
import { costOf, type TokenUsage } from "#domain/money/tokens.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { DecisionAttempt, DecisionInputs, DecisionRecord, DecisionTokens } from "./decision-record.ts";
import type { AttemptRecord, RequestRecord, RoutedInputs } from "./record.ts";

/** What a decision record needs beside the record of the request. */
export interface RecordContext {
  /** Names the configuration that the decision was made by, so that it can be made again. */
  readonly policyHash: string | null;
  /** The caller's session, redacted. */
  readonly session: string | undefined;
  /** Of the store, for the name of the conversation, from which nobody can tell it; absent where the record is not kept. */
  readonly salt?: number | undefined;
  /** The last answer in the same conversation. */
  readonly before?: PreviousAnswer | undefined;
}

/** What a conversation has in the cache of the model that answered last. */
export interface PreviousAnswer {
  readonly model: ModelKey;
  readonly promptTokens: number;
}

/** The decision record of a request that has ended, but for its number, which the store gives it. Not made while the caller waits. */
export function buildRecord(request: RequestRecord, context: RecordContext): DecisionRecord {
  const { routed, decision, timings, answeredBy, atMs } = request;
  const final = routed?.decision ?? decision;
  const chosen = final.model ?? decision.model;
  const registry = routed?.snapshot.registry;
  const routing = routed?.snapshot.policy.routing;
  const model = registry?.models.get(answeredBy ?? chosen ?? "");
  const during = { fromMs: atMs, toMs: atMs + timings.totalMs };
  const last = request.attempts.at(-1);
  const senior = registry?.byRole.senior;
  const { rule, contributions, points } = readEvidence(final.evidence);
  const unhealthy: Record<string, string> = {};
  const unroutable: string[] = [];
  const health = routed?.snapshot.health;
  for (const key in health) {
    if (health[key]?.routable === false) unroutable.push(key);
    if (health[key]?.state !== "HEALTHY") unhealthy[key] = health[key]?.state ?? "";
  }
  const attempts: DecisionAttempt[] = [];
  const generationIds: string[] = [];
  let tokens: DecisionTokens | null = null;
  let hold = 0;
  let day: string | undefined;
  let ledgerMs: number | undefined;
  /** The cost of all answers at the senior model's prices of that time, with the same share cached, in nano-USD. */
  let baseline: number | null = null;
  for (const attempt of request.attempts) {
    const { usage } = attempt;
    const made = attemptIn(attempt, request.begunMs);
    attempts.push(made);
    if (made.generation_id !== null) generationIds.push(made.generation_id);
    tokens = addTokens(tokens, made.tokens);
    hold += attempt.holdNanoUsd;
    day = attempt.day ?? day;
    if (attempt.ledgerMs !== undefined) ledgerMs = (ledgerMs ?? 0) + attempt.ledgerMs;
    // Without tiers there would be no scout.
    if (usage !== undefined && senior !== undefined && attempt.purpose !== "SCOUT") {
      baseline = (baseline ?? 0) + safeCost(usage, senior.price, during);
    }
  }
  return {
    seq: 0,
    at_ms: atMs,
    recorded_ms: bookedMs(Math.round(during.toMs), day),
    decision_id: request.decisionId,
    request_id: request.requestId,
    session: bounded(context.session),
    goal: bounded(routed?.task.goal_id),
    task: routed?.namesTask === true ? bounded(routed.task.task_id) : null,
    conversation:
      routed && context.salt !== undefined ? Bun.hash(routed.conversationKey, context.salt).toString(36) : null,
    generation_ids: generationIds,
    label: request.label ?? null,
    error_param: null,
    asked_model: null,
    route: "chat_completions",
    alias: request.alias,
    stream: request.stream,
    action: decision.action === "SCOUT" && final.model !== null ? "SCOUT" : final.action,
    model: chosen,
    served_by: answeredBy,
    upstream_model: answeredBy === null ? null : modelName(last?.otherModel ?? model?.upstreamId),
    upstream_host: last?.host ?? null,
    status: request.status,
    outcome: request.outcome,
    refused_by: refuserOf(request),
    error_class: request.errorCode ?? (request.outcome === "answered" ? null : (last?.outcome ?? request.outcome)),
    cause: final.cause,
    kind: routed?.task.kind ?? null,
    tier: model === undefined ? null : tierOfRole[model.role],
    score: final.score,
    confidence: final.confidence,
    sensitive_block_applied: final.sensitive_block_applied,
    rule,
    contributions,
    points,
    thresholds: routing === undefined ? null : { flash_below: routing.flash_below, pro_from: routing.pro_from },
    inputs: routed === undefined ? null : inputsIn(routed, unroutable),
    housekeeping: routed?.housekeeping ?? null,
    features: routed === undefined ? {} : { ...routed.features },
    evidence: final.evidence,
    attempts,
    timings: {
      gate_ms: rounded(timings.gateMs),
      decision_ms: rounded(timings.decisionMs),
      ledger_ms: rounded(ledgerMs),
      first_token_ms: rounded(timings.firstTokenMs),
      total_ms: rounded(timings.totalMs),
    },
    tokens,
    hold_nano_usd: hold,
    cost_nano_usd: request.costNanoUsd,
    cost_state: costState(attempts),
    cost_source: last?.costSource ?? null,
    baseline_nano_usd: baseline,
    switched: switchIn(request, context.before, during),
    price_band: bandIn(request, during),
    price_version: request.priceVersion ?? null,
    is_byok: last?.ownAccount ?? null,
    forwarded_fields: [...(request.forwardedFields ?? [])],
    redactions: [...request.redactions],
    health: unhealthy,
    policy_hash: context.policyHash,
    reported: null,
    repeated: 1,
  };
}

function attemptIn(attempt: AttemptRecord, begunMs: number): DecisionAttempt {
  return {
    number: Number(attempt.id.slice(attempt.id.lastIndexOf(".") + 1)),
    model: attempt.model,
    purpose: attempt.purpose,
    outcome: attempt.outcome,
    upstream_status: attempt.upstreamStatus ?? (attempt.outcome === "answered" ? 200 : null),
    reason: attempt.reason ?? null,
    started_ms: rounded(Math.max(0, attempt.startedMs - begunMs)),
    first_token_ms: rounded(attempt.firstTokenMs),
    duration_ms: rounded(attempt.durationMs),
    hold_nano_usd: attempt.holdNanoUsd,
    cost_nano_usd: attempt.costNanoUsd ?? (attempt.costSource === "released" ? 0 : null),
    cost_source: attempt.costSource ?? null,
    tokens: tokensIn(attempt.usage),
    other_model: modelName(attempt.otherModel),
    generation_id: attempt.generationId ?? null,
    host: attempt.host ?? null,
  };
}

function tokensIn(usage: TokenUsage | undefined): DecisionTokens | null {
  if (usage === undefined) return null;
  const { input, cachedInput, cacheWrite = 0, output, reasoning } = usage;
  return { prompt: input, cached: cachedInput, cache_write: cacheWrite, completion: output, reasoning };
}

function addTokens(sum: DecisionTokens | null, tokens: DecisionTokens | null): DecisionTokens | null {
  if (sum === null || tokens === null) return sum ?? tokens;
  const added = { ...sum };
  for (const kind of Object.keys(added) as (keyof DecisionTokens)[]) added[kind] += tokens[kind];
  return added;
}

/** `at_least` and a charged hold are what the ledger counts; the upstream did not confirm them as the cost. */
function costState(attempts: readonly DecisionAttempt[]): DecisionRecord["cost_state"] {
  let state: DecisionRecord["cost_state"] = "known";
  for (const { cost_nano_usd, cost_source } of attempts) {
    if (cost_nano_usd === null && cost_source !== "hold") return "unknown";
    if (cost_source === "at_least" || cost_source === "hold") state = "estimated";
  }
  return state;
}

/** The same tokens on the model before would have met its cache, as far as the conversation had gone. */
function switchIn(
  { routed, answeredBy, attempts }: RequestRecord,
  before: PreviousAnswer | undefined,
  during: TimeSpan,
): DecisionRecord["switched"] {
  if (before === undefined || before.model === answeredBy) return null;
  const usage = attempts.findLast(({ outcome }) => outcome === "answered")?.usage;
  const models = routed?.snapshot.registry.models;
  const [from, to] = [models?.get(before.model), models?.get(answeredBy ?? "")];
  if (usage === undefined || from === undefined || to === undefined) return null;
  const cachedInput = Math.min(before.promptTokens, usage.input);
  const stayed = { ...usage, cachedInput, cacheWrite: Math.min(usage.cacheWrite ?? 0, usage.input - cachedInput) };
  return {
    from: from.key,
    cost_nano_usd: safeCost(usage, to.price, during) - safeCost(stayed, from.price, during),
  };
}

function safeCost(usage: TokenUsage, price: Price, during: TimeSpan): number {
  try {
    return costOf(usage, price, during);
  } catch {
    // The counts are so large that the cost is no safe integer.
    return 0;
  }
}

/** Which of the model's rates the last answer met, where it has several. */
function bandIn({ routed, attempts }: RequestRecord, during: TimeSpan): string | null {
  const answer = attempts.findLast(({ usage }) => usage !== undefined);
  const price = routed?.snapshot.registry.models.get(answer?.model ?? "")?.price;
  if (answer?.usage === undefined || price?.bands === undefined) return null;
  const { input, output } = ratesOf(price, answer.usage.input, during);
  if (input === price.input && output === price.output) return "base";
  return `${input / 1e9}/${output / 1e9} USD per million`;
}

/** When it ended, within the UTC day that the ledger counts its cost to. */
function bookedMs(endedMs: number, day: string | undefined): number {
  if (day === undefined) return endedMs;
  const startMs = Date.parse(day);
  return Math.min(Math.max(endedMs, startMs), startMs + 86_399_999);
}

function refuserOf({ outcome, attempts, status }: RequestRecord): DecisionRecord["refused_by"] {
  if (outcome === "refused") return "gateway";
  if (outcome === "broken_stream") return "upstream";
  if (outcome !== "failed") return null;
  return status !== 503 && attempts.length > 0 ? "upstream" : "gateway";
}

/** The hard rules that the evidence names, and the points of each feature. */
export function readEvidence(evidence: readonly string[]): Pick<DecisionRecord, "rule" | "contributions" | "points"> {
  const contributions: { name: string; value: number }[] = [];
  let rule: string | null = null;
  let points: number | null = null;
  for (const entry of evidence) {
    const at = entry.indexOf("=");
    if (entry.startsWith("hard_rule=")) rule = rule === null ? entry.slice(at + 1) : `${rule}, ${entry.slice(at + 1)}`;
    else if (entry.startsWith("points=")) points = Number(entry.slice(at + 1));
    else if (entry.startsWith("points_")) {
      contributions.push({ name: entry.slice("points_".length, at), value: Number(entry.slice(at + 1)) });
    }
  }
  return { rule, contributions, points };
}

/** What is needed to decide again. */
function inputsIn(routed: RoutedInputs, unroutable: string[]): DecisionInputs {
  const { task, snapshot } = routed;
  const { error_signature: _, last_model, ...counts } = routed.runtime;
  const { ownCaps, affinity } = snapshot;
  const { routing: hint, scout, pro } = task.metadata;
  return {
    task: {
      explicit_route: task.explicit_route,
      reasoning: task.reasoning,
      sensitive: task.sensitive,
      repo_context_present: task.repo_context_present,
      repo_free_opt_in: task.repo_free_opt_in,
      risk_level: task.risk_level,
      blast_radius: task.blast_radius,
      reasoning_requirement: task.reasoning_requirement,
      ambiguity: task.ambiguity,
      dependency_depth: task.dependency_depth,
      verification_difficulty: task.verification_difficulty,
      estimated_tool_depth: task.estimated_tool_depth,
      hint: hint === "pro" || hint === "flash" || hint === "free" ? hint : "auto",
      scout: scout === true,
      pro: pro === true,
    },
    runtime: { ...counts, last_model: bounded(last_model ?? undefined) },
    size: sizeIn(snapshot.size),
    spend: snapshot.spend,
    ledger_spend: routed.ledgerSpend ?? null,
    own_caps: ownCaps === undefined ? {} : { goal_hard: ownCaps.goalHard, day_hard: ownCaps.dayHard },
    scale: snapshot.scale ?? "declared",
    run_evidence: [...(snapshot.runEvidence ?? [])],
    prose: snapshot.prose ?? 0,
    continuation: routed.continuation,
    reported_failure: routed.reportedFailure,
    affinity: affinity === undefined ? null : { model: affinity.model, continuation: affinity.continuation },
    verdict: snapshot.verdict ?? null,
    unroutable,
  };
}

/** What is seldom there is not in it as undefined: that would take JSON longer. */
function sizeIn(size: RequestSize): DecisionInputs["size"] {
  const { writesCache, otherOutputTokens, reasoningTokens, predictedTokens, surcharge } = size;
  const known: DecisionInputs["size"] = {
    input_tokens_bound: size.inputTokensBound,
    input_tokens_estimate: size.inputTokensEstimate,
    requested_output_tokens: size.requestedOutputTokens,
    choices: size.choices,
  };
  if (writesCache !== undefined) known.writes_cache = writesCache;
  if (otherOutputTokens !== undefined) known.other_output_tokens = otherOutputTokens;
  if (reasoningTokens !== undefined) known.reasoning_tokens = reasoningTokens;
  if (predictedTokens !== undefined) known.predicted_tokens = predictedTokens;
  if (surcharge !== undefined) known.surcharge = { ...surcharge, fields: [...surcharge.fields] };
  return known;
}

/** Rounded to three decimal places. */
function rounded(value: number): number;
function rounded(value: number | undefined): number | null;
function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value * 1_000) / 1_000;
}

/** Ids that callers choose are free text; longer ones are cut, and end in digits of their hash, so that they still differ. In characters. */
const maxIdLength = 128;
const hashDigits = 16;

function bounded(id: string | undefined): string | null {
  return id === undefined ? null : boundedId(id);
}

/** What an upstream calls a model, without what no name of a model has. */
function modelName(name: string | undefined): string | null {
  return bounded(name?.replace(/[^\w.:@/+-]/g, "_"));
}

/** The id as records have it; an id that is one already stays as it is. */
export function boundedId(id: string): string {
  if (id.length <= maxIdLength) return id;
  const hash = createHash("sha256").update(id, "utf16le").digest("hex").slice(0, hashDigits);
  // A cut may go through a character that is two units of UTF-16.
  return `${id.slice(0, maxIdLength - hashDigits - 1).toWellFormed()}…${hash}`;
}
