import type { ErrorCode } from "#domain/codes/error-codes.ts";
import { bareStatusMessage, type FailureKind, type UpstreamFailure } from "#upstream/upstream.ts";
import type { Refusal } from "./reply.ts";

/** An upstream failure as the caller reads it: a status before the first byte, an error chunk after it. */

/** The status each failure ends in once nothing more can be tried. An answer with an upstream status is always a 500. */
const statuses = {
  unreachable: 502,
  cut_off: 502,
  timed_out: 504,
  upstream_error: 500,
  rate_limited: 500,
  rejected: 500,
  constraint_filtered: 500,
  unauthorized: 500,
  garbage: 502,
  redirected: 502,
  aborted: 499,
} as const satisfies Record<FailureKind, number>;

export function statusOf(failure: UpstreamFailure): (typeof statuses)[FailureKind] {
  return statuses[failure.kind];
}

/** What programs know a failure by: `error.code` before the first byte, `error_type` (without `upstream_`) after it. */
export function codeOf({ kind }: UpstreamFailure): ErrorCode {
  if (kind === "aborted") return "caller_gone";
  return kind === "upstream_error" ? kind : `upstream_${kind}`;
}

/** One sentence for `detail`: what failed, and the upstream's own words, redacted already, where it had any. */
export function detailOf(failure: UpstreamFailure): string {
  const message = failure.message.replace(/[.\s]+$/, "");
  if (failure.byGateway === true) return sentence(message);
  // A message of our own for a bare status would only repeat the status.
  const words = message === "" || message === bareStatusMessage(failure.status) ? "" : `: ${message}`;
  switch (failure.kind) {
    case "unreachable":
      return `The upstream could not be reached${words}. Check UPSTREAM_BASE_URL and the network.`;
    case "cut_off":
      return message === "" ? "The upstream closed the connection before its answer was whole." : sentence(message);
    case "timed_out":
      return `The upstream did not answer in time${words.replace(/^: timed out waiting/, ": waited")}.`;
    case "rate_limited":
      return `The upstream is rate limiting (status ${failure.status ?? 429})${words}.`;
    case "upstream_error":
      return `The upstream failed with status ${failure.status ?? 500}${words}.`;
    case "rejected":
      return `The upstream refused the request with status ${failure.status ?? 400}${words}.`;
    case "constraint_filtered":
      return `No host of the model is within the price limit that the gateway sends, or within the constraints of the request's own \`provider\` (status ${failure.status ?? 404})${words}. Compare the prices of the model registry with the aggregator's: \`smart-gateway doctor\`.`;
    case "unauthorized":
      return `The upstream refused the gateway's credentials or credit with status ${failure.status ?? 401}${words}. Check UPSTREAM_API_KEY and the account.`;
    case "garbage":
      return message === "" ? "The upstream's answer could not be understood." : sentence(message);
    case "redirected":
      return `The upstream answered with a redirect (status ${failure.status ?? 302}), which is not followed, so that credentials stay here. Correct UPSTREAM_BASE_URL.`;
    case "aborted":
      return "The caller disconnected.";
  }
}

/** Failures whose message is ours and needs no introduction. */
function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

/** The `error` member of the last chunk of a broken stream. */
export interface InBandError {
  readonly code: number;
  readonly message: string;
  readonly metadata: { readonly error_type: string };
}

export function inBandErrorOf(failure: UpstreamFailure): InBandError {
  return {
    code: failure.status ?? (statusOf(failure) === 499 ? 502 : statusOf(failure)),
    message: detailOf(failure),
    metadata: { error_type: failure.kind },
  };
}

export function inBandErrorOfRefusal({ status, detail, code }: Refusal): InBandError {
  return { code: status, message: detail, metadata: { error_type: code } };
}
