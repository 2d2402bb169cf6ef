import type { Handler } from "#http/endpoint.ts";
import { errorResponse } from "#http/errors.ts";
import type { ServerOptions } from "#http/server-options.ts";

/** `GET /metrics`. */
export function metricsEndpoint({ metricsText }: Pick<ServerOptions, "metricsText">): Handler {
  return async (request, _, common) => {
    const metrics = await metricsText();
    if (metrics === undefined) {
      // The figures of one worker alone would look as if every counter had gone down.
      const detail = "The workers of this gateway did not answer in time. Scrape again.";
      return errorResponse({ status: 503, detail, headers: { "retry-after": "1" } }, request, common);
    }
    return new Response(metrics.text, { headers: { ...common, "content-type": metrics.contentType } });
  };
}
