import {
  type Attributes,
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  defaultTextMapSetter,
  diag,
  type Meter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { TraceContext } from "#domain/chat.ts";
import type { TokenUsage } from "#domain/money/tokens.ts";

/**
 * Traces of requests and of the calls made for them. Nothing of a prompt or an answer is in a trace; ids and names
 * only. The only file that imports OpenTelemetry, and it is loaded only where OTEL_* asks for it. Its libraries read
 * the rest of OTEL_* themselves: endpoint, headers, compression, certificates, resource, sampler, limits, batches.
 * Contexts are handed over explicitly, as W3C header values: automatic instrumentation does not work on this runtime.
 */
export type Tracing = ReturnType<typeof openTelemetry>;
export type RequestSpan = ReturnType<typeof startRequest>;
export type CallSpan = Pick<OpenCall, "context" | "chunk" | "end">;

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

export interface CallEnd {
  /** The kind of failure; absent: it was answered. */
  readonly errorType?: string;
  readonly status?: number;
  readonly responseModel?: string;
  readonly responseId?: string;
  readonly finishReasons?: readonly string[];
  readonly usage?: Omit<TokenUsage, "reasoning">;
}

export interface TracingOptions {
  readonly version: string;
  readonly nodeId: string;
  /** Which signals go to the collector. */
  readonly traces: boolean;
  readonly metrics: boolean;
  readonly metricIntervalMs: number;
  /** Something could not be exported. */
  readonly onProblem: () => void;
}

const scope = "smart-gateway";

export function openTelemetry(options: TracingOptions) {
  const { version, nodeId, traces, metrics, metricIntervalMs, onProblem } = options;
  const silent = () => undefined;
  // Only that something failed is passed on: messages of the libraries quote URLs and answers.
  const logger = { error: onProblem, warn: silent, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const own = { "service.name": "smart-gateway", "service.version": version, "service.instance.id": nodeId };
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
  const resource = resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] }));
  const tracers = new BasicTracerProvider({
    resource,
    spanProcessors: traces ? [new BatchSpanProcessor(new OTLPTraceExporter())] : [],
  });
  const reader = () =>
    new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter(),
      exportIntervalMillis: metricIntervalMs,
      exportTimeoutMillis: Math.min(metricIntervalMs, 30_000),
    });
  const meters = new MeterProvider({ resource, readers: metrics ? [reader()] : [] });
  const tracer = tracers.getTracer(scope, version);
  const histograms = createHistograms(meters.getMeter(scope, version));
  return {
    /** Begins the span of a request that a caller has sent; its headers may have the caller's own context. */
    startRequest: (start: { readonly method: string; readonly route: string }, headers: Record<string, string>) =>
      startRequest(tracer, start, headers),
    /** Begins the span of one call to a model. */
    startCall: (start: CallStart, parent: TraceContext | undefined) => new OpenCall(tracer, histograms, start, parent),
    /** Sends what is left. Never rejects. */
    async close(): Promise<void> {
      // A collector that is unavailable must not fail the end of the process.
      await Promise.allSettled([tracers.shutdown(), meters.shutdown()]);
    },
  };
}

const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const counts = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

/** The histograms of generative AI clients, with the boundaries that the conventions name. */
function createHistograms(meter: Meter) {
  const create = (name: string, unit: string, boundaries: number[], description: string) =>
    meter.createHistogram(`gen_ai.client.${name}`, {
      unit,
      description,
      advice: { explicitBucketBoundaries: boundaries },
    });
  return {
    duration: create("operation.duration", "s", seconds, "GenAI operation duration."),
    firstChunk: create("operation.time_to_first_chunk", "s", seconds, "Time to receive the first chunk."),
    chunk: create("operation.time_per_output_chunk", "s", seconds, "Time per output chunk after the first one."),
    tokens: create("token.usage", "{token}", counts, "Number of input and output tokens used."),
  };
}

function startRequest(
  tracer: Tracer,
  { method, route }: { method: string; route: string },
  headers: Record<string, string>,
) {
  const span = tracer.startSpan(
    `${method} ${route}`,
    {
      kind: SpanKind.SERVER,
      attributes: { "http.request.method": method, "http.route": route, "url.path": route, "url.scheme": "http" },
    },
    readContext(headers),
  );
  return {
    /** What the calls of this request have as their parent. */
    context: writeContext(span),
    /** The answer is whole. `headers` are the answer's: they say how it was routed. */
    end(status: number, headers: Pick<Headers, "get">): void {
      span.setAttribute("http.response.status_code", status);
      for (const name of routingHeaders) {
        const header = name === "request_id" ? "x-request-id" : `x-smart-gateway-${name.replace("_", "-")}`;
        const value = headers.get(header);
        if (value) span.setAttribute(`smart_gateway.${name}`, value);
      }
      // By the conventions, what the caller did wrong is no error of the server.
      if (status >= 500) {
        span.setAttribute("error.type", String(status));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

const routingHeaders = ["request_id", "decision_id", "action", "cause", "kind", "rule", "answered_by"] as const;

type Histograms = ReturnType<typeof createHistograms>;

/** One call to a model: a CLIENT span and its histograms. */
class OpenCall {
  /** What goes out with the call. */
  readonly context: TraceContext;
  readonly #span: Span;
  readonly #histograms: Histograms;
  readonly #attributes: Attributes;
  readonly #startedMs = performance.now();
  #chunkMs: number | undefined;
  #ended = false;

  constructor(tracer: Tracer, histograms: Histograms, start: CallStart, parent: TraceContext | undefined) {
    this.#histograms = histograms;
    this.#attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": start.provider,
      "gen_ai.request.model": start.model,
      "server.address": start.serverAddress,
      "server.port": start.serverPort,
    };
    this.#span = tracer.startSpan(
      `chat ${start.model}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          ...this.#attributes,
          "gen_ai.request.stream": start.stream,
          "gen_ai.request.max_tokens": start.maxTokens,
          "smart_gateway.model": start.modelKey,
        },
      },
      readContext(parent),
    );
    this.context = writeContext(this.#span);
  }

  /** The next chunk of a stream has come. */
  chunk(): void {
    const nowMs = performance.now();
    const { firstChunk, chunk } = this.#histograms;
    const histogram = this.#chunkMs === undefined ? firstChunk : chunk;
    histogram.record((nowMs - (this.#chunkMs ?? this.#startedMs)) / 1_000, this.#attributes);
    this.#chunkMs = nowMs;
  }

  end({ errorType, status, responseModel, responseId, finishReasons, usage }: CallEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    const span = this.#span;
    const attributes: Attributes = {
      ...this.#attributes,
      ...(responseModel === undefined ? {} : { "gen_ai.response.model": responseModel }),
    };
    // What is undefined is left out.
    span.setAttributes({
      ...attributes,
      "gen_ai.response.id": responseId,
      "gen_ai.response.finish_reasons": finishReasons && [...finishReasons],
      "http.response.status_code": status,
      "gen_ai.usage.input_tokens": usage?.input,
      "gen_ai.usage.output_tokens": usage?.output,
      "gen_ai.usage.cache_read.input_tokens": usage?.cachedInput,
      "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWrite,
      "error.type": errorType,
    });
    if (usage !== undefined) {
      this.#histograms.tokens.record(usage.input, { ...attributes, "gen_ai.token.type": "input" });
      this.#histograms.tokens.record(usage.output, { ...attributes, "gen_ai.token.type": "output" });
    }
    if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
    const labels = errorType === undefined ? attributes : { ...attributes, "error.type": errorType };
    this.#histograms.duration.record((performance.now() - this.#startedMs) / 1_000, labels);
  }
}

const propagator = new W3CTraceContextPropagator();

const readContext = (headers: TraceContext | Record<string, string> = {}): Context =>
  propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);

/** The headers that carry a span's context. */
function writeContext(span: Span): TraceContext {
  const headers = { traceparent: "" };
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, defaultTextMapSetter);
  return headers;
}
