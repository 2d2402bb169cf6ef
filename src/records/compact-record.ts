import type { ModelRegistry } from "#domain/model.ts";
import { zeroUsd } from "#domain/money/money.ts";
import { type RoutingDecision, RuntimeState } from "#domain/routing.ts";
import type { AskFeatures } from "#pipeline/assess/ask/features.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import { factsOf, type RecordContext, type RecordFacts, recordWith, requestHead } from "./build-record.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { RequestRecord, RoutedInputs } from "./record.ts";
import type { RecordEntry } from "./store/record-head.ts";

/**
 * The form in which a request's record is written: the request's own objects, without what no record has and what the snapshot
 * shares with other requests. Objects with many fields are written as lists of values, because most of the cost is the text.
 * The decision record is made from it when it is read. Most records are never read, and making one costs as much as routing a
 * request.
 */
interface CompactRecord {
  readonly request: Omit<RequestRecord, "routed" | "decision"> & {
    readonly decision: ReturnType<typeof decisionValues>;
  };
  readonly facts: RecordFacts;
  readonly routed?: {
    /** Absent where it is the request's. */
    readonly decision?: ReturnType<typeof decisionValues>;
    readonly task: ReturnType<typeof taskValues>;
    /** Absent where it is as at the start of a run. */
    readonly runtime?: ReturnType<typeof runtimeValues>;
    readonly housekeeping: string | undefined;
    readonly namesTask: boolean;
    readonly ledgerSpend?: SpendView;
    readonly features: ReturnType<typeof featureValues>;
    readonly snapshot: Pick<Snapshot, (typeof ownParts)[number]>;
    readonly thresholds: readonly [flashBelow: number, proFrom: number];
  };
}

/** The parts of a snapshot that are a request's own. */
const ownParts = ["health", "spend", "size", "ownCaps", "scale", "runEvidence", "affinity", "draw", "verdict"] as const;

/** How the text of a compact record begins; that of a whole record begins with `{"seq"`. */
const mark = '{"compact":';

export function compactEntry(request: RequestRecord, context: RecordContext): RecordEntry {
  const facts = factsOf(request, context);
  const { routed, decision } = request;
  const compact: CompactRecord = {
    // JSON leaves out what is undefined.
    request: { ...request, decision: decisionValues(decision), routed: undefined } as CompactRecord["request"],
    facts,
    ...(routed === undefined ? undefined : { routed: compactInputs(routed, decision) }),
  };
  return { head: requestHead(request, facts), text: `${mark}${JSON.stringify(compact)}}` };
}

function compactInputs(routed: RoutedInputs, decision: RoutingDecision): NonNullable<CompactRecord["routed"]> {
  const { task, runtime, housekeeping, namesTask, ledgerSpend, features, snapshot } = routed;
  const { flash_below, pro_from } = snapshot.policy.routing;
  // One literal without spreads: each of them costs as much as writing what it holds.
  return {
    decision: routed.decision === decision ? undefined : decisionValues(routed.decision),
    task: taskValues(task),
    runtime: isAtStart(runtime) ? undefined : runtimeValues(runtime),
    housekeeping,
    namesTask,
    ledgerSpend,
    features: featureValues(features),
    snapshot: ownPartsOf(snapshot),
    thresholds: [flash_below, pro_from],
  } as NonNullable<CompactRecord["routed"]>;
}

/** The decision record of one line of a block. */
export function readText(text: string): DecisionRecord {
  if (!text.startsWith(mark)) return JSON.parse(text);
  const { request, facts, routed }: CompactRecord = JSON.parse(text).compact;
  const decision = decisionOf(request.decision);
  if (routed === undefined) return recordWith({ ...request, decision }, facts);
  const { housekeeping, namesTask, ledgerSpend, snapshot } = routed;
  const [flash_below, pro_from] = routed.thresholds;
  return recordWith(
    {
      ...request,
      decision,
      routed: {
        decision: routed.decision === undefined ? decision : decisionOf(routed.decision),
        task: taskOf(routed.task),
        runtime: routed.runtime === undefined ? atStart : runtimeOf(routed.runtime),
        housekeeping,
        conversationKey: "",
        sessionId: undefined,
        namesTask,
        ...(ledgerSpend === undefined ? {} : { ledgerSpend }),
        features: featuresOf(routed.features),
        learned: undefined,
        snapshot: {
          ...snapshot,
          registry: noModels,
          caps: noCaps,
          policy: { routing: { flash_below, pro_from } } as Snapshot["policy"], // the thresholds are all that is read
        },
      },
    },
    facts,
  );
}

function decisionValues(decision: RoutingDecision) {
  const { action, model, cause, score, confidence, sensitive_block_applied, evidence } = decision;
  return [action, model, cause, score, confidence, sensitive_block_applied, evidence] as const;
}

function decisionOf(values: ReturnType<typeof decisionValues>): RoutingDecision {
  const [action, model, cause, score, confidence, sensitive_block_applied, evidence] = values;
  // The other fields are in no record and are not read.
  return { action, model, cause, score, confidence, sensitive_block_applied, evidence } as RoutingDecision;
}

type WrittenTask = RoutedInputs["task"];

function taskValues(task: WrittenTask) {
  const { metadata } = task;
  const { routing, scout, pro } = metadata;
  return [
    task.task_id,
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

function taskOf(values: ReturnType<typeof taskValues>): WrittenTask {
  const [task_id, goal_id, kind, explicit_route, reasoning, ...conditions] = values;
  const [sensitive, repo_context_present, repo_free_opt_in, risk_level, blast_radius, ...measures] = conditions;
  const [reasoning_requirement, ambiguity, dependency_depth, verification_difficulty, ...rest] = measures;
  const [estimated_tool_depth, routing, scout, pro] = rest;
  return {
    task_id,
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

const atStart = RuntimeState.parse({});

function isAtStart(runtime: RuntimeState): boolean {
  for (const name in atStart) {
    if (runtime[name as keyof RuntimeState] !== atStart[name as keyof RuntimeState]) return false;
  }
  return true;
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

function runtimeOf(values: ReturnType<typeof runtimeValues>): RuntimeState {
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

function featuresOf(values: ReturnType<typeof featureValues>): AskFeatures {
  const [characters, words, distinctWords, codeLines, traceLines, listItems, options, ...rest] = values;
  const [numbers, mathSigns, commas, identifiers, denseCharacters] = rest;
  const lines = { codeLines, traceLines, listItems, options };
  const counts = { characters, numbers, mathSigns, commas, identifiers, denseCharacters };
  // The counts are all that is read.
  return { ...counts, ...lines, topics: { words, distinctWords } } as AskFeatures;
}

const noModels: ModelRegistry = { models: new Map(), byRole: {} };
const noCaps = { goalSoft: zeroUsd, goalHard: zeroUsd, daySoft: zeroUsd, dayHard: zeroUsd };

/** Only models that are not healthy are listed in `health`. */
function ownPartsOf(snapshot: Snapshot): Pick<Snapshot, (typeof ownParts)[number]> {
  const { size, spend, ownCaps, scale, runEvidence, affinity, draw, verdict } = snapshot;
  const health: { [model: string]: Snapshot["health"][string] } = {};
  for (const model in snapshot.health) {
    const state = snapshot.health[model];
    if (state !== undefined && (state.state !== "HEALTHY" || !state.routable)) health[model] = state;
  }
  // JSON leaves out what is undefined.
  return { health, size, spend, ownCaps, scale, runEvidence, affinity, draw, verdict } as Pick<
    Snapshot,
    (typeof ownParts)[number]
  >;
}
