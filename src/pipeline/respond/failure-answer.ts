import type { ErrorCode } from "#domain/error-codes.ts";
import { bareStatusMessage, type FailureKind, type UpstreamFailure } from "#upstream/upstream.ts";

/** An upstream failure as the caller reads it: a status before the first byte, an error chunk after it. */
interface FailureAnswer {
  /** What it ends in once nothing more can be tried. An answer with an upstream status is always a 500. */
  readonly status: 499 | 500 | 502 | 504;
  /** Asking again leads to the same. */
  readonly isFinal?: true;
  /**
   * The sentence where the upstream's own words stand behind what failed; else the message is ours. `{status}` is the upstream's;
   * `{words}` begin with a colon, or are empty.
   */
  readonly detail?: string;
}

const answers: { readonly [K in FailureKind]: FailureAnswer } = {
  unreachable: {
    status: 502,
    detail: "The upstream could not be reached{words}. Check UPSTREAM_BASE_URL and the network.",
  },
  cut_off: { status: 502 },
  timed_out: { status: 504, detail: "The upstream did not answer in time{words}." },
  upstream_error: { status: 500, detail: "The upstream failed with status {status}{words}." },
  rate_limited: { status: 500, detail: "The upstream is rate limiting (status {status}){words}." },
  rejected: { status: 500, isFinal: true, detail: "The upstream refused the request with status {status}{words}." },
  constraint_filtered: {
    status: 500,
    isFinal: true,
    detail:
      "No host of the model is within the price limit that the gateway sends, or within the constraints of the request's own `provider` (status {status}){words}. Compare the prices of the model registry with the aggregator's: `smart-gateway doctor`.",
  },
  context_length_exceeded: {
    status: 500,
    isFinal: true,
    detail: "The request is longer than the model's context (status {status}){words}. Shorten the conversation.",
  },
  content_filtered: {
    status: 500,
    isFinal: true,
    detail: "The upstream's content filter refused the request (status {status}){words}.",
  },
  unauthorized: {
    status: 500,
    isFinal: true,
    detail:
      "The upstream refused the gateway's credentials or credit with status {status}{words}. Check UPSTREAM_API_KEY and the account.",
  },
  garbage: { status: 502 },
  redirected: {
    status: 502,
    isFinal: true,
    detail:
      "The upstream answered with a redirect (status {status}), which is not followed, so that credentials stay here. Correct UPSTREAM_BASE_URL.",
  },
  aborted: { status: 499, detail: "The caller disconnected." },
};

/** The status and whether asking again leads to the same; `error.code`, as `error_type` without `upstream_`; and one sentence. */
export function failureAnswer(failure: UpstreamFailure) {
  const { status, isFinal = false } = answers[failure.kind];
  return { status, isFinal, code: errorCode(failure.kind), detail: failureDetail(failure) };
}

function errorCode(kind: FailureKind): ErrorCode {
  if (kind === "aborted") return "caller_gone";
  const isWholeCode = kind === "upstream_error" || kind === "context_length_exceeded" || kind === "content_filtered";
  return isWholeCode ? kind : `upstream_${kind}`;
}

/** What failed, and the upstream's own words, redacted already, where it had any. */
function failureDetail(failure: UpstreamFailure): string {
  const { detail } = answers[failure.kind];
  const message = failure.message.replace(/(?<![.\s])[.\s]+$/, "");
  if (detail === undefined || failure.byGateway === true)
    return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  // A message of our own for a bare status would only repeat the status.
  const words = message === "" || message === bareStatusMessage(failure.status) ? "" : `: ${message}`;
  return detail
    .replace("{status}", `${failure.status}`)
    .replace("{words}", () => words.replace(/^: timed out waiting/, ": waited"));
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
