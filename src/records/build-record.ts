import { createHash } from "node:crypto";
import { type ModelKey, type Price, tierOfRole } from "#domain/model.ts";
import { ratesOf, type TimeSpan } from "#domain/money/prices.ts";
import { costOf, type TokenUsage } from "#domain/money/tokens.ts";
import type { CostState, DecisionTokens, RefusedBy } from "./decision-record.ts";
import type { AttemptRecord, RequestRecord, RoutedInputs } from "./record.ts";
import {
  readEvidence,
  type StoredAttempt,
  type StoredInputs,
  type StoredRecord,
  unusual,
  usualRuntime,
  usualTask,
} from "./stored-record.ts";

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

/**
 * The decision record of a request that has ended, but for its number, which the store gives it. Not made while the
 * caller waits. Members that are undefined are not written: what `completeRecord` fills in is left out here.
 */
export function buildRecord(request: RequestRecord, context: RecordContext): StoredRecord {
  const { routed, decision, timings, answeredBy, atMs } = request;
  const final = routed?.decision ?? decision;
  const chosen = final.model ?? decision.model;
  const registry = routed?.snapshot.registry;
  const routing = routed?.snapshot.policy.routing;
  const model = registry?.models.get(answeredBy ?? chosen ?? "");
  const during = { fromMs: atMs, toMs: atMs + timings.totalMs };
  const last = request.attempts.at(-1);
  const senior = registry?.byRole.senior;
  const unhealthy: Record<string, string> = {};
  const unroutable: string[] = [];
  const health = routed?.snapshot.health;
  for (const key in health) {
    if (health[key]?.routable === false) unroutable.push(key);
    if (health[key]?.state !== "HEALTHY") unhealthy[key] = health[key]?.state ?? "";
  }
  let day: string | undefined;
  let ledgerMs: number | undefined;
  /** The cost of all answers at the senior model's prices of that time, with the same share cached, in nano-USD. */
  let baseline: number | undefined;
  for (const attempt of request.attempts) {
    const { usage } = attempt;
    day = attempt.day ?? day;
    if (attempt.ledgerMs !== undefined) ledgerMs = (ledgerMs ?? 0) + attempt.ledgerMs;
    // Without tiers there would be no scout.
    if (usage !== undefined && senior !== undefined && attempt.purpose !== "SCOUT") {
      baseline = (baseline ?? 0) + safeCost(usage, senior.price, during);
    }
  }
  const attempts = request.attempts.map((attempt) => attemptIn(attempt, request.begunMs));
  return {
    seq: 0,
    at_ms: atMs,
    recorded_ms: bookedMs(Math.round(during.toMs), day),
    decision_id: request.decisionId,
    request_id: request.requestId,
    session: bounded(context.session),
    goal: bounded(routed?.task.goal_id),
    task: routed?.namesTask === true ? bounded(routed.task.task_id) : undefined,
    conversation:
      routed && context.salt !== undefined ? Bun.hash(routed.conversationKey, context.salt).toString(36) : undefined,
    label: request.label,
    alias: request.alias,
    stream: request.stream || undefined,
    action: decision.action === "SCOUT" && final.model !== null ? "SCOUT" : final.action,
    model: chosen ?? undefined,
    served_by: answeredBy ?? undefined,
    upstream_model: answeredBy === null ? undefined : modelName(last?.otherModel ?? model?.upstreamId),
    status: request.status,
    outcome: request.outcome,
    refused_by: refuserOf(request),
    error_class: request.errorCode ?? (request.outcome === "answered" ? undefined : (last?.outcome ?? request.outcome)),
    cause: final.cause,
    kind: routed?.task.kind,
    tier: model === undefined ? undefined : tierOfRole[model.role],
    score: final.score,
    confidence: final.confidence,
    sensitive_block_applied: final.sensitive_block_applied || undefined,
    rule: readEvidence(final.evidence).rule,
    thresholds: routing === undefined ? undefined : { flash_below: routing.flash_below, pro_from: routing.pro_from },
    inputs: routed === undefined ? undefined : inputsIn(routed, unroutable),
    housekeeping: routed?.housekeeping,
    features: routed === undefined ? undefined : { ...routed.features },
    evidence: final.evidence,
    attempts,
    timings: {
      gate_ms: rounded(timings.gateMs),
      decision_ms: rounded(timings.decisionMs),
      ledger_ms: rounded(ledgerMs),
      first_token_ms: rounded(timings.firstTokenMs),
      total_ms: rounded(timings.totalMs),
    },
    cost_nano_usd: request.costNanoUsd,
    cost_state: unless(costState(attempts), "known"),
    baseline_nano_usd: baseline,
    switched: switchIn(request, context.before, during),
    price_band: bandIn(request, during),
    price_version: request.priceVersion,
    is_byok: last?.ownAccount,
    forwarded_fields: request.forwardedFields === undefined ? undefined : [...request.forwardedFields],
    redactions: request.redactions.length === 0 ? undefined : [...request.redactions],
    health: Object.keys(unhealthy).length === 0 ? undefined : unhealthy,
    policy_hash: context.policyHash ?? undefined,
  };
}

/** A value that is not written where it is the usual one. */
function unless<T>(value: T, usual: T): T | undefined {
  return value === usual ? undefined : value;
}

function attemptIn(attempt: AttemptRecord, begunMs: number): StoredAttempt {
  const { outcome, upstreamStatus } = attempt;
  return {
    number: Number(attempt.id.slice(attempt.id.lastIndexOf(".") + 1)),
    model: attempt.model,
    purpose: unless(attempt.purpose, "EXECUTE"),
    outcome,
    upstream_status: outcome === "answered" ? unless(upstreamStatus, 200) : upstreamStatus,
    reason: attempt.reason,
    started_ms: rounded(Math.max(0, attempt.startedMs - begunMs)),
    first_token_ms: rounded(attempt.firstTokenMs),
    duration_ms: rounded(attempt.durationMs),
    hold_nano_usd: attempt.holdNanoUsd,
    cost_nano_usd: attempt.costNanoUsd ?? (attempt.costSource === "released" ? 0 : undefined),
    cost_source: attempt.costSource,
    tokens: attempt.usage && tokensIn(attempt.usage),
    other_model: modelName(attempt.otherModel),
    generation_id: attempt.generationId,
    host: attempt.host,
  };
}

function tokensIn({ input, cachedInput, cacheWrite = 0, output, reasoning }: TokenUsage): DecisionTokens {
  return { prompt: input, cached: cachedInput, cache_write: cacheWrite, completion: output, reasoning };
}

/** `at_least` and a charged hold are what the ledger counts; the upstream did not confirm them as the cost. */
function costState(attempts: readonly StoredAttempt[]): CostState {
  let state: CostState = "known";
  for (const { cost_nano_usd, cost_source } of attempts) {
    if (cost_nano_usd === undefined && cost_source !== "hold") return "unknown";
    if (cost_source === "at_least" || cost_source === "hold") state = "estimated";
  }
  return state;
}

/** The same tokens on the model before would have met its cache, as far as the conversation had gone. */
function switchIn(
  { routed, answeredBy, attempts }: RequestRecord,
  before: PreviousAnswer | undefined,
  during: TimeSpan,
): StoredRecord["switched"] {
  if (before === undefined || before.model === answeredBy) return undefined;
  const usage = attempts.findLast(({ outcome }) => outcome === "answered")?.usage;
  const models = routed?.snapshot.registry.models;
  const [from, to] = [models?.get(before.model), models?.get(answeredBy ?? "")];
  if (usage === undefined || from === undefined || to === undefined) return undefined;
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
function bandIn({ routed, attempts }: RequestRecord, during: TimeSpan): string | undefined {
  const answer = attempts.findLast(({ usage }) => usage !== undefined);
  const price = routed?.snapshot.registry.models.get(answer?.model ?? "")?.price;
  if (answer?.usage === undefined || price?.bands === undefined) return undefined;
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

function refuserOf({ outcome, attempts, status }: RequestRecord): RefusedBy | undefined {
  if (outcome === "refused") return "gateway";
  if (outcome === "broken_stream") return "upstream";
  if (outcome !== "failed") return undefined;
  return status !== 503 && attempts.length > 0 ? "upstream" : "gateway";
}

/** What is needed to decide again. */
function inputsIn(routed: RoutedInputs, unroutable: string[]): StoredInputs {
  const { task, runtime, snapshot } = routed;
  const { ownCaps, affinity, runEvidence, size } = snapshot;
  const { surcharge } = size;
  const { routing: hint, scout, pro } = task.metadata;
  return {
    task: {
      ...unusual(task, usualTask),
      hint: hint === "pro" || hint === "flash" || hint === "free" ? hint : undefined,
      scout: scout === true || undefined,
      pro: pro === true || undefined,
    },
    runtime: { ...unusual(runtime, usualRuntime), last_model: bounded(runtime.last_model ?? undefined) },
    size: {
      input_tokens_bound: size.inputTokensBound,
      input_tokens_estimate: size.inputTokensEstimate,
      requested_output_tokens: size.requestedOutputTokens,
      choices: size.choices,
      writes_cache: size.writesCache,
      other_output_tokens: size.otherOutputTokens,
      reasoning_tokens: size.reasoningTokens,
      predicted_tokens: size.predictedTokens,
      surcharge: surcharge === undefined ? undefined : { ...surcharge, fields: [...surcharge.fields] },
    },
    spend: snapshot.spend,
    ledger_spend: routed.ledgerSpend,
    own_caps: ownCaps === undefined ? undefined : { goal_hard: ownCaps.goalHard, day_hard: ownCaps.dayHard },
    scale: snapshot.scale ?? "declared",
    run_evidence: runEvidence === undefined || runEvidence.length === 0 ? undefined : [...runEvidence],
    prose: snapshot.prose,
    continuation: routed.continuation || undefined,
    reported_failure: routed.reportedFailure || undefined,
    affinity: affinity === undefined ? undefined : { model: affinity.model, continuation: affinity.continuation },
    verdict: snapshot.verdict,
    unroutable: unroutable.length === 0 ? undefined : unroutable,
  };
}

/** Rounded to three decimal places. */
function rounded(value: number): number;
function rounded(value: number | undefined): number | undefined;
function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 1_000) / 1_000;
}

/** Ids that callers choose are free text; longer ones are cut, and end in digits of their hash, so that they still differ. In characters. */
const maxIdLength = 128;
const hashDigits = 16;

function bounded(id: string | undefined): string | undefined {
  return id === undefined ? undefined : boundedId(id);
}

/** What an upstream calls a model, without what no name of a model has. */
function modelName(name: string | undefined): string | undefined {
  return bounded(name?.replace(/[^\w.:@/+-]/g, "_"));
}

/** The id as records have it; an id that is one already stays as it is. */
export function boundedId(id: string): string {
  if (id.length <= maxIdLength) return id;
  const hash = createHash("sha256").update(id, "utf16le").digest("hex").slice(0, hashDigits);
  // A cut may go through a character that is two units of UTF-16.
  return `${id.slice(0, maxIdLength - hashDigits - 1).toWellFormed()}…${hash}`;
}
