import { errorOf } from "#domain/errors.ts";
import { maxRequestValues } from "#http/chat-body/received-json.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { parseDecisionRequest } from "#http/request/decision-request.ts";
import { isJsonContentType } from "#http/request/headers.ts";
import { readBytes, unprocessable } from "#http/request/read-body.ts";
import type { ServerOptions } from "#http/server-options.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";

/** `POST /v1/route/decision`, the dry run: decides, calls no model, reserves nothing. */
export function routeDecisionEndpoint({ ports, settings, onDryRun }: ServerOptions, bodies: BodiesInFlight): Handler {
  return async (request, { headers: common }) => {
    const body = await readBytes(request, settings.maxRequestBytes, bodies);
    if ("status" in body) return body;
    try {
      if (!isJsonContentType(request.headers)) return unprocessable(errorOf("invalid_request.content_type"));
      const configuration = ports.config();
      const { privacy } = configuration;
      const parsed = await parseDecisionRequest(body.bytes, maxRequestValues, privacy);
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
