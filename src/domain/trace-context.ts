/** The place of a piece of work in a distributed trace, as its W3C headers say it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}
