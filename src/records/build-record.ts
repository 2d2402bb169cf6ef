import { createHash } from "node:crypto";
import { type ModelKey, tierOfRole } from "#domain/model.ts";
import { ratesOf } from "#domain/money/prices.ts";
import { costOf, type TokenUsage } from "#domain/money/tokens.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { DecisionAttempt, DecisionInputs, DecisionRecord, DecisionTokens } from "./decision-record.ts";
import type { AttemptRecord, RequestRecord, RoutedInputs } from "./record.ts";

/** What a decision record needs beside the record of the request. */
export interface RecordContext {
  /** Names the configuration that the decision was made by, so that it can be made again. */
  readonly policyHash: string | null;
  /** The caller's session, redacted. */
  readonly session: string | undefined;
  /** The last answer in the same conversation. */
  readonly before?: PreviousAnswer | undefined;
}

/** What a conversation has in the cache of the model that answered last. */
export interface PreviousAnswer {
  readonly model: ModelKey;
  readonly promptTokens: number;
}

/**
 * The decision record of a request that has ended, but for its number and the name of its conversation, which the store gives it. It is
 * made when it is written, not while the caller waits.
 */
export function buildRecord(request: RequestRecord, { policyHash, session, before }: RecordContext): DecisionRecord {
  const { routed, decision, timings, answeredBy } = request;
  const final = routed?.decision ?? decision;
  const chosen = final.model ?? decision.model;
  const registry = routed?.snapshot.registry;
  const routing = routed?.snapshot.policy.routing;
  const model = registry?.models.get(answeredBy ?? chosen ?? "");
  const attempts = request.attempts.map((attempt) => attemptIn(attempt, request.begunMs));
  const last = request.attempts.at(-1);
  const during = { fromMs: request.atMs, toMs: request.atMs + timings.totalMs };
  return {
    seq: 0,
    at_ms: request.atMs,
    recorded_ms: bookedMs(Math.round(during.toMs), request.attempts.findLast(({ day }) => day !== undefined)?.day),
    decision_id: request.decisionId,
    request_id: request.requestId,
    session: bounded(session),
    goal: bounded(routed?.task.goal_id),
    task: routed?.namesTask === true ? bounded(routed.task.task_id) : null,
    conversation: null,
    generation_ids: attempts.flatMap(({ generation_id }) => generation_id ?? []),
    label: request.label ?? null,
    route: "chat_completions",
    alias: request.alias,
    stream: request.stream,
    action: decision.action === "SCOUT" && final.model !== null ? "SCOUT" : final.action,
    model: chosen,
    served_by: answeredBy,
    upstream_model: answeredBy === null ? null : bounded(last?.otherModel ?? model?.upstreamId),
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
    ...readEvidence(final.evidence),
    thresholds: routing === undefined ? null : { flash_below: routing.flash_below, pro_from: routing.pro_from },
    inputs: routed === undefined ? null : inputsIn(routed),
    housekeeping: routed?.housekeeping ?? null,
    features: routed === undefined ? {} : { ...routed.features },
    evidence: final.evidence,
    attempts,
    timings: {
      gate_ms: rounded(timings.gateMs),
      decision_ms: rounded(timings.decisionMs),
      ledger_ms: rounded(total(request.attempts.map(({ ledgerMs }) => ledgerMs))),
      first_token_ms: rounded(timings.firstTokenMs),
      total_ms: rounded(timings.totalMs),
    },
    tokens: attempts.reduce(addTokens, null),
    hold_nano_usd: attempts.reduce((sum, { hold_nano_usd }) => sum + hold_nano_usd, 0),
    cost_nano_usd: request.costNanoUsd,
    cost_state: costState(attempts),
    cost_source: last?.costSource ?? null,
    baseline_nano_usd: baselineIn(request, during),
    switched: switchIn(request, before, during),
    price_band: bandIn(request, during),
    price_version: request.priceVersion ?? null,
    is_byok: last?.ownAccount ?? null,
    forwarded_fields: [...(request.forwardedFields ?? [])],
    redactions: [...request.redactions],
    health: routed === undefined ? {} : unhealthyIn(routed.snapshot),
    policy_hash: policyHash,
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
    started_ms: rounded(Math.max(0, attempt.startedMs - begunMs)),
    first_token_ms: rounded(attempt.firstTokenMs),
    duration_ms: rounded(attempt.durationMs),
    hold_nano_usd: attempt.holdNanoUsd,
    cost_nano_usd: attempt.costNanoUsd ?? (attempt.costSource === "released" ? 0 : null),
    cost_source: attempt.costSource ?? null,
    tokens: tokensIn(attempt.usage),
    other_model: bounded(attempt.otherModel),
    generation_id: attempt.generationId ?? null,
    host: attempt.host ?? null,
  };
}

function tokensIn(usage: TokenUsage | undefined): DecisionTokens | null {
  if (usage === undefined) return null;
  const { input, cachedInput, cacheWrite = 0, output, reasoning } = usage;
  return { prompt: input, cached: cachedInput, cache_write: cacheWrite, completion: output, reasoning };
}

function addTokens(sum: DecisionTokens | null, { tokens }: DecisionAttempt): DecisionTokens | null {
  if (sum === null || tokens === null) return sum ?? tokens;
  const added = { ...sum };
  for (const kind of Object.keys(added) as (keyof DecisionTokens)[]) added[kind] += tokens[kind];
  return added;
}

/** `at_least` and a charged hold are what the ledger counts; the upstream did not confirm them as the cost. */
function costState(attempts: readonly DecisionAttempt[]): DecisionRecord["cost_state"] {
  if (attempts.some((each) => each.cost_nano_usd === null && each.cost_source !== "hold")) return "unknown";
  const isGuess = ({ cost_source }: DecisionAttempt) => cost_source === "at_least" || cost_source === "hold";
  return attempts.some(isGuess) ? "estimated" : "known";
}

/** The sum of what is known; undefined where nothing is. */
function total(numbers: readonly (number | undefined)[]): number | undefined {
  return numbers.reduce((sum, each) => (each === undefined ? sum : (sum ?? 0) + each), undefined);
}

type Span = Parameters<typeof ratesOf>[2];

/** The cost of all answers at the senior model's prices of that time, with the same share cached, in nano-USD. */
function baselineIn({ routed, attempts }: RequestRecord, during: Span): number | null {
  const price = routed?.snapshot.registry.byRole.senior?.price;
  // Without tiers there would be no scout.
  const answers = attempts.filter(({ purpose }) => purpose !== "SCOUT" && price !== undefined);
  return total(answers.map(({ usage }) => usage && price && safeCost(usage, price, during))) ?? null;
}

/** The same tokens on the model before would have met its cache, as far as the conversation had gone. */
function switchIn(
  { routed, answeredBy, attempts }: RequestRecord,
  before: PreviousAnswer | undefined,
  during: Span,
): DecisionRecord["switched"] {
  const usage = attempts.findLast(({ outcome }) => outcome === "answered")?.usage;
  const models = routed?.snapshot.registry.models;
  const [from, to] = [models?.get(before?.model ?? ""), models?.get(answeredBy ?? "")];
  if (before === undefined || usage === undefined || !from || !to || from === to) return null;
  const cachedInput = Math.min(before.promptTokens, usage.input);
  const stayed = { ...usage, cachedInput, cacheWrite: Math.min(usage.cacheWrite ?? 0, usage.input - cachedInput) };
  return {
    from: from.key,
    cost_nano_usd: safeCost(usage, to.price, during) - safeCost(stayed, from.price, during),
  };
}

function safeCost(...args: Parameters<typeof costOf>): number {
  try {
    return costOf(...args);
  } catch {
    // The counts are so large that the cost is no safe integer.
    return 0;
  }
}

/** Which of the model's rates the last answer met, where it has several. */
function bandIn({ routed, attempts }: RequestRecord, during: Span): string | null {
  const { usage, model = "" } = attempts.findLast((attempt) => attempt.usage !== undefined) ?? {};
  const price = routed?.snapshot.registry.models.get(model)?.price;
  if (usage === undefined || price?.bands === undefined) return null;
  const { input, output } = ratesOf(price, usage.input, during);
  if (input === price.input && output === price.output) return "base";
  return `${input / 1e9}/${output / 1e9} USD per million`;
}

/** When it ended, within the UTC day that the ledger counts its cost to. */
function bookedMs(endedMs: number, day: string | undefined): number {
  if (day === undefined) return endedMs;
  const startMs = Date.parse(`${day}T00:00:00Z`);
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
function inputsIn(routed: RoutedInputs): DecisionInputs {
  const { snapshot, ledgerSpend } = routed;
  const { size, ownCaps, affinity } = snapshot;
  const { task_id: _, goal_id: __, kind: ___, instruction: ____, metadata, ...task } = routed.task;
  const { error_signature: _____, last_model, ...counts } = routed.runtime;
  const { routing: hint, scout, pro } = metadata;
  return {
    task: {
      ...task,
      hint: hint === "pro" || hint === "flash" || hint === "free" ? hint : "auto",
      scout: scout === true,
      pro: pro === true,
    },
    runtime: { ...counts, last_model: bounded(last_model ?? undefined) },
    size: renamed(size, snakeCase) as DecisionInputs["size"],
    spend: snapshot.spend,
    ledger_spend: ledgerSpend ?? null,
    own_caps: renamed(ownCaps ?? {}, snakeCase),
    scale: snapshot.scale ?? "declared",
    run_evidence: [...(snapshot.runEvidence ?? [])],
    prose: snapshot.prose ?? 0,
    continuation: routed.continuation,
    reported_failure: routed.reportedFailure,
    affinity: affinity === undefined ? null : { model: affinity.model, continuation: affinity.continuation },
    draw: snapshot.draw ?? null,
    verdict: snapshot.verdict ?? null,
    unroutable: Object.entries(snapshot.health).flatMap(([key, { routable }]) => (routable ? [] : key)),
  };
}

/** An object with its members under other names. */
export function renamed(from: object, name: (name: string) => string): object {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [name(key), value]));
}

/** Of the few members of our own objects. */
const inSnakeCase = new Map<string, string>();

function snakeCase(name: string): string {
  const known = inSnakeCase.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  inSnakeCase.set(name, known);
  return known;
}

function unhealthyIn({ health }: Snapshot): Record<string, string> {
  const states = Object.entries(health).map(([key, { state }]) => [key, state] as const);
  return Object.fromEntries(states.filter(([, state]) => state !== "HEALTHY"));
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

/** The id as records have it; an id that is one already stays as it is. */
export function boundedId(id: string): string {
  if (id.length <= maxIdLength) return id;
  const hash = createHash("sha256").update(id, "utf16le").digest("hex").slice(0, hashDigits);
  // A cut may go through a character that is two units of UTF-16.
  return `${id.slice(0, maxIdLength - hashDigits - 1).toWellFormed()}…${hash}`;
}
