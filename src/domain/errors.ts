/** By status and name; beside a sentence stands what only the reference adds to it. */
type ErrorTable = Readonly<Record<number, Readonly<Record<string, string | readonly [string, string]>>>>;

const elsewhere = "In other requests than chat 422.";

/**
 * Every error that a caller can be answered with, by status. The name is its code (`error.code`, and `error_class` of
 * records), which does not change, and behind a dot which of the code's sentences it is. The sentence says what is
 * wrong and what to do; `{…}` stands for a value. `docs/reference/errors.md` and the OpenAPI document are made from
 * this table.
 */
const errors = {
  400: {
    "invalid_request.content_type": ["Content-Type must be application/json.", elsewhere],
    "invalid_request.compressed":
      "The body is compressed (Content-Encoding), which is not supported. Send it as it is.",
    "invalid_request.not_whole": "The request body did not arrive whole.",
    "invalid_request.not_json": ["The body is not valid JSON{why}.", elsewhere],
    "invalid_request.too_deep": "The body nests deeper than {levels} levels.",
    "invalid_request.no_object": ["The body must be a JSON object{of}.", elsewhere],
    "invalid_request.content":
      "{param} is not a text part: only text content is supported (no images, audio or files).",
  },
  401: {
    "unauthorized.header": "The Authorization header is {problem}. Send `Authorization: Bearer <API_KEY>`.",
    "unauthorized.too_short":
      "The bearer token is too short: at least {characters} characters (AUTH_MIN_TOKEN_LENGTH).",
    "unauthorized.unknown": "The bearer token is not one of this gateway's keys, or was revoked.",
    "unauthorized.expired": "The bearer token ({label}) has expired.",
  },
  403: {
    privacy_free_denied: "A free model was asked for, but {obstacle}, or use smart-router.",
    "privacy_free_denied.field":
      "{param} names a free model, or lets providers keep what they are sent, and {obstacle}.",
    privacy_scout_denied:
      "A scout was asked for (X-Scout), and scouts are free models, but {obstacle}, or leave X-Scout out.",
    attempts_exhausted:
      "This task has failed too often (limits.max_attempts). A person should look at it; then begin a new task (X-Task-Id).",
    budget_hard_cap_exceeded:
      "The hard budget cap of the {owner} would be passed: spent {spent} USD, held {held} USD, this request at most {bound} USD, cap {cap} USD ({setting}). {advice}",
    all_models_unhealthy:
      "No model that may answer this request can serve now. Wait, or see GET /healthz for their states.",
    privacy_gate_failed: [
      "The privacy gate could not examine this request, so nothing was sent.",
      "This is a defect: report it.",
    ],
    host_not_allowed:
      "The Host header names a host that this gateway does not answer to (protection from DNS rebinding). " +
      "Use localhost, 127.0.0.1 or [::1], or add the name to ALLOWED_HOSTS.",
    origin_not_allowed:
      "The Origin header names another origin than this gateway: web pages of other origins may not call it. " +
      "Call it from a program that is no browser, or through a proxy that serves both under one origin.",
  },
  404: {
    not_found: "There is nothing at this path. GET /openapi.json lists what there is.",
    "not_found.base_url":
      "There is nothing at this path; use {path}. A client's base URL is this gateway's address and /v1, without a slash behind it.",
    "not_found.segments": "Write the path as {path}, without . or .. segments.",
    "not_found.api":
      "{api} not served. Use POST /v1/chat/completions: set the client to an OpenAI-compatible provider with the Chat Completions API.",
    "not_found.embeddings":
      "Embeddings are not served; this gateway routes chat completions only (POST /v1/chat/completions).",
    "not_found.models": "Models are not served one by one. GET /v1/models lists them.",
    "not_found.model": "There is no such model; there are {models}.",
    unknown_decision:
      "No such decision is recorded: the id is X-Smart-Gateway-Decision-Id or X-Request-Id of an answer, at least a second old, " +
      "within the retention (policy: records).",
    "unknown_decision.outcome":
      "No such decision is recorded: decision_id is X-Smart-Gateway-Decision-Id of an answer (not of housekeeping) within the retention " +
      "(policy: records).",
  },
  405: {
    method_not_allowed: ["{taker} not take {method}; it takes {allow}.", "The header `Allow` has them too."],
  },
  413: {
    request_too_large: "The request body is larger than {bytes} bytes (MAX_REQUEST_BYTES).",
    "invalid_request.too_many_values":
      "The body holds more than {values} JSON values: objects, arrays, texts and numbers.",
    too_many_secrets: "The request holds more than {most} credentials. Take them out, or send it in parts.",
  },
  422: {
    "invalid_request.field": ["{param} {must_be}.", "`error.param` names the field or the header."],
    "invalid_request.fields": ["{problem}", "One or more fields are not what they must be."],
    "invalid_request.number": "{param} holds a number that is too large for a double (such as 1e400).",
    field_refused:
      "{param} may change which model answers, on what terms or at what price, so this gateway does not forward it. Leave it out, or ask the operator to allow it (policy: upstream.fields.{field}).",
    credential_not_replaceable:
      "{place} holds what looks like a credential (rule {rule}). {what} cannot be replaced by a placeholder, so nothing was sent. Take it out, or ask the operator to let it through (policy: privacy.allow, privacy.disabled_rules).",
  },
  429: {
    key_rate_exceeded: "The caller's key ({label}) may send {rpm} requests a minute (rpm). Wait, then try again.",
  },
  499: {
    caller_gone: ["The caller disconnected.", "Only records and the log have this code."],
  },
  500: {
    internal_error: ["The gateway failed on this request; its log says where.", "This is a defect: report it."],
    upstream_error: [
      "The upstream failed with status {status}{words}.",
      "5xx, 408, 409 or 425, until no attempt was left.",
    ],
    upstream_rate_limited: [
      "The upstream is rate limiting (status {status}){words}.",
      "429, until no attempt was left.",
    ],
    upstream_rejected: [
      "The upstream refused the request with status {status}{words}.",
      "Another 4xx: a retry does not help.",
    ],
    upstream_unauthorized:
      "The upstream refused the gateway's credentials or credit with status {status}{words}. Check UPSTREAM_API_KEY and the account.",
    upstream_constraint_filtered:
      "No host of the model is within the price limit that the gateway sends, or within the constraints of the request's own `provider` (status {status}){words}. Compare the prices of the model registry with the aggregator's: `smart-gateway doctor`.",
    context_length_exceeded:
      "The request is longer than the model's context (status {status}){words}. Shorten the conversation.",
    content_filtered: "The upstream's content filter refused the request (status {status}){words}.",
  },
  502: {
    upstream_unreachable: [
      "The upstream could not be reached{words}. Check UPSTREAM_BASE_URL and the network.",
      "Connection, DNS, TLS or proxy: nothing was sent.",
    ],
    upstream_cut_off: ["{words}.", "The upstream closed the connection before its answer was whole."],
    upstream_garbage: ["{words}.", "The upstream's answer could not be understood."],
    upstream_redirected:
      "The upstream answered with a redirect (status {status}), which is not followed, so that credentials stay here. Correct UPSTREAM_BASE_URL.",
  },
  503: {
    budget_store_unavailable: "The budget store does not answer, and without it nothing is spent. Try again shortly.",
    "budget_store_unavailable.restart_needed":
      "The budget store has failed, and without it nothing is spent. Restart needed: this process does not use it again.",
    "budget_store_unavailable.store_lost":
      "The budget store was deleted, replaced or emptied while the gateway ran, and without it nothing is spent. Restore it, then " +
      "restart the gateway.",
    no_capacity: "{why}. Try again shortly.",
    "overloaded.load": "The gateway is overloaded ({reason}). Try again shortly.",
    "overloaded.bodies":
      "The gateway holds as many bytes of request bodies as it may (MAX_BYTES_IN_FLIGHT). Try again shortly.",
    "overloaded.outcomes": "Too many reports of outcomes wait to be written. Try again shortly.",
    shutting_down: "The gateway is shutting down. Send the request again.",
    records_unavailable: "The decision records cannot be read: the database does not answer. Try again shortly.",
    outcome_store_unavailable: "The outcome could not be written: the database does not answer. Try again shortly.",
    metrics_unavailable: "The workers of this gateway did not answer in time. Scrape again.",
  },
  504: {
    upstream_timed_out: [
      "The upstream did not answer in time{words}.",
      "The policy's `upstream.timeouts_ms` bound the wait.",
    ],
  },
} as const satisfies ErrorTable;

/** Those of the dashboard beside them. */
const dashboardErrors = {
  401: {
    "unauthorized.dashboard_token": "This is not the dashboard's token (DASHBOARD_TOKEN).",
    "unauthorized.login": "Sign in at /dashboard/login, or send `Authorization: Bearer <DASHBOARD_TOKEN>`.",
  },
  403: {
    "origin_not_allowed.write": "Pages of other origins may not write here.",
    dashboard_closed:
      "The dashboard answers callers of this machine only, until DASHBOARD_TOKEN is set: set it and restart, then sign in with it.",
    csrf_header_missing: "Writes need the header {header}: 1, so that no page of another origin can make them.",
  },
  404: {
    "not_found.login": "There is no login: DASHBOARD_TOKEN is not set.",
    "not_found.dashboard": ["{problem}", "The path, the file or the entry does not exist."],
    unknown_model: ["{problem}", "The registry has no model with this key."],
    unknown_hold: ["{problem}", "nothing is held under this id."],
  },
  409: {
    hold_is_live: ["{problem}", "The call of this hold is running."],
    "invalid_request.conflict": ["{problem}", "it is so already, or another setting forbids it."],
  },
  429: {
    too_many_logins: "Too many wrong dashboard tokens. Wait, then try again.",
  },
  503: {
    "overloaded.feeds": "Too many live feeds are open.",
    store_unavailable: "The database does not answer. Try again shortly.",
    "store_unavailable.operation": ["{problem}", "what the database or the aggregator had to say."],
    audit_unavailable: "It is done, but could not be written into the audit log.",
  },
} as const satisfies ErrorTable;

type Rows = (typeof errors)[keyof typeof errors] | (typeof dashboardErrors)[keyof typeof dashboardErrors];
type NamesOf<Group> = Group extends unknown ? keyof Group & string : never;
type RowOf<Name> = Name extends string ? Extract<Rows, { readonly [N in Name]: unknown }>[Name] : never;
type SentenceOf<Row> = Row extends readonly [infer Sentence, string] ? Sentence : Row;
type ValuesIn<Sentence> = Sentence extends `${string}{${infer Value}}${infer Rest}` ? Value | ValuesIn<Rest> : never;
type CodeIn<Name> = Name extends `${infer Code}.${string}` ? Code : Name;

export type ErrorName = NamesOf<Rows>;
/** What programs know an error by. */
export type ErrorCode = CodeIn<ErrorName>;
/** The values that an error's sentence needs. */
export type ErrorValues<Name> = { readonly [V in ValuesIn<SentenceOf<RowOf<Name>>>]: string | number };

/** What a caller is answered instead of what was asked for. */
export interface CallerError {
  readonly status: number;
  readonly code: ErrorCode;
  /** What is wrong and what to do; names the field; never a prompt, a key or a stack. */
  readonly detail: string;
  /** The field or header at fault, where it is one. */
  readonly param?: string | undefined;
  /** Seconds after which asking again makes sense; absent: waiting cannot mend it, or nobody knows. */
  readonly retryAfterS?: number | undefined;
  /** Whether the caller's SDK is to repeat the request by itself; by default where there is something to wait for. */
  readonly shouldRetry?: boolean | undefined;
}

/** The rows of a table one by one. */
function rowsOf(table: ErrorTable) {
  return Object.entries(table).flatMap(([status, rows]) =>
    Object.entries(rows).map(([name, row]) => {
      const [sentence, addition = ""] = typeof row === "string" ? [row] : row;
      const code = name.split(".")[0] as ErrorCode; // what a name begins with
      return { name, code, status: Number(status), sentence, addition };
    }),
  );
}

export const errorRows = { ofRequests: rowsOf(errors), ofDashboard: rowsOf(dashboardErrors) };
const rowsByName = new Map(Object.values(errorRows).flatMap((rows) => rows.map((row) => [row.name, row])));

/** An error of the table. What is unavailable can be asked for again a second later, unless the result is changed. */
export function errorOf<Name extends ErrorName>(
  name: Name,
  ...[values]: keyof ErrorValues<Name> extends never ? [] : [ErrorValues<Name>]
): CallerError {
  const row = rowsByName.get(name);
  if (row === undefined) throw new RangeError(`no such error: ${name}`);
  const { status, code, sentence } = row;
  const given: Readonly<Record<string, string | number>> = values ?? {};
  const detail = sentence.replace(/\{(\w+)\}/g, (_, value) => String(given[value]));
  const error = { status, code, detail };
  return status === 503 ? { ...error, retryAfterS: 1 } : error;
}

/** What OpenAI's API calls an error of this status. */
export function errorType(status: number): string {
  return errorTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

const errorTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};
