import {
  type Attributes,
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { TraceContext } from "#domain/trace-context.ts";
import { type CallMetrics, callMetrics } from "./call-metrics.ts";
import type { CallEnd, CallSpan, CallStart, RequestSpan, RequestStart, Tracing } from "./tracing.ts";

/**
 * The only file that imports OpenTelemetry, and it is imported only where OTEL_* asks for it. Its libraries read the rest of
 * OTEL_* themselves: endpoint, headers, compression, certificates, resource, sampler, limits, batches. Contexts are handed
 * over explicitly: automatic instrumentation does not work on this runtime.
 */
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

export function openTelemetry(options: TracingOptions): Tracing {
  const { version, traces, metrics, onProblem } = options;
  // Only that something failed is passed on: messages of the libraries quote URLs and answers.
  const silent = () => undefined;
  diag.setLogger(
    { error: onProblem, warn: silent, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
  );
  const resource = resourceOf(options);
  const tracers = new BasicTracerProvider({
    resource,
    spanProcessors: traces ? [new BatchSpanProcessor(new OTLPTraceExporter())] : [],
  });
  const meters = new MeterProvider({ resource, readers: metrics ? [readerOf(options)] : [] });
  const tracer = tracers.getTracer(scope, version);
  const observed = callMetrics(meters.getMeter(scope, version));
  return {
    startRequest: (start, parent) => startRequest(tracer, start, parent),
    startCall: (start, parent) => new OpenCall(tracer, observed, start, parent),
    async close() {
      // A collector that is unavailable must not fail the end of the process.
      await Promise.allSettled([tracers.shutdown(), meters.shutdown()]);
    },
  };
}

function resourceOf({ version, nodeId }: TracingOptions): Resource {
  const own = resourceFromAttributes({
    "service.name": "smart-gateway",
    "service.version": version,
    "service.instance.id": nodeId,
  });
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
  return own.merge(detectResources({ detectors: [envDetector] }));
}

function readerOf({ metricIntervalMs }: TracingOptions): PeriodicExportingMetricReader {
  return new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: metricIntervalMs,
    exportTimeoutMillis: Math.min(metricIntervalMs, 30_000),
  });
}

function startRequest(tracer: Tracer, start: RequestStart, parent: TraceContext | undefined): RequestSpan {
  const { method, route } = start;
  const span = tracer.startSpan(
    `${method} ${route}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        "http.request.method": method,
        "http.route": route,
        "url.path": route,
        "url.scheme": "http",
      },
    },
    contextOf(parent),
  );
  return {
    context: headersOf(span),
    end(status, headers) {
      span.setAttribute("http.response.status_code", status);
      for (const [attribute, header] of routingHeaders) {
        const value = headers.get(header);
        if (value !== null && value !== "") span.setAttribute(attribute, value);
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

const routingHeaders = [
  ["smart_gateway.request_id", "x-request-id"],
  ["smart_gateway.decision_id", "x-smart-gateway-decision-id"],
  ["smart_gateway.action", "x-smart-gateway-action"],
  ["smart_gateway.cause", "x-smart-gateway-cause"],
  ["smart_gateway.kind", "x-smart-gateway-kind"],
  ["smart_gateway.rule", "x-smart-gateway-rule"],
  ["smart_gateway.answered_by", "x-smart-gateway-answered-by"],
] as const;

/** One call to a model: a CLIENT span and its histograms. */
class OpenCall implements CallSpan {
  readonly context: TraceContext;
  readonly #span: Span;
  readonly #metrics: CallMetrics;
  readonly #attributes: Attributes;
  readonly #startedMs = performance.now();
  #chunkMs: number | undefined;
  #ended = false;

  constructor(tracer: Tracer, metrics: CallMetrics, start: CallStart, parent: TraceContext | undefined) {
    this.#metrics = metrics;
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
          ...(start.maxTokens === undefined ? {} : { "gen_ai.request.max_tokens": start.maxTokens }),
          "smart_gateway.model": start.modelKey,
        },
      },
      contextOf(parent),
    );
    this.context = headersOf(this.#span);
  }

  chunk(): void {
    const nowMs = performance.now();
    if (this.#chunkMs === undefined) this.#metrics.firstChunk((nowMs - this.#startedMs) / 1_000, this.#attributes);
    else this.#metrics.chunk((nowMs - this.#chunkMs) / 1_000, this.#attributes);
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
    span.setAttributes({
      ...attributes,
      ...(responseId === undefined ? {} : { "gen_ai.response.id": responseId }),
      ...(finishReasons === undefined ? {} : { "gen_ai.response.finish_reasons": [...finishReasons] }),
      ...(status === undefined ? {} : { "http.response.status_code": status }),
    });
    if (usage !== undefined) {
      span.setAttributes({
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cachedInput,
        ...(usage.cacheWrite === undefined ? {} : { "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite }),
      });
      this.#metrics.tokens(usage.input, "input", attributes);
      this.#metrics.tokens(usage.output, "output", attributes);
    }
    if (errorType !== undefined) {
      span.setAttribute("error.type", errorType);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
    const seconds = (performance.now() - this.#startedMs) / 1_000;
    this.#metrics.duration(seconds, errorType === undefined ? attributes : { ...attributes, "error.type": errorType });
  }
}

function contextOf(parent: TraceContext | undefined): Context {
  const match = parent === undefined ? null : traceparent.exec(parent.traceparent);
  if (parent === undefined || match === null) return ROOT_CONTEXT;
  const { tracestate } = parent;
  const spanContext = {
    traceId: match[2] ?? "",
    spanId: match[3] ?? "",
    traceFlags: Number.parseInt(match[4] ?? "0", 16) & 1,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}

/** Version 00, and later ones as far as they begin like it; `ff` is none. */
const traceparent = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

function headersOf(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const state = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${(traceFlags & 1) === 1 ? "01" : "00"}`,
    ...(state === undefined || state === "" ? {} : { tracestate: state }),
  };
}
