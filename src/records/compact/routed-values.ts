import type { ModelRegistry } from "#domain/model.ts";
import { zeroUsd } from "#domain/money/money.ts";
import type { RoutingDecision, RuntimeState } from "#domain/routing.ts";
import type { AskFeatures } from "#pipeline/assess/ask/features.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type { RoutedInputs } from "#records/record.ts";
import { decisionValues, readDecision } from "./request-values.ts";
import { ValueSource } from "./value-source.ts";

/** The values of what a decision was made of, as `request-values.ts` has them of the rest. */
export function routedValues(routed: RoutedInputs, decision: RoutingDecision): unknown[] {
  const { task, runtime, snapshot, ledgerSpend, features } = routed;
  const { size, spend } = snapshot;
  const { routing, scout, pro } = task.metadata;
  const { flash_below, pro_from } = snapshot.policy.routing;
  return [
    // Where it is another than the request's.
    routed.decision === decision ? null : decisionValues(routed.decision),
    // Unless the caller has named it, no record has its name.
    routed.namesTask ? task.task_id : undefined,
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
    runtime.attempts,
    runtime.flash_attempts,
    runtime.same_error_count,
    runtime.tests_failed,
    runtime.files_touched,
    runtime.tool_depth,
    runtime.failure_class,
    runtime.last_model,
    routed.housekeeping,
    routed.namesTask,
    ledgerSpend === undefined ? null : spendValues(ledgerSpend),
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
    unwellIn(snapshot),
    spend.goal.spent,
    spend.goal.held,
    spend.day.spent,
    spend.day.held,
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
    snapshot.ownCaps,
    snapshot.scale,
    snapshot.runEvidence,
    snapshot.affinity?.model,
    snapshot.affinity?.continuation,
    snapshot.draw,
    snapshot.verdict,
    flash_below,
    pro_from,
  ];
}

export function readRouted(values: ValueSource, ofRequest: RoutingDecision): RoutedInputs {
  const ownDecision = values.next<unknown[] | null>();
  const task = readTask(values);
  const runtime = readRuntime(values);
  const housekeeping = values.next<string | undefined>();
  const namesTask = values.next<boolean>();
  const ledgerSpend = values.next<unknown[] | null>();
  return {
    decision: ownDecision === null ? ofRequest : readDecision(new ValueSource(ownDecision)),
    task,
    runtime,
    housekeeping,
    conversationKey: "",
    sessionId: undefined,
    namesTask,
    ...(ledgerSpend === null ? {} : { ledgerSpend: readSpend(new ValueSource(ledgerSpend)) }),
    learned: undefined,
    features: readFeatures(values),
    snapshot: readSnapshot(values),
  };
}

function readSnapshot(values: ValueSource): Snapshot {
  return {
    registry: noModels,
    caps: noCaps,
    health: healthFrom(values.next()),
    spend: readSpend(values),
    size: readSize(values),
    ownCaps: values.next(),
    scale: values.next(),
    runEvidence: values.next(),
    affinity: readAffinity(values),
    draw: values.next(),
    verdict: values.next(),
    // The thresholds are all of the policy that is read.
    policy: { routing: { flash_below: values.next(), pro_from: values.next() } },
  } as Snapshot; // what is undefined is absent
}

function readAffinity(values: ValueSource): Snapshot["affinity"] {
  const [model, continuation] = [values.next<string | undefined>(), values.next<boolean>()];
  return model === undefined ? undefined : { model, continuation };
}

function spendValues({ goal, day }: SpendView): unknown[] {
  return [goal.spent, goal.held, day.spent, day.held];
}

function readSpend(values: ValueSource): SpendView {
  const readAccount = () => ({
    spent: values.next<SpendView["goal"]["spent"]>(),
    held: values.next<SpendView["goal"]["held"]>(),
  });
  return { goal: readAccount(), day: readAccount() };
}

function readSize(values: ValueSource): RequestSize {
  const size = {
    inputTokensBound: values.next(),
    inputTokensEstimate: values.next(),
    requestedOutputTokens: values.next(),
    otherOutputTokens: values.next(),
    reasoningTokens: values.next(),
    predictedTokens: values.next(),
    choices: values.next(),
    writesCache: values.next(),
  };
  const [fee, factor] = [values.next(), values.next()];
  return { ...size, surcharge: fee === undefined ? undefined : { fee, factor } } as RequestSize; // what is undefined is absent
}

type Health = Snapshot["health"];
type Unwell = readonly (readonly [model: string, state: Health[string]["state"], routable: boolean])[];

/** Until a model's health changes, all snapshots share one view of it. */
let last: { readonly health: Health; readonly unwell: Unwell | null } | undefined;

/** The models that are not healthy. */
function unwellIn({ health }: Snapshot): Unwell | null {
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

function healthFrom(unwell: Unwell | null): Snapshot["health"] {
  const states = (unwell ?? []).map(([model, state, routable]) => [model, { state, routable }]);
  return Object.fromEntries(states) as Snapshot["health"]; // no record has more of it
}

function readTask(values: ValueSource): RoutedInputs["task"] {
  return {
    task_id: values.next(),
    goal_id: values.next(),
    kind: values.next(),
    explicit_route: values.next(),
    reasoning: values.next(),
    sensitive: values.next(),
    repo_context_present: values.next(),
    repo_free_opt_in: values.next(),
    risk_level: values.next(),
    blast_radius: values.next(),
    reasoning_requirement: values.next(),
    ambiguity: values.next(),
    dependency_depth: values.next(),
    verification_difficulty: values.next(),
    estimated_tool_depth: values.next(),
    metadata: { routing: values.next(), scout: values.next(), pro: values.next() },
  };
}

function readRuntime(values: ValueSource): RuntimeState {
  return {
    attempts: values.next(),
    flash_attempts: values.next(),
    same_error_count: values.next(),
    error_signature: null, // no record has it
    tests_failed: values.next(),
    files_touched: values.next(),
    tool_depth: values.next(),
    failure_class: values.next(),
    last_model: values.next(),
  };
}

function readFeatures(values: ValueSource): AskFeatures {
  return {
    characters: values.next(),
    topics: { words: values.next(), distinctWords: values.next() },
    codeLines: values.next(),
    traceLines: values.next(),
    listItems: values.next(),
    options: values.next(),
    numbers: values.next(),
    mathSigns: values.next(),
    commas: values.next(),
    identifiers: values.next(),
    denseCharacters: values.next(),
  } as AskFeatures; // the counts are all that is read
}

const noModels: ModelRegistry = { models: new Map(), byRole: {} };
const noCaps = { goalSoft: zeroUsd, goalHard: zeroUsd, daySoft: zeroUsd, dayHard: zeroUsd };
