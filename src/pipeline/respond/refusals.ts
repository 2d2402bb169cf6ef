import { formatUsd } from "#domain/money/money.ts";
import type { Cause, RoutingDecision } from "#domain/routing.ts";
import { type LedgerStatus, outageOf, type ReserveReply } from "#ledger/ledger.ts";
import { deniedByHardCap } from "#pipeline/decide/select/budget.ts";
import type { RetryAdvice } from "#pipeline/retry-advice.ts";
import { type CredentialNotReplaceable, type Finding, maxSecrets } from "#privacy/redaction.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import { codeOf, detailOf, statusOf } from "./failure-answer.ts";
import type { Head, Refusal } from "./reply.ts";

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

/** A decision that is neither ROUTE nor SCOUT. */
export function refusalOf(
  head: Head,
  advice: RetryAdvice = { shouldRetry: false },
  findings: readonly Finding[] = [],
): Refusal {
  const { decision } = head;
  const { shouldRetry, retryAfterS } = advice;
  return {
    kind: "refusal",
    status: 403,
    code: decision.cause,
    detail:
      decision.cause === "budget_hard_cap_exceeded"
        ? budgetSentence(decision, advice)
        : (sentences[decision.cause]?.(decision.evidence, findings) ?? `The request was refused: ${decision.cause}.`),
    shouldRetry,
    head,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  };
}

/** The decision after the ledger has refused its reservation. */
export function deniedByLedger(
  decision: RoutingDecision,
  reply: ReserveReply & { kind: "refused" },
  evidence: readonly string[],
): RoutingDecision {
  return {
    ...deniedByHardCap(decision),
    evidence: [
      ...decision.evidence,
      ...evidence.filter((entry) => !decision.evidence.includes(entry)),
      `refused_by=ledger_${reply.binding}`,
    ],
  };
}

/** The budget store does not answer: nothing is sent. */
export function storeUnavailable(head: Head | undefined, status: LedgerStatus): Refusal {
  const outage = outageOf(status);
  return {
    kind: "refusal",
    status: 503,
    code: "budget_store_unavailable",
    ...outage,
    shouldRetry: outage.retryAfterS !== undefined,
    ...(head === undefined ? {} : { head }),
  };
}

export function noCapacity(head: Head, retryAfterS: number): Refusal {
  return {
    kind: "refusal",
    status: 503,
    code: "no_capacity",
    detail: "Every model that may answer is pausing after failures. Try again shortly.",
    retryAfterS,
    shouldRetry: retryAfterS < sdkMaxRetryAfterS,
    head,
  };
}

const notRetryable: ReadonlySet<UpstreamFailure["kind"]> = new Set([
  "rejected",
  "constraint_filtered",
  "unauthorized",
  "redirected",
]);

/** All that could be tried was tried, or nothing more made sense. */
export function failedUpstream(head: Head, failure: UpstreamFailure, retryAfterS: number): Refusal {
  const status = statusOf(failure);
  const common = { kind: "refusal", status, code: codeOf(failure), detail: detailOf(failure), head } as const;
  return notRetryable.has(failure.kind)
    ? { ...common, shouldRetry: false }
    : { ...common, retryAfterS, shouldRetry: retryAfterS < sdkMaxRetryAfterS };
}

/** SDKs ignore a `Retry-After` this long or longer and use a short backoff of their own, so they must not retry at all. */
const sdkMaxRetryAfterS = 60;

/** Nobody is left to read it; the status is for the record. */
export function callerGone(head: Head | undefined): Refusal {
  return {
    kind: "refusal",
    status: 499,
    code: "caller_gone",
    detail: "The caller disconnected.",
    shouldRetry: false,
    ...(head === undefined ? {} : { head }),
  };
}

/** A field that may change model, terms or price, with a value that is not harmless. `param` says where in it. */
export function fieldRefused(field: string, param: string): Refusal {
  return {
    kind: "refusal",
    status: 422,
    code: "field_refused",
    param,
    detail:
      `${param} may change which model answers, on what terms or at what price, so this gateway does not forward it. ` +
      `Leave it out, or ask the operator to allow it (policy: upstream.fields.${field}).`,
    shouldRetry: false,
  };
}

/** The operator lets the field through, but not for what is sensitive. */
export function freeTermsRefused(field: string, findings: readonly Finding[]): Refusal {
  const obstacle =
    findings.length > 0
      ? `${sensitiveByFindings(findings)}. Leave the field out.`
      : 'this request is sensitive. Leave it out, or send "metadata": {"sensitive": false} if the request holds nothing private.';
  return {
    kind: "refusal",
    status: 403,
    code: "privacy_free_denied",
    param: field,
    detail: `${field} names a free model, or lets providers keep what they are sent, and ${obstacle}`,
    shouldRetry: false,
  };
}

export function privacyGateFailed(): Refusal {
  return {
    kind: "refusal",
    status: 403,
    code: "privacy_gate_failed",
    detail: "The privacy gate could not examine this request, so nothing was sent.",
    shouldRetry: false,
  };
}

/** Names the place and the rule; never the value. */
export function credentialInName({ path, rule, isKey }: CredentialNotReplaceable): Refusal {
  const place = isKey ? `A key of ${path === "" ? "the body" : path}` : path;
  const why = isKey ? "The key of an object" : "An id, a type or the name of a function";
  return {
    kind: "refusal",
    status: 422,
    code: "credential_not_replaceable",
    ...(path === "" ? {} : { param: path }),
    detail:
      `${place} holds what looks like a credential (rule ${rule}). ${why} cannot be replaced by a placeholder, so nothing was sent. ` +
      "Take it out, or ask the operator to let it through (policy: privacy.allow, privacy.disabled_rules).",
    shouldRetry: false,
  };
}

/** Nothing is lost by refusing: a body with so many is a list of credentials, not a conversation. */
export function tooManySecrets(): Refusal {
  return {
    kind: "refusal",
    status: 413,
    code: "too_many_secrets",
    detail: `The request holds more than ${maxSecrets} credentials. Take them out, or send it in parts.`,
    shouldRetry: false,
  };
}

/** The binding cap with its numbers, read from the decision's own evidence: the dry run shows the same. */
function budgetSentence(decision: RoutingDecision, advice: RetryAdvice): string {
  const facts = new Map(
    decision.evidence.map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
  const account = facts.get("budget_cap")?.startsWith("day") === true ? "day" : "goal";
  const number = (key: string) => facts.get(key) ?? "?";
  return (
    `The hard budget cap of the ${account} would be passed: spent ${number(`budget_${account}_spent_usd`)} USD, ` +
    `held ${number(`budget_${account}_held_usd`)} USD, this request at most ${number("cost_bound_usd")} USD, ` +
    `cap ${number(`budget_${account}_hard_usd`)} USD (budget.per_${account}_hard_usd). ` +
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
