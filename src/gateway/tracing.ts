import type { RequestTraces } from "#http/server-options.ts";
import { operatorText } from "#telemetry/log/log.ts";
import type { RequestSpan, Tracing } from "#telemetry/tracing/open-telemetry.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** A problem of the collector is logged at most once in this time. */
const problemEveryMs = 600_000;

/** The traces that OTEL_* asks for; undefined where it asks for none, and then nothing of OpenTelemetry is loaded. */
export async function openTracing(
  { settings, time, log, closing }: GatewayContext,
  version: string,
): Promise<Tracing | undefined> {
  const { openTelemetry: wanted, nodeId } = settings;
  if (wanted === undefined) return undefined;
  const { openTelemetry } = await import("#telemetry/tracing/open-telemetry.ts");
  let saidMs = Number.NEGATIVE_INFINITY;
  const onProblem = () => {
    if (time.clock.monotonic() - saidMs < problemEveryMs) return;
    saidMs = time.clock.monotonic();
    log("telemetry_export_failed", { detail: operatorText("the collector did not take traces or metrics") });
  };
  const tracing = openTelemetry({ version, nodeId, ...wanted, onProblem });
  closing.addWithTimeout(() => tracing.close());
  return tracing;
}

interface OpenRequest {
  readonly span: RequestSpan;
  /** The head of a stream that goes on. */
  response?: Response;
  streamOver: boolean;
}

/** A span for each request below `/v1/`. A request whose answer streams ends when its stream does. */
export function tracedRequests(tracing: Tracing): RequestTraces {
  const open = new WeakMap<Request, OpenRequest>();
  const end = (request: Request, { span }: OpenRequest, { status, headers }: Response) => {
    span.end(status, headers);
    open.delete(request);
  };
  return {
    started(request, route) {
      const traceparent = request.headers.get("traceparent");
      const tracestate = request.headers.get("tracestate");
      const parent =
        traceparent === null
          ? undefined
          : { traceparent, ...(tracestate === null ? {} : { tracestate: tracestate.slice(0, 512) }) };
      open.set(request, { span: tracing.startRequest({ method: request.method, route }, parent), streamOver: false });
    },
    contextOf: (request) => open.get(request)?.span.context,
    answered(request, response) {
      const entry = open.get(request);
      if (entry === undefined) return;
      if (!isStream(response) || entry.streamOver) end(request, entry, response);
      else entry.response = response;
    },
    streamEnded(request) {
      const entry = open.get(request);
      if (entry === undefined) return;
      // A short stream may end before its head is handed over.
      if (entry.response === undefined) entry.streamOver = true;
      else end(request, entry, entry.response);
    },
  };
}

function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}
