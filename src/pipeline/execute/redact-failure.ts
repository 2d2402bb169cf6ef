import type { Configuration } from "#pipeline/ports.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

/** Longest message of an upstream failure that is kept, in characters. */
const maxMessageLength = 300;

/** The failure with its message redacted: an upstream may echo the request. */
export function redactFailure(failure: UpstreamFailure, { privacy }: Configuration): UpstreamFailure {
  if (failure.message === "") return failure;
  const { text } = privacy.redactText(failure.message);
  // The policy may have switched redaction off; a message that was cut holds the beginning of the gateway's key at most.
  const message = privacy.answerGuard === undefined ? text : privacy.answerGuard.text(text);
  return { ...failure, message: message.slice(0, maxMessageLength) };
}
