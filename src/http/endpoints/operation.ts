import { type Handler, jsonResponse } from "#http/endpoint.ts";
import { errorResponse } from "#http/errors.ts";
import type { ServerOptions } from "#http/server-options.ts";
import type { Ports } from "#pipeline/ports.ts";

/** `GET /livez`: 503 when only a restart helps. */
export function livenessEndpoint({ ledger }: Pick<Ports, "ledger">): Handler {
  return (_request, _, common) =>
    // Only a new process can read what is really on the disk. A lost store is no reason: a restart would begin an empty one.
    ledger.status().failed === "restart_needed"
      ? jsonResponse({ status: "restart_needed" }, common, 503)
      : jsonResponse({ status: "ok" }, common);
}

/** `GET /readyz`: 503 while draining, or while the ledger is not available. */
export function readinessEndpoint({ ledger }: Pick<Ports, "ledger">, isDraining: () => boolean): Handler {
  return (_request, _, common) => {
    const draining = isDraining();
    return draining || !ledger.status().ok
      ? jsonResponse({ status: draining ? "draining" : "unavailable" }, common, 503)
      : jsonResponse({ status: "ok" }, common);
  };
}

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

/** `GET /openapi.json`; the document is made, and what makes it is loaded, at the first request. */
export function openApiEndpoint(): Handler {
  let document: string | undefined;
  return async (_request, _, common) => {
    if (document === undefined) {
      const { openApiDocument } = await import("#http/openapi/document.ts");
      document = JSON.stringify(openApiDocument());
    }
    return new Response(document, { headers: { ...common, "content-type": "application/json" } });
  };
}
