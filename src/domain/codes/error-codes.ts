import type { Cause } from "../routing.ts";

interface ErrorMeaning {
  /** The statuses with which it is answered. */
  readonly status: readonly number[];
  /** What is wrong, and what a caller or an operator can do about it. */
  readonly meaning: string;
}

/**
 * What programs know an error by, beside the causes of refused decisions: `error.code`, and `error_class` of records. Codes do not
 * change. `docs/reference/errors.md` is generated from this.
 */
export const errorMeanings = {
  host_not_allowed: {
    status: [403],
    meaning: "`Host` names a host that this gateway does not answer to (DNS rebinding). Add it to `ALLOWED_HOSTS`.",
  },
  origin_not_allowed: { status: [403], meaning: "`Origin` is not the gateway's own: web pages may not call it." },
  not_found: { status: [404], meaning: "Nothing is at this path. The message has the right path where it is known." },
  method_not_allowed: { status: [405], meaning: "The path takes other methods: see `Allow`." },
  unauthorized: {
    status: [401],
    meaning: "The bearer token is missing, malformed, too short, or not in `AUTH_KEYS_FILE`.",
  },
  request_too_large: {
    status: [413],
    meaning: "The body has more bytes than `MAX_REQUEST_BYTES`.",
  },
  invalid_request: {
    status: [400, 413, 422],
    meaning:
      "The body or a header is not as the endpoint takes it: the message and `error.param` name the field. 413: more JSON values than `MAX_REQUEST_VALUES`.",
  },
  field_refused: {
    status: [422],
    meaning:
      "A field may change the model, the terms or the price. Leave it out, or let the operator allow it (policy `upstream.fields`).",
  },
  credential_not_replaceable: {
    status: [422],
    meaning: "A credential is in an object key, an id or a name, where no placeholder is possible. Take it out.",
  },
  too_many_secrets: { status: [413], meaning: "The request has too many credentials. Send it in parts." },
  privacy_gate_failed: {
    status: [403],
    meaning: "The privacy gate could not examine the request, so nothing was sent. This is a defect: report it.",
  },
  budget_store_unavailable: {
    status: [503],
    meaning: "The ledger's database does not answer, so nothing may be spent. Wait for `Retry-After`.",
  },
  no_capacity: {
    status: [503],
    meaning:
      "Every model that may answer is pausing after failures, or has as many calls as its `max_in_flight` allows. Wait for `Retry-After`.",
  },
  overloaded: { status: [503], meaning: "The gateway has no room for more. Wait for `Retry-After`." },
  shutting_down: { status: [503], meaning: "The gateway is stopping. Send the request again." },
  caller_gone: { status: [499], meaning: "The caller disconnected. Only records and the log have this code." },
  internal_error: { status: [500], meaning: "A defect of the gateway: its log says where. Report it." },
  upstream_unreachable: {
    status: [502],
    meaning: "The upstream could not be reached: connection, DNS, TLS or proxy. Nothing was sent.",
  },
  upstream_cut_off: { status: [502], meaning: "The upstream closed the connection before its answer was whole." },
  upstream_garbage: { status: [502], meaning: "The upstream's answer could not be understood." },
  upstream_redirected: {
    status: [502],
    meaning: "The upstream redirects, which is not followed. Correct `UPSTREAM_BASE_URL`.",
  },
  upstream_timed_out: {
    status: [504],
    meaning: "The upstream did not answer in time (policy `upstream.timeouts_ms`).",
  },
  upstream_error: { status: [500], meaning: "The upstream answered 5xx, 408, 409 or 425 until no attempt was left." },
  upstream_rate_limited: { status: [500], meaning: "The upstream answered 429 until no attempt was left." },
  upstream_rejected: {
    status: [500],
    meaning:
      "The upstream refused the request with another 4xx. The message has its status and words; a retry does not help.",
  },
  upstream_unauthorized: {
    status: [500],
    meaning:
      "The upstream refused the gateway's key or credit. The operator checks `UPSTREAM_API_KEY` and the account.",
  },
  upstream_constraint_filtered: {
    status: [500],
    meaning:
      "No host serves the model within the price limit or the request's own `provider`. `smart-gateway doctor` compares prices.",
  },
  context_length_exceeded: {
    status: [500],
    meaning:
      "The request is longer than the context of every model that may answer it. Shorten the conversation: agents compact it.",
  },
  content_filtered: {
    status: [500],
    meaning: "A content filter of the upstream's refused what the request says. The message has its words.",
  },
  unknown_decision: { status: [404], meaning: "No record or outcome has this id, or its retention is over." },
  records_unavailable: { status: [503], meaning: "The decision records cannot be read now." },
  outcome_store_unavailable: { status: [503], meaning: "The outcome could not be written now." },
  dashboard_closed: {
    status: [403],
    meaning: "Without `DASHBOARD_TOKEN` the dashboard answers callers of its own machine only.",
  },
  too_many_logins: { status: [429], meaning: "Too many wrong dashboard tokens. Wait for `Retry-After`." },
  csrf_header_missing: { status: [403], meaning: "A write to the dashboard's API lacks `X-Smart-Gateway-CSRF: 1`." },
  unknown_model: { status: [404], meaning: "Dashboard: the registry has no model with this key." },
  unknown_hold: { status: [404], meaning: "Dashboard: nothing is held under this id." },
  hold_is_live: { status: [409], meaning: "Dashboard: the call of this hold is running." },
  store_unavailable: { status: [503], meaning: "Dashboard: the database does not answer." },
  audit_unavailable: { status: [503], meaning: "Dashboard: the change was made, but is not in the audit log." },
} as const satisfies Record<string, ErrorMeaning>;

/** The causes of decisions that are refused. */
export const refusalCauses = [
  "privacy_free_denied",
  "privacy_scout_denied",
  "attempts_exhausted",
  "budget_hard_cap_exceeded",
  "all_models_unhealthy",
] as const satisfies readonly Cause[];

export type ErrorCode = keyof typeof errorMeanings | Cause;
