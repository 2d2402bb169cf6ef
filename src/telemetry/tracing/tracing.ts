import type { TokenUsage } from "#domain/money/tokens.ts";
import type { TraceContext } from "#domain/trace-context.ts";

/**
 * Traces of requests and of the calls made for them. Contexts are passed explicitly, as W3C header values. Nothing of a
 * prompt or an answer is in a trace; ids and names only. Absent where OTEL_* does not ask for it: then nobody calls any of this.
 */
export interface Tracing {
  /** Begins the span of a request that a caller has sent; `parent` is the caller's own context. */
  startRequest(
    start: { readonly method: string; readonly route: string },
    parent: TraceContext | undefined,
  ): RequestSpan;
  /** Begins the span of one call to a model. */
  startCall(start: CallStart, parent: TraceContext | undefined): CallSpan;
  /** Sends what is left. Never rejects. */
  close(): Promise<void>;
}

export interface RequestSpan {
  /** What the calls of this request have as their parent. */
  readonly context: TraceContext;
  /** The answer is whole. `headers` are the answer's: they say how it was routed. */
  end(status: number, headers: Pick<Headers, "get">): void;
}

export interface CallStart {
  /** The aggregator's id of the model, and the registry's key. */
  readonly model: string;
  readonly modelKey: string;
  readonly stream: boolean;
  readonly maxTokens?: number;
  readonly serverAddress: string;
  readonly serverPort: number;
  /** Whose flavor of the API the server speaks. */
  readonly provider: string;
}

export interface CallSpan {
  /** What goes out with the call. */
  readonly context: TraceContext;
  /** The next chunk of a stream has come. */
  chunk(): void;
  end(end: CallEnd): void;
}

export interface CallEnd {
  /** The kind of failure; absent: it was answered. */
  readonly errorType?: string;
  readonly status?: number;
  readonly responseModel?: string;
  readonly responseId?: string;
  readonly finishReasons?: readonly string[];
  readonly usage?: Omit<TokenUsage, "reasoning">;
}
