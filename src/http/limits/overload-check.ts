import type { Handler } from "#http/endpoint.ts";
import { errorResponse } from "#http/errors.ts";
import type { ServerOptions } from "#http/server-options.ts";
import { outageOf } from "#ledger/ledger.ts";
import type { OpenRequests } from "./open-requests.ts";

/**
 * Refuses requests of `handler` before anything of the body is read while the gateway is overloaded.
 * @param spends whether the handler needs the ledger
 */
export function withOverloadCheck(
  handler: Handler,
  spends: boolean,
  { ports, shedReason }: Pick<ServerOptions, "ports" | "shedReason">,
  openRequests: OpenRequests,
): Handler {
  return (request, requestId, common) => {
    const reason = shedReason(openRequests.count);
    if (reason === undefined || (reason === "ledger_slow" && !spends)) return handler(request, requestId, common);
    if (reason === "ledger_slow") {
      // Not the gateway is overloaded: its store is slow, or not reachable.
      const { detail, retryAfterS } = outageOf(ports.ledger.status());
      const headers: Record<string, string> =
        retryAfterS === undefined ? { "x-should-retry": "false" } : { "retry-after": String(retryAfterS) };
      return errorResponse({ status: 503, detail, code: "budget_store_unavailable", headers }, request, common);
    }
    const detail = `The gateway is overloaded (${reason}). Try again shortly.`;
    const headers = { "retry-after": "1" };
    return errorResponse({ status: 503, detail, code: "overloaded", headers }, request, common);
  };
}
