import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { CallEnd, CallSpan, Tracing } from "#telemetry/tracing/open-telemetry.ts";
import type {
  EventBatch,
  EventStream,
  Upstream,
  UpstreamCall,
  UpstreamFailure,
  UsageReport,
} from "#upstream/upstream.ts";

/**
 * The upstream with a span for each call; its context goes out with the call. Only where there is tracing.
 * @param redact of names that the upstream gives to its models
 */
export function tracedUpstream(
  upstream: Upstream,
  tracing: Tracing,
  baseUrl: string,
  redact: (name: string) => string,
): Upstream {
  const { hostname, port, protocol } = new URL(baseUrl);
  const server = {
    serverAddress: hostname,
    serverPort: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
    // Any other server is at least OpenAI-compatible.
    provider: hostname === "openrouter.ai" || hostname.endsWith(".openrouter.ai") ? "openrouter" : "openai",
  };
  return {
    async send(call, signal) {
      const started = tracing.startCall({ ...server, ...startOf(call) }, call.trace);
      const span: CallSpan = {
        context: started.context,
        chunk: () => started.chunk(),
        end: ({ responseModel: name, ...end }) =>
          started.end(name === undefined ? end : { ...end, responseModel: redact(name) }),
      };
      const reply = await upstream.send({ ...call, trace: span.context }, signal);
      switch (reply.kind) {
        case "answer":
          span.end({ ...answerOf(reply.answer), ...usageOf(reply.report) });
          return reply;
        case "failure":
          span.end({ ...failureOf(reply.failure), ...usageOf(reply.report) });
          return reply;
        case "stream":
          return { ...reply, events: tracedEvents(reply.events, span) };
      }
    },
  };
}

function startOf({ model, body, stream }: UpstreamCall) {
  const maxTokens = body["max_completion_tokens"] ?? body["max_tokens"];
  return {
    model: model.upstreamId,
    modelKey: model.key,
    stream,
    ...(typeof maxTokens === "number" ? { maxTokens } : {}),
  };
}

/** The same events; the span ends with them. They are read to the end even if the caller leaves. */
function tracedEvents(events: EventStream, span: CallSpan): EventStream {
  let seen: CallEnd = {};
  const note = (batch: EventBatch): void => {
    for (const event of batch) {
      if (event.kind === "chunk") {
        span.chunk();
        seen = { ...seen, ...answerOf(event.chunk) };
      } else if (event.kind === "run") {
        // Chunks like others before them have neither names nor finish reasons of their own.
        for (const _ of event.contentEnds) span.chunk();
      } else if (event.kind === "end") span.end({ ...seen, ...usageOf(event.report) });
      else span.end({ ...seen, ...failureOf(event.failure), ...usageOf(event.report) });
    }
  };
  return {
    takeAll() {
      const batch = events.takeAll();
      if (batch !== undefined) note(batch);
      return batch;
    },
    read: (receiver) =>
      events.read({
        onValue(batch) {
          note(batch);
          receiver.onValue(batch);
        },
        onEnd: () => receiver.onEnd(),
        onError: (error) => receiver.onError(error),
      }),
  };
}

/** Id, model and finish reason of an answer or a chunk; never its text. */
function answerOf(answer: JsonObject): CallEnd {
  const { model, id, choices } = answer;
  const reasons = Array.isArray(choices)
    ? choices.flatMap((choice) => (isObject(choice) ? [choice["finish_reason"]] : []))
    : [];
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

function failureOf({ kind, status }: UpstreamFailure): CallEnd {
  return { errorType: kind, ...(status === undefined ? {} : { status }) };
}

function usageOf(report: UsageReport | undefined): CallEnd {
  return report?.usage === undefined ? {} : { usage: report.usage };
}
