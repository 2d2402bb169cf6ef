import type { ModelRegistry } from "#domain/model.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { type RoutingDecision, RuntimeState } from "#domain/routing.ts";
import type { AskFeatures } from "#pipeline/assess/ask/features.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type { RoutedInputs } from "#records/record.ts";
import { decisionFrom, decisionValues } from "./request-values.ts";

/** The values of what a decision was made of, as `request-values.ts` has them of the rest. */

export function routedValues(routed: RoutedInputs, decision: RoutingDecision) {
  const { runtime, snapshot, ledgerSpend } = routed;
  const { flash_below, pro_from } = snapshot.policy.routing;
  return [
    // Where it is another than the request's.
    routed.decision === decision ? null : decisionValues(routed.decision),
    taskValues(routed.task, routed.namesTask),
    runtimeValuesUnlessAtStart(runtime),
    routed.housekeeping,
    routed.namesTask,
    ledgerSpend === undefined ? null : spendValues(ledgerSpend),
    featureValues(routed.features),
    healthValues(snapshot),
    spendValues(snapshot.spend),
    sizeValues(snapshot.size),
    snapshot.ownCaps,
    snapshot.scale,
    snapshot.runEvidence,
    snapshot.affinity,
    snapshot.draw,
    snapshot.verdict,
    flash_below,
    pro_from,
  ] as const;
}

export function routedFrom(values: ReturnType<typeof routedValues>, ofRequest: RoutingDecision): RoutedInputs {
  const [decision, task, runtime, housekeeping, namesTask, ledgerSpend, features, health, ...more] = values;
  const [spend, size, ownCaps, scale, runEvidence, affinity, draw, verdict, flash_below, pro_from] = more;
  return {
    decision: decision === null ? ofRequest : decisionFrom(decision),
    task: taskFrom(task),
    runtime: runtime === null ? atStart : runtimeFrom(runtime),
    housekeeping,
    conversationKey: "",
    sessionId: undefined,
    namesTask,
    ...(ledgerSpend === null ? {} : { ledgerSpend: spendFrom(ledgerSpend) }),
    features: featuresFrom(features),
    learned: undefined,
    snapshot: {
      policy: { routing: { flash_below, pro_from } }, // the thresholds are all that is read
      registry: noModels,
      caps: noCaps,
      health: healthFrom(health),
      spend: spendFrom(spend),
      size: sizeFrom(size),
      ownCaps,
      scale,
      runEvidence,
      affinity,
      draw,
      verdict,
    } as Snapshot, // what is undefined is absent
  };
}

function spendValues({ goal, day }: SpendView) {
  return [goal.spent, goal.held, day.spent, day.held] as const;
}

function spendFrom([spent, held, daySpent, dayHeld]: ReturnType<typeof spendValues>): SpendView {
  return { goal: { spent, held }, day: { spent: daySpent, held: dayHeld } };
}

function sizeValues(size: RequestSize) {
  return [
    size.inputTokensBound,
    size.inputTokensEstimate,
    size.requestedOutputTokens,
    size.otherOutputTokens,
    size.reasoningTokens,
    size.predictedTokens,
    size.choices,
    size.writesCache,
    size.surcharge?.fee,
    size.surcharge?.factor,
  ] as const;
}

function sizeFrom(values: ReturnType<typeof sizeValues>): RequestSize {
  const [inputTokensBound, inputTokensEstimate, requestedOutputTokens, otherOutputTokens, ...more] = values;
  const [reasoningTokens, predictedTokens, choices, writesCache, fee, factor] = more;
  return {
    inputTokensBound,
    inputTokensEstimate,
    requestedOutputTokens,
    otherOutputTokens,
    reasoningTokens,
    predictedTokens,
    choices,
    writesCache,
    surcharge: fee === undefined ? undefined : { fee, factor },
  } as RequestSize; // what is undefined is absent
}

type Health = Snapshot["health"];
type Unwell = readonly (readonly [model: string, state: Health[string]["state"], routable: boolean])[];

/** Until a model's health changes, all snapshots share one view of it. */
let last: { readonly health: Health; readonly unwell: Unwell | null } | undefined;

/** The models that are not healthy. */
function healthValues({ health }: Snapshot): Unwell | null {
  if (last?.health === health) return last.unwell;
  const unwell: Unwell[number][] = [];
  for (const model in health) {
    const known = health[model];
    if (known !== undefined && (known.state !== "HEALTHY" || !known.routable)) {
      unwell.push([model, known.state, known.routable]);
    }
  }
  last = { health, unwell: unwell.length === 0 ? null : unwell };
  return last.unwell;
}

function healthFrom(unwell: ReturnType<typeof healthValues>): Snapshot["health"] {
  const states = (unwell ?? []).map(([model, state, routable]) => [model, { state, routable }]);
  return Object.fromEntries(states) as Snapshot["health"]; // no record has more of it
}

type WrittenTask = RoutedInputs["task"];

function taskValues(task: WrittenTask, isNamed: boolean) {
  const { metadata } = task;
  const { routing, scout, pro } = metadata;
  return [
    // Unless the caller has named it, no record has its name.
    isNamed ? task.task_id : undefined,
    task.goal_id,
    task.kind,
    task.explicit_route,
    task.reasoning,
    task.sensitive,
    task.repo_context_present,
    task.repo_free_opt_in,
    task.risk_level,
    task.blast_radius,
    task.reasoning_requirement,
    task.ambiguity,
    task.dependency_depth,
    task.verification_difficulty,
    task.estimated_tool_depth,
    // Any other value is the caller's own text and is not kept.
    routing === "pro" || routing === "flash" || routing === "free" ? routing : null,
    scout === true,
    pro === true,
  ] as const;
}

function taskFrom(values: ReturnType<typeof taskValues>): WrittenTask {
  const [task_id, goal_id, kind, explicit_route, reasoning, ...conditions] = values;
  const [sensitive, repo_context_present, repo_free_opt_in, risk_level, blast_radius, ...measures] = conditions;
  const [reasoning_requirement, ambiguity, dependency_depth, verification_difficulty, ...rest] = measures;
  const [estimated_tool_depth, routing, scout, pro] = rest;
  return {
    task_id: task_id ?? "",
    goal_id,
    kind,
    explicit_route,
    reasoning,
    sensitive,
    repo_context_present,
    repo_free_opt_in,
    risk_level,
    blast_radius,
    reasoning_requirement,
    ambiguity,
    dependency_depth,
    verification_difficulty,
    estimated_tool_depth,
    metadata: { routing, scout, pro },
  };
}

function runtimeValues(runtime: RuntimeState) {
  return [
    runtime.attempts,
    runtime.flash_attempts,
    runtime.same_error_count,
    runtime.tests_failed,
    runtime.files_touched,
    runtime.tool_depth,
    runtime.failure_class,
    runtime.last_model,
  ] as const;
}

const atStart = RuntimeState.parse({});
const valuesAtStart = runtimeValues(atStart);

/** null where nothing has happened in the run. */
function runtimeValuesUnlessAtStart(runtime: RuntimeState) {
  const values = runtimeValues(runtime);
  for (let at = 0; at < values.length; at++) if (values[at] !== valuesAtStart[at]) return values;
  return null;
}

function runtimeFrom(values: ReturnType<typeof runtimeValues>): RuntimeState {
  const [attempts, flash_attempts, same_error_count, tests_failed, ...rest] = values;
  const [files_touched, tool_depth, failure_class, last_model] = rest;
  const error_signature = null; // no record has it
  return {
    attempts,
    flash_attempts,
    same_error_count,
    error_signature,
    tests_failed,
    files_touched,
    tool_depth,
    failure_class,
    last_model,
  };
}

function featureValues(features: AskFeatures) {
  return [
    features.characters,
    features.topics.words,
    features.topics.distinctWords,
    features.codeLines,
    features.traceLines,
    features.listItems,
    features.options,
    features.numbers,
    features.mathSigns,
    features.commas,
    features.identifiers,
    features.denseCharacters,
  ] as const;
}

function featuresFrom(values: ReturnType<typeof featureValues>): AskFeatures {
  const [characters, words, distinctWords, codeLines, traceLines, listItems, options, ...rest] = values;
  const [numbers, mathSigns, commas, identifiers, denseCharacters] = rest;
  const lines = { codeLines, traceLines, listItems, options };
  const counts = { characters, numbers, mathSigns, commas, identifiers, denseCharacters };
  // The counts are all that is read.
  return { ...counts, ...lines, topics: { words, distinctWords } } as AskFeatures;
}

const noModels: ModelRegistry = { models: new Map(), byRole: {} };
const noCaps = { goalSoft: zeroUsd, goalHard: zeroUsd, daySoft: zeroUsd, dayHard: zeroUsd };
