import { errorOf } from "#domain/errors.ts";
import { type EndpointTable, type Handler, jsonResponse } from "#http/endpoint.ts";
import type { OpenRequests } from "#http/limits/open-requests.ts";
import type { ServerOptions } from "#http/server-options.ts";
import type { Ports } from "#pipeline/ports.ts";

/** `GET /`: leads a browser to the dashboard, and names the routes to everybody else. */
export function rootEndpoint(table: () => EndpointTable): Handler {
  return (request, { headers: common }) => {
    if (/\btext\/html\b/i.test(request.headers.get("accept") ?? ""))
      return new Response(null, { status: 302, headers: { ...common, location: "/dashboard" } });
    const routes = Object.entries(table()).map(([path, { method }]) => `${method} ${path}`);
    return jsonResponse({ service: "Smart Gateway", routes: [...routes, "GET /dashboard"] }, common);
  };
}

/** `GET /livez`: 503 when only a restart helps. */
export function livenessEndpoint({ ledger }: Pick<Ports, "ledger">): Handler {
  return (_, { headers: common }) => {
    // Only a new process can read what is on the disk. A lost store is no reason: a restart would begin an empty one.
    const isFailed = ledger.status().failed === "restart_needed";
    return jsonResponse({ status: isFailed ? "restart_needed" : "ok" }, common, isFailed ? 503 : 200);
  };
}

/** `GET /readyz`: 503 while draining, with what that waits for, or while the ledger is not available. */
export function readinessEndpoint(
  { ledger }: Pick<Ports, "ledger">,
  state: { readonly isDraining: boolean; readonly streams: OpenRequests },
): Handler {
  return (_, { headers: common }) => {
    if (state.isDraining) {
      const { count, streaming } = state.streams;
      return jsonResponse({ status: "draining", requests_in_flight: count, streams: streaming }, common, 503);
    }
    const { ok } = ledger.status();
    return jsonResponse({ status: ok ? "ok" : "unavailable" }, common, ok ? 200 : 503);
  };
}

/** `GET /metrics`. */
export function metricsEndpoint(sources: Pick<ServerOptions, "metricsText" | "workers">): Handler {
  return async (_, { headers: common }) => {
    const text = await (sources.workers ?? sources).metricsText();
    // The figures of one worker alone would look as if every counter had gone down.
    if (text === undefined) return errorOf("metrics_unavailable");
    return new Response(text, { headers: { ...common, "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
  };
}

/** `GET /openapi.json`; the document is made, and what makes it is loaded, at the first request. */
export function openApiEndpoint(): Handler {
  let document: string | undefined;
  return async (_, { headers: common }) => {
    if (document === undefined) {
      const { openApiDocument } = await import("#http/openapi/document.ts");
      document = JSON.stringify(openApiDocument());
    }
    return new Response(document, { headers: { ...common, "content-type": "application/json" } });
  };
}
