import type { ChatRequest } from "#domain/chat.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { HealthView } from "#health/health.ts";
import type { Spend } from "#ledger/ledger.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { estimateOf, holdOf } from "#pipeline/decide/select/budget.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { checkFields } from "#pipeline/field-rules.ts";
import type { Configuration } from "#pipeline/ports.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import { fieldRefused, freeTermsRefused } from "#pipeline/respond/refusals.ts";
import type { Refusal } from "#pipeline/respond/reply.ts";
import { snapshotOfAsk } from "#pipeline/take-snapshot.ts";
import { inMemoryTaskMemory } from "#pipeline/task/task-memory.ts";
import { findingsIn, type RedactedBody } from "#privacy/redaction.ts";

/** A decision about a chat request that is not sent, with what it was made from. */
export interface DryRun {
  readonly kind: "decided";
  readonly decision: RoutingDecision;
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly size: RequestSize;
  readonly snapshot: Snapshot;
  readonly redacted: RedactedBody;
  /** Credentials that were found: replaced, or only counted where nothing may be replaced. */
  readonly redactions: number;
}

/** Fields that go before what is read from the conversation. */
export type Stated = { readonly [part in "task" | "runtime"]: Readonly<Record<string, unknown>> };

export interface DryRunOptions {
  readonly configuration: Configuration;
  /** Empty: every model can serve. */
  readonly health: HealthView;
  /** What the goal has spent; without it nothing counts as spent. */
  readonly spend?: Spend;
  readonly stated?: Stated;
  readonly nowMs: number;
}

/**
 * Decides about one chat request as the chat endpoint would: restricted fields first, then redacted and assessed.
 * Nothing outside is read or written. Throws what the privacy gate throws.
 */
export function dryRun(received: ChatRequest, options: DryRunOptions): DryRun | Refusal {
  const { configuration, health, spend, stated, nowMs } = options;
  const { policy, privacy } = configuration;
  const checked = checkFields(received, configuration.fields);
  if (checked.kind === "refused") return fieldRefused(checked);
  const { request, freeTerms } = checked;
  const { sensitive, task_id, goal_id, reasoning, explicit_route, ...statedFields } = stated?.task ?? {};
  const redacted = privacy.redactBody(request.body);
  const redactions = redacted.total + redacted.unredactable.length;
  // Whoever stated them has validated them.
  const taskFields = { ...request.routing.taskFields, ...statedFields } as ChatRequest["routing"]["taskFields"];
  const said = { ...request, routing: { ...request.routing, taskFields } };
  const memory = inMemoryTaskMemory();
  const assessment = assess(said, redacted.body, memory, { now: nowMs, policy, redactions });
  const task = {
    ...assessment.task,
    ...givenOf({ task_id, goal_id, reasoning, explicit_route }),
    ...(redactions > 0 ? {} : givenOf({ sensitive })),
  };
  if (freeTerms !== undefined && task.sensitive) return freeTermsRefused(freeTerms, findingsIn(redacted));
  const runtime = { ...assessment.runtime, ...stated?.runtime };
  const snapshot = snapshotOfAsk(assessment, configuration, health, spend, {});
  const decision = decide(task, runtime, snapshot);
  return { kind: "decided", decision, task, runtime, size: assessment.size, snapshot, redacted, redactions };
}

function givenOf(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Points that each feature has added to the score, by its name. */
export function contributionsOf({
  evidence,
}: Pick<RoutingDecision, "evidence">): readonly (readonly [string, number])[] {
  return evidence.flatMap((entry) => {
    const [key = "", value] = entry.split("=");
    return key.startsWith("points_") ? [[key.slice("points_".length), Number(value)] as const] : [];
  });
}

/** The values of one key of the evidence, in their order. */
export function evidenceOf({ evidence }: Pick<RoutingDecision, "evidence">, key: string): string[] {
  const start = `${key}=`;
  return evidence.flatMap((entry) => (entry.startsWith(start) ? [entry.slice(start.length)] : []));
}

/** What the chosen model is expected to cost, and its opposite of the two that a score chooses between; null without one. */
export function expectedCost(
  { model: key }: Pick<RoutingDecision, "model">,
  size: RequestSize,
  { models, byRole }: ModelRegistry,
) {
  const model = models.get(key ?? "");
  if (model === undefined) return null;
  const other = (model.role === "worker" ? byRole.senior : byRole.worker) ?? model;
  return {
    model: model.key,
    input_tokens_estimate: size.inputTokensEstimate,
    estimate_nano_usd: estimateOf(model, size),
    hold_nano_usd: holdOf(model, size),
    other_model: other.key,
    other_estimate_nano_usd: estimateOf(other, size),
  };
}
