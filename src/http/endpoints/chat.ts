import type { ChatRequest } from "#domain/chat.ts";
import { errorOf } from "#domain/errors.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { MessageCache } from "#http/chat-body/message-cache.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import type { Answer, Handler } from "#http/endpoint.ts";
import type { HttpError } from "#http/errors.ts";
import type { OpenRequest, OpenRequests } from "#http/limits/open-requests.ts";
import { isCompressed, isJsonContentType, plainId } from "#http/request/headers.ts";
import { freeBytes, readBytes } from "#http/request/read-body.ts";
import type { ServerConnection, ServerOptions } from "#http/server-options.ts";
import { SseBody } from "#http/sse/sse-response.ts";
import { wholeBody } from "#http/whole-body.ts";
import { handleChat } from "#pipeline/handle-chat.ts";
import type { DecisionHeaders, Refusal, Reply } from "#pipeline/respond/reply.ts";
import { LightAbortController } from "#platform/abort.ts";

interface ChatEndpoint extends Pick<ServerOptions, "ports" | "settings" | "records" | "traces"> {
  readonly connection: ServerConnection;
  /** What is known of messages of earlier requests. */
  readonly messageCache: MessageCache;
  readonly streams: OpenRequests;
}

/** `POST /v1/chat/completions`, after path, method and authorization have been checked. */
export function chatEndpoint(endpoint: ChatEndpoint): Handler {
  const { settings, connection, ports, messageCache } = endpoint;
  return async (request, { requestId, headers: common, key }) => {
    const { headers } = request;
    const body = await readBytes(request, settings.maxRequestBytes, connection.bodies);
    if ("status" in body) return body;
    try {
      if (!isJsonContentType(headers)) return errorOf("invalid_request.content_type");
      const parsed = parseChatRequest({
        bytes: body.bytes,
        headers,
        requestId,
        receivedAtMs: ports.clock.now(),
        cache: messageCache,
        key,
      });
      if (parsed.kind === "refused") {
        // Most likely it was not understood because it is compressed, where the request says so.
        const error = isCompressed(headers) ? errorOf("invalid_request.compressed") : parsed;
        return { ...error, model: plainId(parsed.model, ports.config().privacy) };
      }
      const trace = endpoint.traces?.contextOf(request);
      const chat = trace === undefined ? parsed.request : { ...parsed.request, trace };
      return await respond(chat, request, common, endpoint, body.bytes);
    } finally {
      connection.bodies.resize(body, 0);
    }
  };
}

/** The answer to a parsed request; a stream is returned when it begins. */
async function respond(
  chat: ChatRequest,
  request: Request,
  common: Record<string, string>,
  endpoint: ChatEndpoint,
  bytes: Uint8Array,
): Promise<Answer> {
  const { streams, connection, ports } = endpoint;
  const caller = new LightAbortController();
  if (request.signal.aborted) caller.abort();
  // It is aborted at most once. The runtime takes 2,000 instructions to read options.
  else request.signal.addEventListener("abort", caller);
  const open = streams.add(caller);
  connection.liftIdleTimeout(request);
  let reply: Reply;
  try {
    reply = await handleChat(chat, ports, caller);
    if (reply.kind !== "stream" || reply.isCalling !== true) freeBytes(bytes);
  } catch (error) {
    close(open, request, endpoint);
    throw error;
  }
  if (reply.kind === "stream") return streamResponse(reply, open, request, common, endpoint);
  close(open, request, endpoint);
  const explained = explanationOf(reply.headers, endpoint);
  if (reply.kind === "refusal") return errorOfRefusal(reply, open.isEnded, explained);
  const headers = addDecisionHeaders(common, reply.headers);
  headers["content-type"] = "application/json";
  const text = explained === undefined ? reply.body : withMember(reply.body, explained);
  return new Response(wholeBody(text), { headers });
}

/** The request is answered: its connection may be idle again. */
function close(open: OpenRequest, request: Request, { streams, connection }: ChatEndpoint): void {
  streams.remove(open);
  connection.restoreIdleTimeout(request);
}

/** The response to a request whose answer is a stream that goes on. */
function streamResponse(
  { stream, headers: decided }: Extract<Reply, { kind: "stream" }>,
  open: OpenRequest,
  request: Request,
  common: Record<string, string>,
  endpoint: ChatEndpoint,
): Response {
  const { clock, timers, config } = endpoint.ports;
  const { keepalive_ms: keepaliveMs, write_stall_ms: writeStallMs } = config().policy.stream;
  const explained = explanationOf(decided, endpoint);
  open.sse = new SseBody(stream, {
    timers,
    clock,
    keepaliveMs: keepaliveMs || Number.POSITIVE_INFINITY,
    writeStallMs,
    comment: explained && commentOf(explained),
    onClose: () => {
      close(open, request, endpoint);
      endpoint.traces?.streamEnded(request);
    },
  });
  const headers = Object.assign(addDecisionHeaders(common, decided), streamHeaders);
  return new Response(open.sse.body, { headers });
}

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

function explanationOf(decided: DecisionHeaders | undefined, { records }: ChatEndpoint): object | undefined {
  const record = decided?.explained?.();
  return record === undefined ? undefined : records.explainNow(record);
}

/** A JSON object's text with one more member. */
function withMember(body: string, explained: object): string {
  return `${body.slice(0, body.lastIndexOf("}"))},"smart_gateway":${JSON.stringify(explained)}}`;
}

/** An explanation as a comment before the first event of a stream. */
function commentOf(explained: object): string {
  return `: smart-gateway ${JSON.stringify(explained)}\n\n`;
}

/** Adds why the request went where it went, for whoever reads headers. Empty where there is nothing to say. */
function addDecisionHeaders(headers: Record<string, string>, decided: DecisionHeaders): Record<string, string> {
  const { decisionId, decision, taskKind, answeredBy, redactions } = decided;
  // A fallback model that answered is shown as the decision's model; a scout's decision keeps naming the scout.
  const model = decision.action === "ROUTE" ? (answeredBy ?? decision.model) : decision.model;
  // One by one: `Object.assign` takes ten times as long.
  headers["x-smart-gateway-decision-id"] = decisionId;
  headers["x-smart-gateway-action"] = decision.action;
  headers["x-smart-gateway-model"] = model ?? "";
  headers["x-smart-gateway-cause"] = decision.cause;
  headers["x-smart-gateway-score"] = String(decision.score);
  headers["x-smart-gateway-kind"] = taskKind;
  headers["x-smart-gateway-rule"] = valuesOf(decision, "hard_rule=").join(", ");
  headers["x-smart-gateway-answered-by"] = answeredBy ?? "";
  headers["x-smart-gateway-redactions"] = String(redactions);
  addInsteadOf(headers, decided);
  return headers;
}

/** Says when another model answers than the one that was chosen: it was not routable, or has failed. */
function addInsteadOf(headers: Record<string, string>, { decision, answeredBy }: DecisionHeaders): void {
  const [replaced] = valuesOf(decision, "replaced=");
  // A scout that was asked for its verdict was never to answer.
  const isOther = answeredBy !== null && answeredBy !== decision.model && decision.action === "ROUTE";
  const failed = isOther ? decision.model : null;
  const asked = replaced ?? failed;
  if (asked !== null) headers["x-smart-gateway-instead-of"] = asked;
}

/** What the evidence has under a key, in the order of the reference. */
function valuesOf({ evidence }: RoutingDecision, key: string): string[] {
  return evidence.filter((entry) => entry.startsWith(key)).map((entry) => entry.slice(key.length));
}

/** @param isEnded by a drain. To the pipeline that is as if the caller had left, which the caller has not. */
function errorOfRefusal(refusal: Refusal, isEnded: boolean, explained: object | undefined): HttpError {
  const { headers: decided, ...error } = refusal;
  const headers = decided === undefined ? {} : addDecisionHeaders({}, decided);
  return { ...(isEnded && error.status === 499 ? errorOf("shutting_down") : error), headers, explained };
}
