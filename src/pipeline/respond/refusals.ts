import { type Caps, formatUsd } from "#domain/money/money.ts";
import type { Cause, RoutingDecision } from "#domain/routing.ts";
import { type LedgerStatus, outageOf } from "#ledger/ledger.ts";
import { addHardCapEvidence, deniedByHardCap } from "#pipeline/decide/select/budget.ts";
import type { Execution } from "#pipeline/execute/execute.ts";
import type { RefusedField } from "#pipeline/field-rules.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import { type RetryAdvice, retryAfterOf } from "#pipeline/retry-advice.ts";
import { spendView } from "#pipeline/take-snapshot.ts";
import { CredentialNotReplaceable, type Finding, maxSecrets, TooManySecrets } from "#privacy/redaction.ts";
import { failureAnswer } from "./failure-answer.ts";
import type { DecisionHeaders, Refusal } from "./reply.ts";

/** How each refusing cause is said to a caller: what is wrong and what to do. A cause that never refuses has no entry. */
const sentences: { readonly [C in Cause]?: (evidence: readonly string[], findings: readonly Finding[]) => string } = {
  privacy_free_denied: (evidence, findings) =>
    `A free model was asked for, but ${freeModelObstacle(evidence, findings)}, or use smart-router.`,
  privacy_scout_denied: (evidence, findings) =>
    `A scout was asked for (X-Scout), and scouts are free models, but ${freeModelObstacle(evidence, findings)}, or leave X-Scout out.`,
  attempts_exhausted: () =>
    "This task has failed too often (limits.max_attempts). A person should look at it; then begin a new task (X-Task-Id).",
  all_models_unhealthy: () =>
    "No model that may answer this request can serve now. Wait, or see GET /healthz for their states.",
};

/** Why free models must not see a request, and what would let them. */
function freeModelObstacle(evidence: readonly string[], findings: readonly Finding[]): string {
  if (findings.length > 0) return `${sensitiveByFindings(findings)}. Take that out`;
  if (evidence.includes("sensitive=false")) {
    return 'this request holds repository context. Send "metadata": {"repo_free_opt_in": true} if free models may see it';
  }
  const needsOptIn = evidence.includes("repo_free_opt_in=false");
  const optIn = needsOptIn ? ', and "repo_free_opt_in": true because it holds repository context' : "";
  return `this request is sensitive, as every request is by default. Send "metadata": {"sensitive": false} if it holds nothing private${optIn}`;
}

/** How many findings a refusal names. */
const maxNamed = 3;

/** A request with a finding is sensitive even if its caller has stated that it is not. */
function sensitiveByFindings(findings: readonly Finding[]): string {
  const named = findings.slice(0, maxNamed).map(({ rule, messageIndex }) => {
    return messageIndex < 0 ? rule : `${rule} in messages[${messageIndex}]`;
  });
  const more = findings.length > maxNamed ? ", and more" : "";
  return `the privacy gate found a credential or another private value in it (${named.join(", ")}${more}), so it is sensitive whatever metadata.sensitive is`;
}

/** A refusal; unless `more` says otherwise, one that the caller's SDK must not repeat by itself. */
function refusal(
  status: Refusal["status"],
  code: Refusal["code"],
  detail: string,
  more: Partial<Refusal> = {},
): Refusal {
  return { kind: "refusal", status, code, detail, shouldRetry: false, ...more };
}

/** A decision that is neither ROUTE nor SCOUT. */
export function refusedDecision(
  headers: DecisionHeaders,
  caps: Caps,
  advice: RetryAdvice = { shouldRetry: false },
  findings: readonly Finding[] = [],
): Refusal {
  const { cause, evidence } = headers.decision;
  const { shouldRetry, retryAfterS } = advice;
  const detail =
    cause === "budget_hard_cap_exceeded"
      ? budgetSentence(evidence, advice, headers.goal === "adhoc" ? sharedGoal(caps) : "")
      : (sentences[cause]?.(evidence, findings) ?? `The request was refused: ${cause}.`);
  const { action } = headers.decision;
  return refusal(403, cause, `${detail.trimEnd()} (${action}: ${cause})`, { headers, shouldRetry, retryAfterS });
}

/** The budget store does not answer: nothing is sent. */
export function storeUnavailable(headers: DecisionHeaders, status: LedgerStatus): Refusal {
  const { detail, retryAfterS } = outageOf(status);
  const shouldRetry = retryAfterS !== undefined;
  return refusal(503, "budget_store_unavailable", detail, { headers, shouldRetry, retryAfterS });
}

/** Nobody is left to read it; the status is for the record. */
export function callerGone(headers: DecisionHeaders): Refusal {
  return refusal(499, "caller_gone", "The caller disconnected.", { headers });
}

/** A field that may change model, terms or price, with a value that is not harmless. `param` says where in it. */
export function fieldRefused({ field, param }: RefusedField): Refusal {
  const detail =
    `${param} may change which model answers, on what terms or at what price, so this gateway does not forward it. ` +
    `Leave it out, or ask the operator to allow it (policy: upstream.fields.${field}).`;
  return refusal(422, "field_refused", detail, { param });
}

/** The operator lets the field through, but not for what is sensitive. */
export function freeTermsRefused(field: string, findings: readonly Finding[]): Refusal {
  const obstacle =
    findings.length > 0
      ? `${sensitiveByFindings(findings)}. Leave the field out.`
      : 'this request is sensitive. Leave it out, or send "metadata": {"sensitive": false} if the request holds nothing private.';
  const detail = `${field} names a free model, or lets providers keep what they are sent, and ${obstacle}`;
  return refusal(403, "privacy_free_denied", detail, { param: field });
}

/**
 * The privacy gate failed, found too many credentials (with so many it is a list, not a conversation), or one where it cannot be
 * replaced. The error might quote the text, so only the place and the rule are named.
 */
export function privacyRefusal(error: unknown): Refusal {
  if (error instanceof TooManySecrets) {
    const detail = `The request holds more than ${maxSecrets} credentials. Take them out, or send it in parts.`;
    return refusal(413, "too_many_secrets", detail);
  }
  if (!(error instanceof CredentialNotReplaceable))
    return refusal(403, "privacy_gate_failed", "The privacy gate could not examine this request, so nothing was sent.");
  const { path, rule, isKey } = error;
  const place = isKey ? `A key of ${path === "" ? "the body" : path}` : path;
  const why = isKey ? "The key of an object" : "An id, a type or the name of a function";
  const detail =
    `${place} holds what looks like a credential (rule ${rule}). ${why} cannot be replaced by a placeholder, so nothing was sent. ` +
    "Take it out, or ask the operator to let it through (policy: privacy.allow, privacy.disabled_rules).";
  return refusal(422, "credential_not_replaceable", detail, path === "" ? {} : { param: path });
}

/** SDKs ignore a `Retry-After` this long or longer and use a short backoff of their own, so they must not retry at all. */
const sdkMaxRetryAfterS = 60;

const retryIn = (retryAfterS: number) => ({ retryAfterS, shouldRetry: retryAfterS < sdkMaxRetryAfterS });

/** The refusal for an execution that brought no answer. */
export function refusedExecution(
  execution: Exclude<Execution, { kind: "answered" }>,
  context: RequestContext,
  routed: RoutedDecision,
  headers: DecisionHeaders,
  ports: Ports,
): Refusal {
  switch (execution.kind) {
    case "refused": {
      const decision = deniedByLedger(execution, context, routed, headers.decision);
      return refusedDecision({ ...headers, decision }, routed.snapshot.caps, execution.retryAdvice);
    }
    case "unavailable":
      return storeUnavailable(headers, ports.ledger.status());
    case "no_capacity": {
      const { queue_ms } = context.configuration.policy.upstream;
      const retryAfterS = execution.isFull
        ? Math.max(1, Math.ceil(queue_ms / 1_000))
        : retryAfterOf(routed, ports.health);
      const outage = ports.health.outage();
      let why = "Every model that may answer is pausing after failures";
      if (outage !== undefined)
        why = `The upstream cannot be reached (${outage.reason}); one request a second tries it`;
      if (execution.isFull) why = "Every model that may answer has as many calls as it may (max_in_flight)";
      return refusal(503, "no_capacity", `${why}. Try again shortly.`, { headers, ...retryIn(retryAfterS) });
    }
    case "caller_gone":
      return callerGone(headers);
    case "failed": {
      // All that could be tried was tried, or nothing more made sense.
      const { status, code, detail, isFinal } = failureAnswer(execution.failure);
      const answeredHeaders = { ...headers, answeredBy: execution.model };
      if (isFinal) return refusal(status, code, detail, { headers: answeredHeaders });
      const retryAfterS = retryAfterOf(routed, ports.health, execution.failure);
      return refusal(status, code, detail, { headers: answeredHeaders, ...retryIn(retryAfterS) });
    }
  }
}

/** Other requests took the rest of the budget between the decision and the reservation: the decision becomes a denial. */
function deniedByLedger(
  { reply, model }: Extract<Execution, { kind: "refused" }>,
  { recorder, request }: RequestContext,
  { snapshot }: RoutedDecision,
  decided: RoutingDecision,
): RoutingDecision {
  const evidence: string[] = [];
  const spend = spendView(reply.spend, request.key?.dayHard);
  addHardCapEvidence(model, { ...snapshot, spend }, evidence);
  const added = evidence.filter((entry) => !decided.evidence.includes(entry));
  const decision: RoutingDecision = {
    ...deniedByHardCap(decided),
    evidence: [...decided.evidence, ...added, `refused_by=ledger_${reply.binding}`],
  };
  recorder.recordLedgerRefusal(decision, spend);
  return decision;
}

/** What requests without a goal draw on. */
function sharedGoal({ goalSoft, goalHard }: Caps): string {
  const caps = `${formatUsd(goalSoft)} USD soft, ${formatUsd(goalHard)} USD hard`;
  return (
    `All requests without a goal share the goal \`adhoc\`, which begins anew each UTC day (${caps}). ` +
    "For a budget of its own name a goal and its session: X-Smart-Gateway-Goal, X-Smart-Gateway-Session. "
  );
}

/** The binding cap with its numbers, read from the decision's own evidence: the dry run shows the same. */
function budgetSentence(evidence: readonly string[], advice: RetryAdvice, aboutGoal: string): string {
  const facts = new Map(
    evidence.map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
  const account = facts.get("budget_cap")?.split("_")[0] ?? "goal";
  const isOwn = facts.get("budget_cap_from") === "operator";
  const ofPolicy = isOwn ? "set by the operator: `smart-gateway budgets set`" : `budget.per_${account}_hard_usd`;
  const setting = account === "key" ? "day_hard_usd of the key" : ofPolicy;
  const owner = account === "key" ? "caller's key" : account;
  const number = (key: string) => facts.get(key) ?? "?";
  return (
    `The hard budget cap of the ${owner} would be passed: spent ${number(`budget_${account}_spent_usd`)} USD, ` +
    `held ${number(`budget_${account}_held_usd`)} USD, this request at most ${number("cost_bound_usd")} USD, ` +
    `cap ${number(`budget_${account}_hard_usd`)} USD (${setting}). ` +
    (account === "goal" ? aboutGoal : "") +
    adviceOn(advice)
  );
}

function adviceOn({ shouldRetry, retryAfterS, unresolved }: RetryAdvice): string {
  if (shouldRetry) return "Raise the cap, lower max_tokens, or wait for running requests to end.";
  if (unresolved === undefined) return "Raise the cap or lower max_tokens; waiting does not help.";
  const when = retryAfterS === undefined ? "at their deadlines" : `within ${retryAfterS} s`;
  return (
    `${formatUsd(unresolved)} USD is held for calls whose outcome is unknown. They are charged ${when} unless their cost becomes known; ` +
    "`smart-gateway budgets holds` shows them, `budgets settle` and `budgets release` end them. Or raise the cap or lower max_tokens."
  );
}
