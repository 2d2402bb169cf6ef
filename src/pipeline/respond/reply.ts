import type { CallerError } from "#domain/errors.ts";
import type { ModelKey } from "#domain/model.ts";
import type { RoutingDecision, TaskKind } from "#domain/routing.ts";
import type { Source } from "#platform/receiver.ts";
import type { RequestRecord } from "#records/record.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

/** The outcome of a chat request. `http/` turns it into a response; nothing else decides a status. */
export type Reply =
  /** `body` is JSON text. */
  | { readonly kind: "answer"; readonly body: string; readonly headers: DecisionHeaders }
  | {
      readonly kind: "stream";
      readonly stream: CallerStream;
      readonly headers: DecisionHeaders;
      /** Its model is still being called: the bytes of the request are needed. */
      readonly isCalling?: true;
    }
  | Refusal;

/** What the answer's headers say about its decision. */
export interface DecisionHeaders {
  readonly decisionId: string;
  readonly decision: RoutingDecision;
  /** The kind of work that the request was taken for. */
  readonly taskKind: TaskKind;
  /** The budget's goal. */
  readonly goal: string;
  /** The model that answers; null when none does, or none is known yet. */
  readonly answeredBy: ModelKey | null;
  readonly redactions: number;
  /** What is recorded of the request so far; only where the caller wants its decision explained. */
  readonly explained?: (() => RequestRecord | undefined) | undefined;
}

export interface Refusal extends CallerError {
  readonly kind: "refusal";
  /** Absent when the pipeline did not get as far as a decision. */
  readonly headers?: DecisionHeaders | undefined;
}

/** The comment that shows a waiting caller that the stream is alive. */
export const keepAlive = ": keep-alive\n\n";

/** The events of one answer as text, pulled by the edge as fast as the caller reads. */
export interface CallerStream extends Source<string> {
  /** The caller has disconnected: every call made for the request stops. */
  cancel(): void;
  /** Ends the stream from our side; the text tells the caller why. */
  breakOff(failure: UpstreamFailure): string;
}
