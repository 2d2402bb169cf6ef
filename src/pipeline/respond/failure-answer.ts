import { type CallerError, type ErrorCode, errorOf } from "#domain/errors.ts";
import { bareStatusMessage, type FailureKind, type UpstreamFailure } from "#upstream/upstream.ts";

/** `error.code` of each failure once nothing more can be tried. An answer with an upstream status is always a 500. */
const codes = {
  unreachable: "upstream_unreachable",
  cut_off: "upstream_cut_off",
  timed_out: "upstream_timed_out",
  upstream_error: "upstream_error",
  rate_limited: "upstream_rate_limited",
  rejected: "upstream_rejected",
  constraint_filtered: "upstream_constraint_filtered",
  context_length_exceeded: "context_length_exceeded",
  content_filtered: "content_filtered",
  unauthorized: "upstream_unauthorized",
  garbage: "upstream_garbage",
  redirected: "upstream_redirected",
  aborted: "caller_gone",
} as const satisfies Readonly<Record<FailureKind, ErrorCode>>;

/** Asking again leads to the same. */
const finalKinds: ReadonlySet<FailureKind> = new Set<FailureKind>([
  ...(["rejected", "constraint_filtered", "context_length_exceeded", "content_filtered"] as const),
  ...(["unauthorized", "redirected"] as const),
]);

/** An upstream failure as the caller reads it, with the upstream's own words, redacted already, where it had any. */
export function failureAnswer(failure: UpstreamFailure): CallerError & { readonly isFinal: boolean } {
  const { kind, status } = failure;
  const message = failure.message.replace(/(?<![.\s])[.\s]+$/, "");
  // Where the upstream said nothing, the message is ours, and all there is to say.
  const whole = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  const isWhole = kind === "cut_off" || kind === "garbage";
  // A message of our own for a bare status would only repeat the status.
  const isRepeated = message === "" || message === bareStatusMessage(status);
  const added = isRepeated ? "" : `: ${message}`.replace(/^: timed out waiting/, ": waited");
  const error = errorOf(codes[kind], { status: `${status}`, words: isWhole ? whole : added });
  return { ...error, ...(failure.byGateway === true && { detail: `${whole}.` }), isFinal: finalKinds.has(kind) };
}

/** The `error` member of the last chunk of a broken stream. */
export interface InBandError {
  readonly code: number;
  readonly message: string;
  readonly metadata: { readonly error_type: string };
}

export function inBandError(failure: UpstreamFailure): InBandError {
  const { status, detail } = failureAnswer(failure);
  return {
    code: failure.status ?? (status === 499 ? 502 : status),
    message: detail,
    metadata: { error_type: failure.kind },
  };
}
