import { isObject } from "#domain/chat.ts";
import { type CallerError, errorOf } from "#domain/errors.ts";
import { inputBoundOf } from "#domain/money/tokens.ts";
import { DecisionRequest, type RoutingTask, type RuntimeState } from "#domain/routing.ts";
import { receiveJson } from "#http/chat-body/received-json.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { bodyError } from "#http/request/body-problems.ts";
import { isJsonContentType } from "#http/request/headers.ts";
import { readBytes, unprocessable } from "#http/request/read-body.ts";
import type { ServerOptions } from "#http/server-options.ts";
import { asksForHighReasoning } from "#pipeline/assess/conversation/user-message.ts";
import { decide } from "#pipeline/decide/decide.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";
import type { PrivacyEngine } from "#privacy/redaction.ts";

/** `POST /v1/route/decision`, the dry run: decides, calls no model, reserves nothing. */
export function routeDecisionEndpoint({ ports, settings, onDryRun }: ServerOptions, bodies: BodiesInFlight): Handler {
  return async (request, { headers: common }) => {
    const body = await readBytes(request, settings.maxRequestBytes, bodies);
    if ("status" in body) return body;
    try {
      if (!isJsonContentType(request.headers)) return unprocessable(errorOf("invalid_request.content_type"));
      const configuration = ports.config();
      const { privacy } = configuration;
      const parsed = await parseDecisionRequest(body.bytes, privacy);
      if ("status" in parsed) return parsed;
      const startedMs = ports.clock.monotonic();
      const snapshot = takeSnapshot(configuration, ports.health.view(), parsed.size);
      const decision = decide(parsed.task, parsed.runtime, snapshot);
      onDryRun(decision, ports.clock.monotonic() - startedMs);
      return jsonResponse(decision, common);
    } finally {
      bodies.resize(body, 0);
    }
  };
}

export interface ParsedDecisionRequest {
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  /** The size of a chat request with the instruction as its one message. */
  readonly size: RequestSize;
}

/**
 * The body of `POST /v1/route/decision`: `{task, runtime?}`. Unknown keys are ignored, `null` counts as absent. The
 * instruction is read as a chat request's newest user message would be: `[reasoning:high]` in it asks for high
 * reasoning, and a credential in it makes the task sensitive.
 */
export async function parseDecisionRequest(
  bytes: Uint8Array,
  privacy: Pick<PrivacyEngine, "redactLargeBody">,
): Promise<ParsedDecisionRequest | CallerError> {
  const json = receiveJson(bytes, undefined);
  if ("status" in json) return json.status === 400 ? unprocessable(json) : json;
  const body = json.value;
  if (json.isInfinite) return errorOf("invalid_request.number", { param: "The body" });
  if (!isObject(body))
    return unprocessable(errorOf("invalid_request.no_object", { of: " with `task` and, if there is one, `runtime`" }));
  const given = withoutNulls({ task: withoutNulls(body["task"]), runtime: withoutNulls(body["runtime"]) });
  const parsed = DecisionRequest.safeParse(given);
  if (!parsed.success) return bodyError(parsed.error, given);
  const { task, runtime } = parsed.data;
  if (asksForHighReasoning(task.instruction)) task.reasoning = "HIGH";
  // What holds a credential is sensitive, whatever it says of itself.
  task.sensitive ||= await holdsCredential(task.instruction, privacy);
  return { task, runtime, size: sizeOf(task.instruction) };
}

async function holdsCredential(content: string, privacy: Pick<PrivacyEngine, "redactLargeBody">): Promise<boolean> {
  try {
    return (await privacy.redactLargeBody({ messages: [{ role: "user", content }] })).total > 0;
  } catch {
    return true; // the error might quote the text, and the gate fails closed
  }
}

const bytesPerToken = 4;

function sizeOf(instruction: string): RequestSize {
  return {
    inputTokensBound: inputBoundOf({ messages: [{ role: "user", content: instruction }] }),
    inputTokensEstimate: Math.ceil(Buffer.byteLength(instruction, "utf8") / bytesPerToken),
    requestedOutputTokens: null,
    choices: 1,
  };
}

function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}
