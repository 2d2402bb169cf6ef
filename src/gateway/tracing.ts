import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { RequestTraces } from "#http/server-options.ts";
import { operatorText } from "#telemetry/log/log.ts";
import type { CallEnd, CallSpan, RequestSpan, Tracing } from "#telemetry/tracing/open-telemetry.ts";
import type { EventBatch, EventStream, Upstream, UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** A problem of the collector is logged at most once in this time. */
const problemEveryMs = 600_000;

/** The traces that OTEL_* asks for; undefined where it asks for none, and then nothing of OpenTelemetry is loaded. */
export async function openTracing(context: GatewayContext): Promise<Tracing | undefined> {
  const { settings, version, time, log, closing } = context;
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

/** A span for each request below `/v1/`. A request whose answer streams ends when its stream does. */
export function tracedRequests(tracing: Tracing): RequestTraces {
  const open = new WeakMap<Request, { readonly span: RequestSpan; readonly stream: PromiseWithResolvers<void> }>();
  return {
    started(request, route) {
      const span = tracing.startRequest({ method: request.method, route }, request.headers.toJSON());
      open.set(request, { span, stream: Promise.withResolvers<void>() });
    },
    contextOf: (request) => open.get(request)?.span.context,
    answered(request, { status, headers }) {
      const streams = headers.get("content-type")?.startsWith("text/event-stream") === true;
      const { span, stream } = open.get(request) ?? {};
      if (!streams) span?.end(status, headers);
      else void stream?.promise.then(() => span?.end(status, headers));
    },
    // A short stream may end before its head is handed over.
    streamEnded: (request) => open.get(request)?.stream.resolve(),
  };
}

/** The upstream with a span for each call, where there is tracing; its context goes out with the call. */
export function tracedUpstream(
  upstream: Upstream,
  tracing: Tracing | undefined,
  baseUrl: string,
  { configuration }: GatewayContext,
): Upstream {
  if (tracing === undefined) return upstream;
  const { hostname, port, protocol } = new URL(baseUrl);
  const server = {
    serverAddress: hostname,
    serverPort: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    // Any other server is at least OpenAI-compatible.
    provider: hostname === "openrouter.ai" || hostname.endsWith(".openrouter.ai") ? "openrouter" : "openai",
  };
  return {
    async send(call, signal) {
      const { model, body, stream } = call;
      const maxTokens = body["max_completion_tokens"] ?? body["max_tokens"];
      const start = { ...server, model: model.upstreamId, modelKey: model.key, stream };
      const started = tracing.startCall(typeof maxTokens === "number" ? { ...start, maxTokens } : start, call.trace);
      const span = {
        chunk: () => started.chunk(),
        end(end: CallEnd) {
          // The upstream has chosen the name.
          const { text } = configuration.current().privacy.redactText(end.responseModel ?? "");
          started.end(text === "" ? end : { ...end, responseModel: text });
        },
      };
      const reply = await upstream.send({ ...call, trace: started.context }, signal);
      if (reply.kind === "stream") return { ...reply, events: tracedEvents(reply.events, span) };
      span.end({
        ...(reply.kind === "answer" ? namesIn(reply.answer) : failureIn(reply.failure)),
        ...usageIn(reply.report),
      });
      return reply;
    },
  };
}

/** The same events; the span ends with them, or where they are stopped. */
function tracedEvents(events: EventStream, span: Pick<CallSpan, "chunk" | "end">): EventStream {
  let names: CallEnd = {};
  let ended = false;
  const end = (how: CallEnd) => {
    ended = true;
    span.end({ ...names, ...how });
  };
  const note = (batch: EventBatch): EventBatch => {
    for (const event of batch) {
      if (event.kind === "chunk") {
        span.chunk();
        names = { ...names, ...namesIn(event.chunk) };
      } else if (event.kind === "run") {
        // Chunks like others before them have neither names nor finish reasons of their own.
        for (const _ of event.contentEnds) span.chunk();
      } else {
        const failure = event.kind === "broken" ? failureIn(event.failure) : {};
        end({ ...failure, ...usageIn(event.report) });
      }
    }
    return batch;
  };
  return {
    stop() {
      const seen = events.stop();
      if (!ended) end({ errorType: "aborted", ...usageIn(seen.report) });
      return seen;
    },
    read: (receiver) =>
      events.read({
        onValue: (batch) => receiver.onValue(note(batch)),
        onEnd: () => receiver.onEnd(),
        onError: (error) => receiver.onError(error),
      }),
  };
}

/** Id, model and finish reasons of an answer or a chunk; never its text. */
function namesIn({ model, id, choices }: JsonObject): CallEnd {
  const reasons = Array.isArray(choices) ? choices.map((choice) => isObject(choice) && choice["finish_reason"]) : [];
  const finishReasons = reasons.map((reason) => nameIn(reason, 40)).filter((reason) => reason !== undefined);
  const [responseModel, responseId] = [nameIn(model, 200), nameIn(id, 200)];
  return {
    ...(responseModel === undefined ? {} : { responseModel }),
    ...(responseId === undefined ? {} : { responseId }),
    ...(finishReasons.length === 0 ? {} : { finishReasons }),
  };
}

/** A name that the upstream has sent. What looks otherwise may be text, and no text leaves in a trace. */
function nameIn(value: Json | undefined, longest: number): string | undefined {
  return typeof value === "string" && value.length <= longest && /^[\w.:@/+~-]+$/.test(value) ? value : undefined;
}

function failureIn({ kind, status }: UpstreamFailure): CallEnd {
  return { errorType: kind, ...(status === undefined ? {} : { status }) };
}

function usageIn(report: UsageReport | undefined): CallEnd {
  return report?.usage === undefined ? {} : { usage: report.usage };
}
