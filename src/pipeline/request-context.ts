import type { ChatRequest } from "#domain/chat.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { RedactedBody } from "#privacy/redaction.ts";
import type { Configuration } from "./ports.ts";
import type { RequestRecorder } from "./settle/request-recorder.ts";

/** What every step after the assessment knows of one chat request. */
export interface RequestContext {
  readonly request: ChatRequest;
  readonly configuration: Configuration;
  readonly redacted: RedactedBody;
  readonly assessment: Assessment;
  readonly recorder: RequestRecorder;
  /** Aborted when the caller disconnects; every call made for the request then stops. */
  readonly caller: AbortControllerLike;
  /** Monotonic milliseconds at which the request must have ended. */
  readonly deadlineMs: number;
}

/** A decision and the snapshot it was made from: fail-over reads the same snapshot. */
export interface RoutedDecision {
  readonly decision: RoutingDecision;
  readonly snapshot: Snapshot;
}

/**
 * The part of the request context that a stream needs until it ends. The request context itself holds the conversation,
 * as received and as sent; it must not live as long as the stream, because thousands of streams last for minutes.
 */
export interface StreamContext {
  readonly recorder: RequestRecorder;
  readonly configuration: Configuration;
  readonly inputTokensBound: number;
}

export function streamContextOf({ recorder, configuration, assessment }: RequestContext): StreamContext {
  return { recorder, configuration, inputTokensBound: assessment.size.inputTokensBound };
}
