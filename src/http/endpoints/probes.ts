import { type Handler, jsonResponse } from "#http/endpoint.ts";
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
