import type { ChatMessage, Json, JsonObject, ReceivedBody, TraceContext } from "#domain/chat.ts";
import { wholeMessage } from "#domain/message-memo.ts";
import type { Model, TimeoutName } from "#domain/model.ts";
import type { TokenUsage } from "#domain/money/tokens.ts";
import type { AbortSignalLike } from "#platform/abort.ts";
import type { Source } from "#platform/receiver.ts";
import type { FinishReason } from "./finish-reasons.ts";

/** The aggregator as the pipeline sees it: one call, one answer. Retries, money and health are the pipeline's. */
export interface Upstream {
  /**
   * Posts one chat completion. Resolves when the answer is known to be good so far: a whole JSON answer, or a stream
   * whose first meaningful event has come; otherwise a failure. Never rejects. `signal` aborts the call in any phase,
   * at once.
   */
  send(call: UpstreamCall, signal: AbortSignalLike): Promise<UpstreamReply>;
}

/** An answer above one of these limits is a failure of kind `garbage`. */
export interface AnswerLimits {
  /** Of a whole (non-streaming) answer. */
  readonly maxAnswerBytes: number;
  /** Of one event of a stream. */
  readonly maxEventBytes: number;
  /** JSON values in a whole answer or one event. */
  readonly maxValues: number;
}

/**
 * Far above what models write (128,000 tokens are half a megabyte), and little enough that a few such answers at a time
 * do not fill the memory: a value of two bytes takes about a hundred once it is parsed.
 */
export const answerLimits: AnswerLimits = {
  maxAnswerBytes: 32 * 1_048_576,
  maxEventBytes: 16 * 1_048_576,
  maxValues: 500_000,
};

export interface UpstreamCall {
  readonly model: Model;
  /** The body to post, already redacted, bounded and with the upstream's model id; serialized once per attempt. */
  readonly body: JsonObject;
  /** What the body was made of, where it is to be sent as the bytes that were received, but for what differs. */
  readonly received?: ReceivedBody | undefined;
  readonly stream: boolean;
  readonly timeoutsMs: { readonly [name in TimeoutName | "idle_data"]: number };
  /** After so long without a first event `abandon` is asked, once, whether the call is to be abandoned for another model. */
  readonly slow?: { readonly afterMs: number; readonly abandon: () => boolean } | undefined;
  readonly requestId: string;
  /** Sent as `traceparent`; absent where nothing is traced. */
  readonly trace?: TraceContext | undefined;
  /** Uses a new connection and closes it afterwards: for the one repeat after `staleSocket`. */
  readonly freshConnection?: boolean;
}

/** A message that goes out with an empty `reasoning_content`, and is otherwise sent as it was received. */
export class WithEmptyReasoning {
  readonly message: ChatMessage;

  constructor(message: ChatMessage) {
    this.message = message;
  }

  toJSON(): JsonObject {
    return { reasoning_content: "", ...wholeMessage(this.message) };
  }
}

/** An answer that is whole, or has begun; `firstTokenMs` since the call was sent, `raw` is the answer's text as it came. */
export type UpstreamAnswer = { readonly firstTokenMs: number } & (
  | {
      readonly kind: "answer";
      readonly answer: JsonObject;
      readonly raw: string;
      readonly report: UsageReport;
      /** As of a stream. */
      readonly isEmpty: boolean;
    }
  | { readonly kind: "stream"; readonly events: EventStream }
);

export type UpstreamReply =
  | UpstreamAnswer
  /** `report` when the failed answer said what it cost: an answer that cannot be used may have been billed all the same. */
  | { readonly kind: "failure"; readonly failure: UpstreamFailure; readonly report?: UsageReport };

/** Batches of events: what one read from the network brought. Whoever does not read to the end has to stop it. */
export interface EventStream extends Source<EventBatch> {
  /** Ends the call, where it has not ended, and tells what it has shown. No read brings anything after it. */
  stop(): { readonly report: UsageReport; readonly outputBytes: number };
}

export type EventBatch = readonly UpstreamEvent[];

/** Tokens and cost as the upstream reported them. Absent is not zero; zero is a value. */
export interface UsageReport {
  readonly usage?: TokenUsage;
  /** `usage.cost`, in nano-USD; absent when not given or not a finite, non-negative number. */
  readonly costNanoUsd?: number;
  /** Counted while the answer was being written, and it never ended: the call has cost at least this. */
  readonly partial?: true;
  /** The aggregator's own id of the call. */
  readonly generationId?: string;
  /** The aggregator may be asked later by that id what it has billed. */
  readonly asksBilling?: true;
  /** The provider that served, as the aggregator names it. */
  readonly host?: string;
  /** `usage.is_byok`: the call ran on the operator's own account with the provider. */
  readonly ownAccount?: boolean;
}

/**
 * One event of a stream. The last one is always `end` or `broken`. What ends a stream well is its content, never a
 * clean close: `[DONE]`, or a finish reason of every choice that no output has followed.
 */
export type UpstreamEvent = ChunkEvent | ChunkRun | StreamEnd | BrokenStream;

export interface StreamEnd {
  readonly kind: "end";
  readonly report: UsageReport;
  /** How each choice has ended. */
  readonly finishes: Finishes;
  /** Nothing was said and nothing was called, although it claims to have stopped of its own accord. */
  readonly isEmpty: boolean;
}

export interface BrokenStream {
  readonly kind: "broken";
  readonly failure: UpstreamFailure;
  readonly report: UsageReport;
  /** The choices that had ended before. */
  readonly finishes?: Finishes;
}

/** Finish reasons by the index of their choice. */
export type Finishes = ReadonlyMap<number, FinishReason>;

/** A `chat.completion.chunk`, in the format's own form. */
export interface ChunkEvent {
  readonly kind: "chunk";
  /** The event's data text, as it came where it needed no change. */
  readonly raw: string;
  readonly chunk: JsonObject;
}

/** The members of a message or delta in which an answer comes. */
const outputs = "content tool_calls reasoning reasoning_content refusal function_call audio images".split(" ");

/** Whether a message or a delta says something, or calls something, in one of these members. */
export function hasOutput(part: JsonObject, names: readonly string[] = outputs): boolean {
  return names.some((name) => !isBlank(part[name]));
}

/** Whether a message or a delta has more than a role: output, or what was found out about it. */
export function carriesSomething(part: JsonObject): boolean {
  for (const name in part) if (name !== "role" && !isBlank(part[name])) return true;
  return false;
}

function isBlank(value: Json | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === "" ||
    value === false ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Chunks in a row that differ from one before them in nothing but the text of their content, and need not be parsed. */
export interface ChunkRun {
  readonly kind: "run";
  /** One object for all chunks that are alike. They have one choice, which goes on, and content that is not empty; no usage. */
  readonly template: ContentTemplate;
  /** The events as they came, each one data line and the blank line after it. */
  readonly events: string;
  /** Where the content of each event ends: JSON text without quotes. */
  readonly contentEnds: readonly number[];
}

export interface ContentTemplate {
  /** What an event of this template begins with, up to its content, and what it ends with. */
  readonly head: string;
  readonly tail: string;
}

export const failureKinds = [
  /** Connect, DNS or TLS failed: no request byte went out; or the other side speaks another protocol and read none. */
  "unreachable",
  /** The connection was reset or closed before the answer was whole. */
  "cut_off",
  "timed_out",
  /** A retryable status: 408, 409, 425, 5xx. */
  "upstream_error",
  "rate_limited",
  /** Any other 4xx. */
  "rejected",
  /** 404: no host of the model meets the request's constraints, the price limit among them. */
  "constraint_filtered",
  /** The request is longer than the model's context, by the host's own count. */
  "context_length_exceeded",
  /** A filter of the host's or of the aggregator's refused what the request says. */
  "content_filtered",
  /** 401, 402, 403: our own credentials or credit. */
  "unauthorized",
  /** 200 that is not what it should be: not JSON, no choices, unparsable event, too large. */
  "garbage",
  /** A redirect: credentials are not sent on. */
  "redirected",
  /** The caller disconnected. */
  "aborted",
] as const;
export type FailureKind = (typeof failureKinds)[number];

export interface UpstreamFailure {
  readonly kind: FailureKind;
  /** The upstream's status when it gave one (also from an error object in a 200). */
  readonly status?: number;
  /** The upstream's message, at most 300 characters, control characters removed; not yet redacted. */
  readonly message: string;
  readonly retryAfterMs?: number;
  /** Whether request bytes may have reached the upstream: then it may have been billed. */
  readonly dispatched: boolean;
  /** A reused keep-alive socket failed before any answer byte: one free repeat on a fresh connection. */
  readonly staleSocket?: boolean;
  /** The error is the aggregator's own word, in its form: not the page of a proxy, nor a status alone. */
  readonly hasErrorBody?: true;
  /** Something of an answer had come: it may be billed, whatever status the error after it names. */
  readonly begun?: true;
  /** A web page, of a firewall or a proxy: not the aggregator's answer. */
  readonly isPage?: true;
  /** The gateway itself has ended the call, and the message is its own. */
  readonly byGateway?: true;
}

/** The message for an answer that has only a status. */
export function bareStatusMessage(status: number | undefined): string {
  return `the upstream answered ${status}`;
}
