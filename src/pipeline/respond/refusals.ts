import { type CallerError, errorOf } from "#domain/errors.ts";
import { type Caps, formatUsd } from "#domain/money/money.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { type LedgerStatus, outageError } from "#ledger/ledger.ts";
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

/** A refusal; one that the caller's SDK must not repeat by itself, unless `error` says otherwise. */
function refusal(error: CallerError, headers?: DecisionHeaders): Refusal {
  return { kind: "refusal", shouldRetry: false, ...error, headers };
}

/** A decision that is neither ROUTE nor SCOUT. */
export function refusedDecision(
  headers: DecisionHeaders,
  caps: Caps,
  advice: RetryAdvice = { shouldRetry: false },
  findings: readonly Finding[] = [],
): Refusal {
  const { shouldRetry, retryAfterS } = advice;
  const { action, cause } = headers.decision;
  const error = errorOfDecision(headers, caps, advice, findings);
  return refusal({ ...error, detail: `${error.detail} (${action}: ${cause})`, shouldRetry, retryAfterS }, headers);
}

function errorOfDecision(
  { decision: { cause, evidence }, goal }: DecisionHeaders,
  caps: Caps,
  advice: RetryAdvice,
  findings: readonly Finding[],
): CallerError {
  switch (cause) {
    case "privacy_free_denied":
    case "privacy_scout_denied":
      return errorOf(cause, { obstacle: freeModelObstacle(evidence, findings) });
    case "attempts_exhausted":
    case "all_models_unhealthy":
      return errorOf(cause);
    case "budget_hard_cap_exceeded":
      return budgetError(evidence, advice, goal === "adhoc" ? sharedGoal(caps) : "");
    default:
      throw new RangeError(`no decision is refused for ${cause}`);
  }
}

/** The budget store does not answer: nothing is sent. */
export function storeUnavailable(headers: DecisionHeaders, status: LedgerStatus): Refusal {
  return refusal(outageError(status), headers);
}

/** Nobody is left to read it; the status is for the record. */
export function callerGone(headers: DecisionHeaders): Refusal {
  return refusal(errorOf("caller_gone"), headers);
}

/** A field that may change model, terms or price, with a value that is not harmless. `param` says where in it. */
export function fieldRefused({ field, param }: RefusedField): Refusal {
  return refusal({ ...errorOf("field_refused", { field, param }), param });
}

/** The operator lets the field through, but not for what is sensitive. */
export function freeTermsRefused(param: string, findings: readonly Finding[]): Refusal {
  const obstacle =
    findings.length > 0
      ? `${sensitiveByFindings(findings)}. Leave the field out`
      : 'this request is sensitive. Leave it out, or send "metadata": {"sensitive": false} if the request holds nothing private';
  return refusal({ ...errorOf("privacy_free_denied.field", { param, obstacle }), param });
}

/**
 * The privacy gate failed, found too many credentials (with so many it is a list, not a conversation), or one where it
 * cannot be replaced. The error might quote the text, so only the place and the rule are named.
 */
export function privacyRefusal(error: unknown): Refusal {
  if (error instanceof TooManySecrets) return refusal(errorOf("too_many_secrets", { most: maxSecrets }));
  if (!(error instanceof CredentialNotReplaceable)) return refusal(errorOf("privacy_gate_failed"));
  const { path, rule, isKey } = error;
  const place = isKey ? `A key of ${path === "" ? "the body" : path}` : path;
  const what = isKey ? "The key of an object" : "An id, a type or the name of a function";
  const refused = errorOf("credential_not_replaceable", { place, rule, what });
  return refusal(path === "" ? refused : { ...refused, param: path });
}

/** SDKs ignore a `Retry-After` this long or longer and back off shortly of their own, so they must not retry at all. */
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
      return refusal({ ...errorOf("no_capacity", { why }), ...retryIn(retryAfterS) }, headers);
    }
    case "caller_gone":
      return callerGone(headers);
    case "failed": {
      // All that could be tried was tried, or nothing more made sense.
      const { isFinal, ...error } = failureAnswer(execution.failure);
      const answered = { ...headers, answeredBy: execution.model };
      if (isFinal) return refusal(error, answered);
      const retryAfterS = retryAfterOf(routed, ports.health, execution.failure);
      return refusal({ ...error, ...retryIn(retryAfterS) }, answered);
    }
  }
}

/** Other requests took what was left between the decision and the reservation: the decision becomes a denial. */
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
function budgetError(evidence: readonly string[], advice: RetryAdvice, aboutGoal: string): CallerError {
  const facts = new Map(
    evidence.map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
  const account = facts.get("budget_cap")?.split("_")[0] ?? "goal";
  const isOwn = facts.get("budget_cap_from") === "operator";
  const ofPolicy = isOwn ? "set by the operator: `smart-gateway budgets set`" : `budget.per_${account}_hard_usd`;
  const value = (key: string) => facts.get(key) ?? "?";
  const fits = !(Number(value("cost_bound_usd")) > Number(value(`budget_${account}_hard_usd`)));
  const isOfDay = fits && (account !== "goal" || aboutGoal !== "");
  return errorOf("budget_hard_cap_exceeded", {
    owner: account === "key" ? "caller's key" : account,
    spent: value(`budget_${account}_spent_usd`),
    held: value(`budget_${account}_held_usd`),
    bound: value("cost_bound_usd"),
    cap: value(`budget_${account}_hard_usd`),
    setting: account === "key" ? "day_hard_usd of the key" : ofPolicy,
    advice: `${account === "goal" ? aboutGoal : ""}${adviceOn(advice, isOfDay)}`,
  });
}

/** `isOfDay`: the cap begins anew with the next UTC day, and the request fits below it. */
function adviceOn({ shouldRetry, retryAfterS, unresolved }: RetryAdvice, isOfDay: boolean): string {
  if (shouldRetry) return "Raise the cap, lower max_tokens, or wait for running requests to end.";
  if (unresolved === undefined && isOfDay) return "Raise the cap, lower max_tokens, or wait for the next UTC day.";
  if (unresolved === undefined) return "Raise the cap or lower max_tokens; waiting does not help.";
  const when = retryAfterS === undefined ? "at their deadlines" : `within ${retryAfterS} s`;
  return (
    `${formatUsd(unresolved)} USD is held for calls whose outcome is unknown. They are charged ${when} unless their cost becomes known; ` +
    "`smart-gateway budgets holds` shows them, `budgets settle` and `budgets release` end them. Or raise the cap or lower max_tokens."
  );
}
