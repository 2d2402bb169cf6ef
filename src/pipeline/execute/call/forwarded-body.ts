import { type ChatRequest, gatewayMetadataKeys, isObject, type JsonObject } from "#domain/chat.ts";
import { withOriginalNumbers } from "#domain/long-integers.ts";
import type { Model } from "#domain/model.ts";
import { type PriceLimit, withPriceLimit } from "./price-limit.ts";

/**
 * The body to post upstream: the redacted request with the upstream's model id, without the gateway's own metadata keys,
 * with usage asked for, and bounded in output when the caller set no bound above 0. Everything else, the order of
 * keys too, is the caller's. `redactedBody` is not changed.
 */
export function forwardedBody(
  request: ChatRequest,
  redactedBody: JsonObject,
  model: Model,
  outputBound: number,
  priceLimit?: PriceLimit,
): JsonObject {
  // A spread, because assigning key by key would take a key named `__proto__` for the prototype.
  const body: JsonObject = { ...redactedBody, model: model.upstreamId };
  const metadata = withoutGatewayKeys(body["metadata"]);
  if (metadata === "empty") delete body["metadata"];
  else if (metadata !== "unchanged") body["metadata"] = metadata;
  if (request.stream) {
    const options = body["stream_options"];
    body["stream_options"] = { ...(isObject(options) ? options : {}), include_usage: true };
  }
  const usage = body["usage"];
  // What a call has cost is asked for, also where the caller does not want to know.
  if (usage != null) body["usage"] = { ...(isObject(usage) ? usage : {}), include: true };
  // A limit of 0 is none to many servers: what goes out is what money is held for.
  if (body["max_completion_tokens"] === 0) delete body["max_completion_tokens"];
  if (request.requestedOutputTokens === null) body["max_tokens"] = outputBound;
  else if (body["max_tokens"] === 0) body["max_tokens"] = request.requestedOutputTokens;
  // The limit comes after the spelling, which would put a caller's own number back in its place.
  const spelled = request.spelled === undefined ? body : withOriginalNumbers(body, request.spelled);
  return withPriceLimit(spelled, body["provider"], priceLimit);
}

function withoutGatewayKeys(metadata: unknown): JsonObject | "unchanged" | "empty" {
  if (!isObject(metadata)) return "unchanged";
  const kept = Object.entries(metadata).filter(([key]) => !gatewayMetadataKeys.has(key));
  if (kept.length === Object.keys(metadata).length) return "unchanged";
  return kept.length === 0 ? "empty" : Object.fromEntries(kept);
}
