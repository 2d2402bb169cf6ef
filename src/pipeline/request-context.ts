import type { ChatRequest } from "#domain/chat.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { RedactedBody } from "#privacy/redaction.ts";
import type { Configuration } from "./ports.ts";
import type { RequestRecorder } from "./request-recorder.ts";

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
