import type { Policy } from "#config/policy.ts";
import type { ChatMessage, ChatRequest, JsonObject } from "#domain/chat.ts";
import { goalIdOf } from "#domain/goal.ts";
import { memoizeByMessage } from "#domain/message-memo.ts";
import type { AskFeatures, ExplicitRoute, RoutingTask, RuntimeState } from "#domain/routing.ts";
import { type RequestSize, requestSizeOf } from "#pipeline/request-size.ts";
import { type TaskMemory, taskKeyOf } from "#pipeline/task/task-memory.ts";
import { runtimeOf } from "#pipeline/task/task-runtime.ts";
import { dimensionNames, dimensionsOf, everywhere, featuresOf } from "./ask/features.ts";
import { hasTextsTreated, highRiskTopicIn } from "./ask/high-risk-topic.ts";
import { kindOf, noRisk, riskOf } from "./ask/kind.ts";
import { type Conversation, conversationOf, repoContextIn } from "./conversation/conversation.ts";
import { conversationKeyOf } from "./conversation/conversation-key.ts";
import { type HousekeepingKind, housekeepingOf, taskKindOf } from "./conversation/housekeeping.ts";
import { textOf } from "./conversation/text.ts";
import { runSignalsOf } from "./run/run-signals.ts";

/**
 * How points become a score. `chat`: the share of asks with fewer points. `agent`: the same for a program that has
 * instructed the model or offers tools, kept below the gray zone, as an ask's words do not say how its run will go.
 * `declared`: somebody has stated the dimensions, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** A chat request as the policy sees it. */
export interface Assessment {
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly size: RequestSize;
  /** Under which name the conversation is known from one request to the next. */
  readonly conversationKey: string;
  /** Whether the request is a further turn of an ask that has been routed before. */
  readonly continuation: boolean;
  /** A call that an agent makes for itself; undefined for its user's work. */
  readonly housekeeping: HousekeepingKind | undefined;
  /** What the ask looks like, in numbers. */
  readonly features: AskFeatures;
  /** How the task's points become a score. */
  readonly scale: ScoreScale;
  /** What the run so far has shown, as `key=value`; never a caller's text. */
  readonly evidence: readonly string[];
  /** The most characters of its own prose that the model wrote in a few calls of the run. */
  readonly prose: number;
}

export interface AssessContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly policy: Policy;
  /** Replacements the privacy gate has made in this request. */
  readonly redactions: number;
}

/**
 * From a chat request to a routing task: what the caller said, and for the rest what the conversation shows. Only the
 * redacted text is read. Everything is inferred here, locally; the memory is all it touches.
 */
export function assess(
  request: ChatRequest,
  redactedBody: JsonObject & { messages: ChatMessage[] },
  memory: TaskMemory,
  { now, policy: { routing }, redactions }: AssessContext,
): Assessment {
  const said = request.routing;
  const conversation = conversationOf(redactedBody);
  const { newest, system, tools } = conversation;
  const { requestedOutputTokens } = request;
  const call = { messages: redactedBody.messages, newest, system, requestedOutputTokens };
  const housekeeping = tools.count > 0 ? undefined : housekeepingOf(call);
  // The one character whose lower case is longer.
  const subject = conversation.subject.replaceAll("İ", "i").toLowerCase();
  const features = featuresOf(conversation.subject, conversation.attached);
  const named = housekeeping === undefined ? highRiskTopicIn(subject, routing.high_risk_words) : undefined;
  // What a system prompt has translated, extracted or answered is data.
  const topic = named !== undefined && system !== undefined && treatsTexts(system) ? undefined : named;
  const kind =
    said.taskFields.kind ?? (housekeeping === undefined ? kindOf(subject, features, topic) : taskKindOf[housekeeping]);
  const sensitive = redactions > 0 || (said.sensitive ?? true);

  const run = runSignalsOf(conversation.run);
  // A title is no part of the task that it names: it neither inherits the task's trouble nor adds to it.
  const key = housekeeping === undefined ? taskKeyOf(said) : undefined;
  const { runtime, after } = runtimeOf({
    reported: said,
    run,
    inRun: conversation.inRun,
    ask: conversation.ask,
    before: key === undefined ? undefined : memory.recall(key, now),
  });
  if (key !== undefined) memory.remember(key, after, now);

  const fields = said.taskFields;
  const dimensions = housekeeping === undefined ? dimensionsOf(features) : smallWork;
  const repoContext = repoContextIn(conversation, redactedBody.messages);
  // What only words suggest never overrides a route that the caller has asked for.
  const guesses =
    housekeeping === undefined && (fields.kind !== undefined || !asksForCheaper(request, sensitive, repoContext));
  const risk = guesses ? riskOf(kind, topic) : noRisk;
  const task: RoutingTask = {
    task_id: said.taskId ?? request.requestId,
    goal_id: goalIdOf(said),
    instruction: conversation.ask,
    reasoning:
      said.reasoning === "high" || (housekeeping === undefined && conversation.asksForHighReasoning) ? "HIGH" : "AUTO",
    sensitive,
    repo_context_present: repoContext,
    repo_free_opt_in: false,
    estimated_tool_depth: 0,
    ...risk,
    ...dimensions,
    ...fields,
    kind,
    explicit_route: explicitRouteOf(request, sensitive) ?? fields.explicit_route ?? "AUTO",
    metadata: metadataOf(said),
  };
  const evidence = housekeeping === undefined ? run.evidence : [`housekeeping=${housekeeping}`, ...run.evidence];
  return {
    task,
    runtime,
    size: requestSizeOf(request, redactions),
    conversationKey: conversationKeyOf(said, redactedBody.messages),
    continuation: conversation.inRun,
    housekeeping,
    features,
    scale: dimensionNames.every((name) => fields[name] !== undefined)
      ? "declared"
      : scaleFor(conversation, repoContext),
    evidence,
    prose: housekeeping === undefined ? run.prose : 0,
  };
}

/** Characters of a system prompt from which on they are a program's instructions. */
const instructions = 400;

/** The scale for a task inferred from a conversation. */
export function scaleFor({ tools, system }: Pick<Conversation, "tools" | "system">, repoContext: boolean): ScoreScale {
  return repoContext || tools.count > 0 || textOf(system?.content).length > instructions ? "agent" : "chat";
}

/**
 * Whether the caller asks for flash or a free model by alias, field or hint; a hint that privacy drops asks for
 * nothing.
 */
function asksForCheaper({ alias, routing }: ChatRequest, sensitive: boolean, repoContext: boolean): boolean {
  const { taskFields, routingHint } = routing;
  const route = routeOfAlias[alias] ?? taskFields.explicit_route;
  if (routing.forcePro || route === "PRO") return false;
  if (route === "FLASH" || route === "FREE_SCOUT" || routingHint === "flash") return true;
  const inRepository = (taskFields.repo_context_present ?? repoContext) && taskFields.repo_free_opt_in !== true;
  return routingHint === "free" && !sensitive && !inRepository;
}

const treatsTexts = memoizeByMessage(({ content }) => hasTextsTreated(textOf(content)));

/** What a housekeeping call is worth, whatever words stand in what it names or sums up. */
const smallWork = everywhere(0.1);

function metadataOf({ routingHint, scoutFirst, repoId }: ChatRequest["routing"]): RoutingTask["metadata"] {
  const metadata: RoutingTask["metadata"] = {};
  if (routingHint !== undefined) metadata["routing"] = routingHint;
  if (scoutFirst) metadata["scout"] = true;
  if (repoId !== undefined) metadata["repo_id"] = repoId;
  return metadata;
}

/**
 * The route the caller insists on. `X-Pro` beats the alias, except that a free request on sensitive data is refused
 * whatever else it says.
 */
function explicitRouteOf({ alias, routing }: ChatRequest, sensitive: boolean): ExplicitRoute | undefined {
  if (routing.forcePro && !(alias === "smart-router-free" && sensitive)) return "PRO";
  return routeOfAlias[alias];
}

const routeOfAlias = {
  "smart-router": undefined,
  "smart-router-pro": "PRO",
  "smart-router-flash": "FLASH",
  "smart-router-free": "FREE_SCOUT",
} as const;
