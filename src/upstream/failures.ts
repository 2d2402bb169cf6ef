import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { ConnectionError, type ConnectionStage, errorCodeOf } from "#http-client/connection-error.ts";
import { Http2Error, HttpSyntaxError } from "#http-client/response/response-head.ts";
import { errorMember, reasonIn } from "./error-reason.ts";
import { bareStatusMessage, type UpstreamFailure } from "./upstream.ts";

const maxMessageLength = 300;

/** Text fit for a log line or an error answer: control characters become spaces, at most 300 characters. */
export function cleanMessage(text: string): string {
  // Cut before cleaning: the text may be large, and white space only gets shorter.
  const cleaned = text
    .slice(0, 4 * maxMessageLength)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  if (cleaned.length <= maxMessageLength) return cleaned;
  // Never half of a surrogate pair.
  return `${cleaned.slice(0, maxMessageLength - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The failure that a status means, given by the status line or by an error object in a 200. */
export function statusFailure(status: number, message: string, retryAfterMs?: number): UpstreamFailure {
  return {
    kind: kindOf(status),
    status,
    message: cleanMessage(message) || bareStatusMessage(status),
    dispatched: true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** A server that speaks only HTTP/2 has not read the request, so it bills nothing. */
const onlyHttp2: UpstreamFailure = {
  kind: "unreachable",
  message:
    "the upstream speaks only HTTP/2 and the gateway HTTP/1.1; name a server, or a proxy before it, that speaks both",
  dispatched: false,
};

const wantsCredentials = "the proxy wants a user and a password that are right";

/** The failure of an error answer, with the message of its body and the wait before a retry. */
export function errorAnswerFailure(
  status: number,
  { message, error, isText }: ErrorBody,
  retryAfterMs: number | undefined,
): UpstreamFailure {
  // Only a proxy answers 407 (RFC 9110 §15.5.8), and it has not passed the request on.
  if (status === 407) return { kind: "unreachable", message: `${wantsCredentials} (status 407)`, dispatched: false };
  // 505 says so by itself; Node's servers say 403, in these words alone: other messages may quote what the caller wrote.
  const http2 =
    status === 505 || (status === 403 && /^\s*(Missing|Unknown) ALPN Protocol, expected `h2`/.test(message));
  if (http2) return onlyHttp2;
  const failure = withErrorDetail(statusFailure(status, message, retryAfterMs), error);
  // What a firewall refuses is the request, and not our key.
  return isText && status === 403 ? { ...failure, kind: "rejected" } : failure;
}

function kindOf(status: number): UpstreamFailure["kind"] {
  if (status >= 500 || status === 408 || status === 409 || status === 425) return "upstream_error";
  if (status === 429) return "rate_limited";
  if (status === 401 || status === 402 || status === 403) return "unauthorized";
  if (status >= 400) return "rejected";
  return status >= 300 ? "redirected" : "garbage";
}

/**
 * The failure in an object that carries `error` (in a 200, or in a stream's event); undefined when it carries none.
 * Its `code` counts as the status when it is a whole number from 400 to 599, else the status is 500.
 */
export function errorIn(object: JsonObject, wait?: () => number | undefined): UpstreamFailure | undefined {
  const error = errorMember(object);
  if (error === undefined || saysNothing(error)) return undefined;
  const failure = statusFailure(isObject(error) ? statusOf(error) : 500, reasonIn(object), wait?.());
  return withErrorDetail(failure, error);
}

/** No error, or an empty structure: some servers put `{}`, `[]` or `{"code": 0, "message": ""}` beside a good answer. */
function saysNothing(error: Json | undefined, depth = 0): boolean {
  if (typeof error === "object" && error !== null && depth < 4)
    return Object.values(error).every((value) => saysNothing(value, depth + 1));
  return !error || (typeof error === "string" && error.trim() === "");
}

/** The failure, with what the error says beside its status: a 404 can mean more than an unknown model, a 400 a full context. */
function withErrorDetail(failure: UpstreamFailure, error: Json | undefined): UpstreamFailure {
  const kind = detailedKind(failure, error) ?? failure.kind;
  return isObject(error) ? { ...failure, kind, hasErrorBody: true } : { ...failure, kind };
}

function detailedKind({ kind, status, message }: UpstreamFailure, error: Json | undefined) {
  const { code = null, type = null, metadata = null, availability = null }: JsonObject = isObject(error) ? error : {};
  const more = isObject(metadata) ? metadata : {};
  if (status === 404) {
    // The aggregator has hosts for the model, and none of them within the request's constraints.
    const places = [availability, more["availability"]];
    const filters = places.some((place) => isObject(place) && place["code"] === "constraint_filtered");
    return filters ? "constraint_filtered" : undefined;
  }
  if (kind !== "rejected" && status !== 403) return undefined;
  const outer = isObject(error) && typeof error["message"] === "string" ? error["message"] : "";
  const said = `${code} ${type} ${message} ${outer.slice(0, 4 * maxMessageLength)}`;
  // A bare 413 is Cerebras's word for it.
  const isTooLong = aboutContext.test(said) || (status === 413 && message === bareStatusMessage(413));
  if (kind === "rejected" && isTooLong) return "context_length_exceeded";
  return aboutContent.test(said) ? "content_filtered" : undefined;
}

/** The codes and words for a full context, of the hosts and servers that fixtures/context-length-bodies.jsonl shows. */
const aboutContext = new RegExp(
  String.raw`context_length_exceeded|exceed_context_size|maximum (context|model|input|prompt) length|maximum allowed (input )?length
  |(exceed(s|ed)?|(longer|larger|greater) than) (the |this )?(model('s)? |available |max )?context (window|length|size|limit)
  |context (window|length|size) (has been )?exceed|context length (is|of) only|configured context size|size limit exceeded by \d
  |prompt (is )?too long|input is too long|(input|prompt) token count .{0,40}exceeds|prompt exceeds max|range of input length
  |exceeded model token limit|input tokens exceed the configured|tokens in request more than max|tokens in the prompt cannot
  |\x60inputs\x60 (tokens \+|must have less)|reduce the length of the (messages|input)`.replace(/\n\s*/g, ""),
  "i",
);

/** The codes and words for a refused content: OpenAI and Azure, OpenRouter's moderation, DeepSeek, Alibaba. */
const aboutContent =
  /content_policy_violation|content_filter|data_inspection_failed|\bmoderation\b|\bflagged\b|safety system|content management policy|content exists risk/i;

function statusOf(error: JsonObject): number {
  const statuses = ["code", "status", "http_status_code"].map((name) => Number(error[name] ?? Number.NaN));
  return statuses.find((status) => Number.isInteger(status) && status >= 400 && status <= 599) ?? 500;
}

/** What the body of an error answer says. */
export interface ErrorBody {
  /** The innermost reason. */
  readonly message: string;
  readonly error?: Json;
  /** No JSON: mostly the page of a firewall or a proxy. */
  readonly isText?: boolean;
}

/** The reason and the error object of an error answer's body, JSON or not. */
export function errorBodyOf(body: string): ErrorBody {
  try {
    const parsed: Json = JSON.parse(body);
    const json = Array.isArray(parsed) ? parsed[0] : parsed; // Google's come in a list
    return { message: reasonIn(json), error: isObject(json) ? (errorMember(json) ?? null) : null };
  } catch {
    return { message: reasonIn(body), isText: !/^\s*([[{]|$)/.test(body) };
  }
}

/** Messages for the error codes of connections that were never made. */
const unreachableCodes: { readonly [code: string]: string } = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name lookup failed",
  ENETUNREACH: "network unreachable",
  EHOSTUNREACH: "host unreachable",
  EMFILE: "too many open files",
  CLOSED: "the connection was closed",
  ECONNRESET: "the connection was closed",
};

const untrusted =
  "the certificate's authority is not trusted (NODE_EXTRA_CA_CERTS adds one), or the server does not send its intermediate certificate";

/** Messages for the codes with which TLS handshakes fail: of the system, and the verification names of the TLS library. */
const handshakeCodes: { readonly [code: string]: string } = {
  CLOSED: "the server closed the connection",
  ECONNRESET: "the server closed the connection",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet, or this machine's clock is behind",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed and not trusted (NODE_EXTRA_CA_CERTS adds it)",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's authority is not trusted (NODE_EXTRA_CA_CERTS adds one)",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS on this port",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "the server speaks no version of TLS that is still safe",
};

/** A connection that the deadline ended: what it was doing. */
const awaitedIn: { readonly [stage in ConnectionStage]: string } = {
  connect: "a connection",
  connect_proxy: "a connection to the proxy",
  tunnel: "the proxy's answer to CONNECT",
  handshake: "the TLS handshake",
  exchange: "an answer",
};

/** What a connection that was cancelled had been waiting for; undefined for other errors. */
export function awaitedBy(error: unknown): string | undefined {
  return error instanceof ConnectionError && error.code === "CANCELLED" ? awaitedIn[error.stage] : undefined;
}

/** Why no byte of the request was sent. */
function unsentMessage({ code, stage, proxyStatus }: ConnectionError): string {
  if (stage === "handshake") {
    const what = handshakeCodes[code];
    return `TLS handshake failed${what === undefined ? "" : `: ${what}`} (${code})`;
  }
  if (code === "PROXY_REFUSED") {
    if (proxyStatus === 407) return `${wantsCredentials} (${code}, status 407)`;
    return `the proxy did not connect us (${code}${proxyStatus === undefined ? "" : `, status ${proxyStatus}`})`;
  }
  const what = unreachableCodes[code] ?? "no connection";
  const peer = stage === "connect_proxy" || stage === "tunnel" ? "the proxy: " : "";
  return `${peer}${what} (${code})`;
}

/**
 * The failure that an exchange or a read of its body ended with. Of errors that are not ours only the code is used:
 * their message may name the URL.
 * @param answered whether headers of an answer had come
 */
export function transportFailure(error: unknown, answered: boolean): UpstreamFailure {
  if (error instanceof Http2Error) return onlyHttp2;
  if (error instanceof HttpSyntaxError) {
    return garbageFailure(`the upstream's answer is not valid HTTP: ${error.message}`);
  }
  const code = errorCodeOf(error);
  if (error instanceof ConnectionError) {
    if (!error.sent) return { kind: "unreachable", message: unsentMessage(error), dispatched: false };
    if (code === "ETIMEDOUT")
      return { kind: "timed_out", message: `the connection timed out (${code})`, dispatched: true };
    const when = answered ? "before the answer was whole" : "before an answer came";
    return cutOffFailure(`the upstream closed the connection ${when} (${code})`);
  }
  return garbageFailure(`the upstream's answer cannot be read (${code || "no error code"})`);
}

/** An answer that breaks the protocol. */
export function garbageFailure(message: string): UpstreamFailure {
  return { kind: "garbage", message, dispatched: true };
}

/** An answer that ended before it was complete. */
export function cutOffFailure(message: string): UpstreamFailure {
  return { kind: "cut_off", message, dispatched: true };
}
