import type { AskFeatures } from "#pipeline/assess/ask/features.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type {
  CostState,
  DecisionAttempt,
  DecisionInputs,
  DecisionRecord,
  DecisionTokens,
  RefusedBy,
} from "./decision-record.ts";
import type { AttemptRecord, RequestRecord, RoutedInputs } from "./record.ts";
import { bounded, conversationName, factsOf, type RecordContext } from "./record-facts.ts";

/**
 * The decision record of a request that has ended. The store sets its `seq`. It is made when it is written, not while the
 * caller waits.
 */
export function buildRecord(request: RequestRecord, context: RecordContext): DecisionRecord {
  const { routed, decision } = request;
  const facts = factsOf(request, context);
  const final = routed?.decision ?? decision;
  const attempts = request.attempts.map((attempt) => attemptOf(attempt, request));
  const tokens = tokensIn(attempts);
  const last = request.attempts.at(-1);
  const model = final.model ?? decision.model;
  return {
    seq: 0,
    at_ms: request.atMs,
    recorded_ms: recordedMs(request),
    decision_id: request.decisionId,
    request_id: request.requestId,
    session: facts.session,
    goal: bounded(routed?.task.goal_id),
    task: routed?.namesTask === true ? bounded(routed.task.task_id) : null,
    conversation: conversationName(routed?.conversationKey, context.salt),
    generation_ids: request.attempts.flatMap(({ generationId }) => generationId ?? []),
    route: "chat_completions",
    alias: request.alias,
    stream: request.stream,
    action: actionOf(request),
    model,
    served_by: request.answeredBy,
    upstream_model: facts.upstreamModel,
    upstream_host: last?.host ?? null,
    status: request.status,
    outcome: request.outcome,
    refused_by: refuserOf(request),
    error_class: errorClassOf(request),
    cause: final.cause,
    rule: rulesIn(final.evidence),
    kind: routed?.task.kind ?? null,
    tier: facts.tier,
    score: final.score,
    confidence: final.confidence,
    sensitive_block_applied: final.sensitive_block_applied,
    ...pointsIn(final.evidence),
    thresholds: routed === undefined ? null : thresholdsOf(routed.snapshot),
    inputs: routed === undefined ? null : inputsOf(routed),
    housekeeping: routed?.housekeeping ?? null,
    features: routed === undefined ? {} : recordedFeaturesOf(routed.features),
    evidence: final.evidence,
    attempts,
    timings: {
      gate_ms: rounded(request.timings.gateMs),
      decision_ms: rounded(request.timings.decisionMs),
      ledger_ms: rounded(ledgerMsOf(request.attempts)),
      first_token_ms: rounded(request.timings.firstTokenMs),
      total_ms: rounded(request.timings.totalMs),
    },
    tokens,
    hold_nano_usd: request.attempts.reduce((sum, { holdNanoUsd }) => sum + holdNanoUsd, 0),
    cost_nano_usd: request.costNanoUsd,
    cost_state: costStateOf(request.attempts),
    cost_source: last?.costSource ?? null,
    baseline_nano_usd: facts.baseline,
    price_band: facts.priceBand,
    price_version: request.priceVersion ?? null,
    is_byok: last?.ownAccount ?? null,
    forwarded_fields: [...(request.forwardedFields ?? [])],
    redactions: request.redactions.map(({ rule, count }) => ({ rule, count })),
    health: routed === undefined ? {} : healthOf(routed.snapshot),
    policy_hash: facts.policyHash,
    reported: null,
    repeated: 1,
  };
}

function actionOf({ decision, routed }: RequestRecord): DecisionRecord["action"] {
  const final = routed?.decision ?? decision;
  return decision.action === "SCOUT" && final.model !== null ? "SCOUT" : final.action;
}

function recordedMs({ atMs, timings, attempts }: RequestRecord): number {
  let lastDay: string | undefined;
  for (const { day } of attempts) lastDay = day ?? lastDay;
  return bookedMs(Math.round(atMs + timings.totalMs), lastDay);
}

const dayMs = 86_400_000;

/** Nearly every record is of the same day as the one before. */
let knownDay = { day: "", startMs: 0 };

/** When it ended, within the UTC day that the ledger counts its cost to. */
function bookedMs(endedMs: number, day: string | undefined): number {
  if (day === undefined) return endedMs;
  if (day !== knownDay.day) knownDay = { day, startMs: Date.parse(`${day}T00:00:00Z`) };
  const { startMs } = knownDay;
  return Math.min(Math.max(endedMs, startMs), startMs + dayMs - 1);
}

function attemptOf(attempt: AttemptRecord, { begunMs }: RequestRecord): DecisionAttempt {
  const { usage } = attempt;
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
    tokens:
      usage === undefined
        ? null
        : {
            prompt: usage.input,
            cached: usage.cachedInput,
            cache_write: usage.cacheWrite ?? 0,
            completion: usage.output,
            reasoning: usage.reasoning,
          },
    other_model: bounded(attempt.otherModel),
    generation_id: attempt.generationId ?? null,
    host: attempt.host ?? null,
  };
}

function tokensIn(attempts: readonly DecisionAttempt[]): DecisionTokens | null {
  let sum: DecisionTokens | null = null;
  for (const { tokens } of attempts) {
    if (tokens === null) continue;
    sum =
      sum === null
        ? tokens
        : {
            prompt: sum.prompt + tokens.prompt,
            cached: sum.cached + tokens.cached,
            cache_write: sum.cache_write + tokens.cache_write,
            completion: sum.completion + tokens.completion,
            reasoning: sum.reasoning + tokens.reasoning,
          };
  }
  return sum;
}

function refuserOf({ outcome, attempts, status }: RequestRecord): RefusedBy | null {
  if (outcome === "refused") return "gateway";
  if (outcome === "broken_stream") return "upstream";
  if (outcome !== "failed") return null;
  return status !== 503 && attempts.length > 0 ? "upstream" : "gateway";
}

function errorClassOf({ errorCode, outcome, attempts }: RequestRecord): string | null {
  if (errorCode !== undefined) return errorCode;
  if (outcome === "answered") return null;
  return attempts.at(-1)?.outcome ?? outcome;
}

/** Requests that follow each other often have the same evidence, and whether texts are the same is seen without reading them. */
let knownEvidence: { readonly evidence: readonly string[]; readonly rules: string | null } = {
  evidence: [],
  rules: null,
};

/** The hard rules that the evidence names. */
function rulesIn(evidence: readonly string[]): string | null {
  if (!haveSameTexts(evidence, knownEvidence.evidence)) knownEvidence = { evidence, rules: readRules(evidence) };
  return knownEvidence.rules;
}

function haveSameTexts(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

function readRules(evidence: readonly string[]): string | null {
  let rules: string | null = null;
  for (const entry of evidence) {
    if (!entry.startsWith(ruleKey)) continue;
    const rule = entry.slice(ruleKey.length);
    rules = rules === null ? rule : `${rules}, ${rule}`;
  }
  return rules;
}
const ruleKey = "hard_rule=";
const pointsKey = "points_";

/** The points of each feature, from the evidence of the score. */
function pointsIn(evidence: readonly string[]): Pick<DecisionRecord, "contributions" | "points"> {
  const contributions: { name: string; value: number }[] = [];
  let points: number | null = null;
  for (const entry of evidence) {
    if (!entry.startsWith("points")) continue;
    const at = entry.indexOf("=");
    const value = Number(entry.slice(at + 1));
    if (entry.startsWith(pointsKey)) contributions.push({ name: entry.slice(pointsKey.length, at), value });
    else if (at === "points".length) points = value;
  }
  return { contributions, points };
}

function thresholdsOf({ policy }: Snapshot): NonNullable<DecisionRecord["thresholds"]> {
  return { flash_below: policy.routing.flash_below, pro_from: policy.routing.pro_from };
}

/** What is needed to decide again. */
function inputsOf({
  task,
  runtime,
  snapshot,
  ledgerSpend,
  continuation,
  reportedFailure,
}: RoutedInputs): DecisionInputs {
  const { metadata } = task;
  const hint = metadata["routing"];
  const { size, spend, ownCaps } = snapshot;
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
      scout: metadata["scout"] === true,
      pro: metadata["pro"] === true,
    },
    runtime: {
      attempts: runtime.attempts,
      flash_attempts: runtime.flash_attempts,
      same_error_count: runtime.same_error_count,
      tests_failed: runtime.tests_failed,
      files_touched: runtime.files_touched,
      tool_depth: runtime.tool_depth,
      failure_class: runtime.failure_class,
      last_model: bounded(runtime.last_model ?? undefined),
    },
    size: {
      input_tokens_bound: size.inputTokensBound,
      input_tokens_estimate: size.inputTokensEstimate,
      requested_output_tokens: size.requestedOutputTokens,
      other_output_tokens: size.otherOutputTokens ?? 0,
      reasoning_tokens: size.reasoningTokens ?? 0,
      predicted_tokens: size.predictedTokens ?? 0,
      choices: size.choices,
      writes_cache: size.writesCache ?? false,
      surcharge_nano_usd: size.surcharge?.fee ?? 0,
      surcharge_factor: size.surcharge?.factor ?? 1,
    },
    spend: {
      ...spendOf(spend),
      goal_hard_nano_usd: ownCaps?.goalHard ?? null,
      day_hard_nano_usd: ownCaps?.dayHard ?? null,
    },
    ledger_spend: ledgerSpend === undefined ? null : spendOf(ledgerSpend),
    scale: snapshot.scale ?? "declared",
    run_evidence: [...(snapshot.runEvidence ?? [])],
    continuation,
    reported_failure: reportedFailure,
    affinity:
      snapshot.affinity === undefined
        ? null
        : { model: snapshot.affinity.model, continuation: snapshot.affinity.continuation },
    draw: snapshot.draw ?? null,
    verdict: snapshot.verdict ?? null,
    unroutable: unroutableIn(snapshot),
  };
}

function spendOf({ goal, day }: SpendView) {
  return {
    goal_spent_nano_usd: goal.spent,
    goal_held_nano_usd: goal.held,
    day_spent_nano_usd: day.spent,
    day_held_nano_usd: day.held,
  };
}

function unroutableIn({ health }: Snapshot): string[] {
  const models: string[] = [];
  for (const [key, { routable }] of Object.entries(health)) if (!routable) models.push(key);
  return models;
}

function healthOf({ health }: Snapshot): Record<string, string> {
  const states: Record<string, string> = {};
  for (const [key, { state }] of Object.entries(health)) if (state !== "HEALTHY") states[key] = state;
  return states;
}

function recordedFeaturesOf(features: AskFeatures): Record<string, number> {
  return {
    characters: features.characters,
    words: features.topics.words,
    distinct_words: features.topics.distinctWords,
    code_lines: features.codeLines,
    trace_lines: features.traceLines,
    list_items: features.listItems,
    options: features.options,
    numbers: features.numbers,
    math_signs: features.mathSigns,
    commas: features.commas,
    identifiers: features.identifiers,
    dense_characters: features.denseCharacters,
  };
}

function ledgerMsOf(attempts: readonly AttemptRecord[]): number | undefined {
  let sum: number | undefined;
  for (const { ledgerMs } of attempts) if (ledgerMs !== undefined) sum = (sum ?? 0) + rounded(ledgerMs);
  return sum;
}

/** `at_least` and a charged hold are what the ledger counts; the upstream did not confirm them as the cost. */
function costStateOf(attempts: readonly AttemptRecord[]): CostState {
  let estimated = false;
  for (const { costNanoUsd, costSource } of attempts) {
    if (costNanoUsd === undefined && costSource !== "released" && costSource !== "hold") return "unknown";
    if (costSource === "at_least" || costSource === "hold") estimated = true;
  }
  return estimated ? "estimated" : "known";
}

/** Rounded to three decimal places. */
function rounded(value: number): number;
function rounded(value: number | undefined): number | null;
function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value * 1_000) / 1_000;
}
