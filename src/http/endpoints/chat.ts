import type { CallerKey } from "#domain/chat.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { AnswerHeaders } from "#http/answer-headers.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import type { PieceCache } from "#http/chat-body/piece-cache.ts";
import type { Problem } from "#http/chat-body/validate.ts";
import type { Handler } from "#http/endpoint.ts";
import { errorResponse, type HttpError } from "#http/errors.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import type { OpenRequest, OpenRequests } from "#http/limits/open-requests.ts";
import { isCompressed, isJsonContentType } from "#http/request/headers.ts";
import { type BodyBytes, freeBytes, readBytes } from "#http/request/read-body.ts";
import type { ServerOptions } from "#http/server-options.ts";
import { openSse } from "#http/sse/sse-response.ts";
import { wholeBody } from "#http/whole-body.ts";
import { handleChat } from "#pipeline/handle-chat.ts";
import type { CallerStream, Head, Refusal, Reply } from "#pipeline/respond/reply.ts";
import { LightAbortController } from "#platform/abort.ts";
import { endsOfTicks } from "#platform/event-loop.ts";

export interface ChatEndpoint extends Pick<ServerOptions, "ports" | "settings" | "records" | "traces"> {
  readonly bodies: BodiesInFlight;
  /** What is known of messages of earlier requests. */
  readonly pieces: PieceCache;
  readonly streams: OpenRequests;
  /** Lifts the idle timeout of the connection: the caller waits for its answer. */
  readonly liftIdleTimeout: (request: Request) => void;
  /** Restores it before the last part of the answer is sent; afterwards the runtime no longer knows the request. */
  readonly restoreIdleTimeout: (request: Request) => void;
}

/** Of whole answers, and of streams. */
const wholeAnswerHeaders = new AnswerHeaders();
const streamAnswerHeaders = new AnswerHeaders();
/** Resolves at the end of this tick of the event loop, for all waiting requests together. */
const endOfTick = endsOfTicks();

/** `POST /v1/chat/completions`, after path, method and authorization have been checked. */
export function chatEndpoint(endpoint: ChatEndpoint): Handler {
  const { settings, bodies } = endpoint;
  return async (request, requestId, common, key) => {
    const body = await readBytes(request, settings.maxRequestBytes, bodies);
    if (body.kind === "refused") return errorResponse(body.error, request, common);
    try {
      return await respond(request, requestId, common, endpoint, body, key);
    } finally {
      body.held.release();
    }
  };
}

const notJson: HttpError = {
  status: 400,
  detail: "Content-Type must be application/json.",
  code: "invalid_request",
};

const compressed: HttpError = {
  status: 400,
  detail: "The body is compressed (Content-Encoding), which is not supported. Send it as it is.",
  code: "invalid_request",
};

/** The error of a body that was not understood, most likely because it is compressed where the request says so. */
function errorOfBody({ status, detail, param }: Problem, headers: Headers): HttpError {
  if (isCompressed(headers)) return compressed;
  return { status, detail, code: "invalid_request", ...(param === undefined ? {} : { param }) };
}

/** The response to a request whose body is read; a stream is returned when it begins. */
async function respond(
  request: Request,
  requestId: string,
  common: Record<string, string>,
  endpoint: ChatEndpoint,
  body: BodyBytes,
  key: CallerKey | undefined,
): Promise<Response> {
  const { ports, settings } = endpoint;
  // Requests of one tick go through the pipeline together, which is faster; a single one does not wait.
  if (endpoint.streams.count > 0) await endOfTick();
  if (!isJsonContentType(request.headers)) return errorResponse(notJson, request, common);

  const parsed = parseChatRequest({
    bytes: body.bytes,
    maxValues: settings.maxRequestValues,
    headers: request.headers,
    requestId,
    receivedAtMs: ports.clock.now(),
    cache: endpoint.pieces,
    key,
  });
  if (parsed.kind === "refused") return errorResponse(errorOfBody(parsed, request.headers), request, common);

  const caller = new LightAbortController();
  if (request.signal.aborted) caller.abort();
  // It is aborted at most once. The runtime takes 2,000 instructions to read options.
  else request.signal.addEventListener("abort", caller);
  const open = endpoint.streams.add(caller);
  endpoint.liftIdleTimeout(request);
  let reply: Reply;
  try {
    const trace = endpoint.traces?.contextOf(request);
    const received = trace === undefined ? parsed.request : { ...parsed.request, trace };
    reply = await handleChat(received, ports, caller);
    if (reply.kind !== "stream" || reply.isCalling !== true) freeBytes(body);
  } catch (error) {
    close(open, request, endpoint);
    throw error;
  }
  if (reply.kind === "refusal") {
    close(open, request, endpoint);
    const explained = explanationOf(reply.head, endpoint);
    const error = open.isEnded ? endedError(reply) : errorOf(reply);
    return errorResponse(explained === undefined ? error : { ...error, explained }, request, common);
  }
  const headers = addHeadHeaders(common, reply.head);
  if (reply.kind !== "stream") {
    // Answers of one tick are sent together, which is faster.
    if (endpoint.streams.count > 1) await endOfTick();
    close(open, request, endpoint);
    if (reply.kind === "whole_stream") endpoint.traces?.streamEnded(request);
    return wholeResponse(reply, headers, endpoint);
  }
  return streamResponse(reply, headers, open, request, endpoint);
}

/** The request is answered: its connection may be idle again. */
function close(open: OpenRequest, request: Request, endpoint: ChatEndpoint): void {
  open.close();
  endpoint.restoreIdleTimeout(request);
}

/** The response to a request whose answer is a stream that goes on. */
function streamResponse(
  reply: Extract<Reply, { kind: "stream" }>,
  headers: Record<string, string>,
  open: OpenRequest,
  request: Request,
  endpoint: ChatEndpoint,
): Response {
  const { ports } = endpoint;
  const { stream: rules } = ports.config().policy;
  const explained = explanationOf(reply.head, endpoint);
  const sse = openSse(explained === undefined ? reply.stream : withComment(reply.stream, explained), {
    timers: ports.timers,
    clock: ports.clock,
    keepaliveMs: rules.keepalive_ms || Number.POSITIVE_INFINITY,
    writeStallMs: rules.write_stall_ms,
    onClose: () => {
      close(open, request, endpoint);
      endpoint.traces?.streamEnded(request);
    },
  });
  open.attachStream(sse);
  return new Response(sse.body, { headers: streamAnswerHeaders.of(Object.assign(headers, streamHeaders)) });
}

/** The response to a request whose answer, or stream, has come to its end. */
function wholeResponse(
  reply: Extract<Reply, { body: unknown }>,
  headers: Record<string, string>,
  endpoint: ChatEndpoint,
): Response {
  const explained = explanationOf(reply.head, endpoint);
  if (reply.kind === "whole_stream") {
    const text = explained === undefined ? reply.body : commentOf(explained) + reply.body;
    return new Response(wholeBody(text), {
      headers: streamAnswerHeaders.of(Object.assign(headers, streamHeaders)),
    });
  }
  headers["content-type"] = "application/json";
  const text = explained === undefined ? reply.body : withMember(reply.body, explained);
  return new Response(wholeBody(text), { headers: wholeAnswerHeaders.of(headers) });
}

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

function explanationOf(head: Head | undefined, { records }: ChatEndpoint): object | undefined {
  const record = head?.explained?.();
  return record === undefined ? undefined : records.explainNow(record);
}

const CLOSE_BRACE = 0x7d;

/** A JSON object's text with one more member. */
function withMember(body: string | Uint8Array, explained: object): string | Uint8Array {
  const member = `,"smart_gateway":${JSON.stringify(explained)}}`;
  if (typeof body === "string") return body.slice(0, body.lastIndexOf("}")) + member;
  return Buffer.concat([body.subarray(0, body.lastIndexOf(CLOSE_BRACE)), Buffer.from(member)]);
}

/** An explanation as a comment before the first event of a stream. */
function commentOf(explained: object): string {
  return `: smart-gateway ${JSON.stringify(explained)}\n\n`;
}

function withComment(stream: CallerStream, explained: object): CallerStream {
  let comment = commentOf(explained);
  return {
    read(receiver) {
      const text = comment;
      comment = "";
      if (text === "") stream.read(receiver);
      else receiver.onValue(text);
    },
    cancel: () => stream.cancel(),
    breakOff: (failure) => stream.breakOff(failure),
  };
}

/** Adds why the request went where it went, for whoever reads headers. Empty where there is nothing to say. */
function addHeadHeaders(headers: Record<string, string>, head: Head): Record<string, string> {
  const { decisionId, decision, taskKind, answeredBy, redactions } = head;
  // A fallback model that answered is shown as the decision's model; a scout's decision keeps naming the scout.
  const model = decision.action === "ROUTE" ? (answeredBy ?? decision.model) : decision.model;
  // One by one: `Object.assign` takes ten times as long.
  headers["x-smart-gateway-decision-id"] = decisionId;
  headers["x-smart-gateway-action"] = decision.action;
  headers["x-smart-gateway-model"] = model ?? "";
  headers["x-smart-gateway-cause"] = decision.cause;
  headers["x-smart-gateway-score"] = String(decision.score);
  headers["x-smart-gateway-kind"] = taskKind;
  headers["x-smart-gateway-rule"] = hardRulesIn(decision);
  headers["x-smart-gateway-answered-by"] = answeredBy ?? "";
  headers["x-smart-gateway-redactions"] = String(redactions);
  if (decision.cause === "explicit_free") addInsteadOf(headers, head);
  return headers;
}

/** Says when a paid model answers in the place of the free one that was asked for. */
function addInsteadOf(headers: Record<string, string>, { decision, answeredBy }: Head): void {
  const replaced = decision.evidence.find((entry) => entry.startsWith("replaced="))?.slice("replaced=".length);
  const failed = answeredBy !== null && answeredBy !== decision.model ? decision.model : null;
  const asked = replaced ?? failed;
  if (asked !== null) headers["x-smart-gateway-instead-of"] = asked;
}

/** The names of the hard rules that have fired, in the order of the reference; "" when none has. */
function hardRulesIn({ evidence }: RoutingDecision): string {
  let names = "";
  for (const entry of evidence) {
    if (!entry.startsWith(hardRuleKey)) continue;
    const name = entry.slice(hardRuleKey.length);
    names = names === "" ? name : `${names}, ${name}`;
  }
  return names;
}

const hardRuleKey = "hard_rule=";

/** The error of a request that a drain has ended. To the pipeline that is as if the caller had left, which the caller has not. */
function endedError(refusal: Refusal): HttpError {
  const error = errorOf(refusal);
  if (refusal.status !== 499) return error;
  const headers = { ...(refusal.head === undefined ? {} : addHeadHeaders({}, refusal.head)), "retry-after": "1" };
  return {
    status: 503,
    detail: "The gateway is shutting down. Send the request again.",
    code: "shutting_down",
    headers,
  };
}

function errorOf(refusal: Refusal): HttpError {
  const { status, detail, code, param, retryAfterS, shouldRetry, head } = refusal;
  return {
    status,
    detail,
    code,
    ...(param === undefined ? {} : { param }),
    headers: {
      ...(head === undefined ? {} : addHeadHeaders({}, head)),
      ...(retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) }),
      ...(shouldRetry ? {} : { "x-should-retry": "false" }),
    },
  };
}
