import type { Cause } from "./routing.ts";

/**
 * What programs know an error by, beside the causes of refused decisions: `error.code`, and `error_class` of records; by the status
 * with which it is answered. Codes do not change. `docs/reference/errors.md` says what each means and what to do about it.
 */
export const errorCodes = {
  400: ["invalid_request"],
  401: ["unauthorized"],
  403: ["host_not_allowed", "origin_not_allowed", "privacy_gate_failed", "dashboard_closed", "csrf_header_missing"],
  404: ["not_found", "unknown_decision", "unknown_model", "unknown_hold"],
  405: ["method_not_allowed"],
  409: ["hold_is_live"],
  413: ["request_too_large", "invalid_request", "too_many_secrets"],
  422: ["invalid_request", "field_refused", "credential_not_replaceable"],
  429: ["too_many_logins", "key_rate_exceeded"],
  // The caller has gone: only records and the log have it.
  499: ["caller_gone"],
  500: [
    ...["internal_error", "upstream_error", "upstream_rate_limited", "upstream_rejected", "upstream_unauthorized"],
    ...["upstream_constraint_filtered", "context_length_exceeded", "content_filtered"],
  ],
  502: ["upstream_unreachable", "upstream_cut_off", "upstream_garbage", "upstream_redirected"],
  503: [
    ...["budget_store_unavailable", "no_capacity", "overloaded", "shutting_down", "records_unavailable"],
    ...["outcome_store_unavailable", "store_unavailable", "audit_unavailable"],
  ],
  504: ["upstream_timed_out"],
} as const;

/** A code of ours, or the cause of a refused decision. `docs/reference/causes.md` says what each cause means. */
export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes][number] | Cause;
