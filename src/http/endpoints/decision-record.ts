import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { RecordsPort } from "#http/server-options.ts";

export const decisionRecordPath = "/v1/route/decisions/:id";

/** `GET /v1/route/decisions/{id}`: what is recorded of a decision, with its explanation. */
export function decisionRecordEndpoint(records: Pick<RecordsPort, "explained">): Handler {
  return async (request, _, common) => {
    const { id } = (request as Request & { params: { id: string } }).params; // set by the router
    const record = await records.explained(id).catch(() => null);
    if (record === null) {
      const detail = "The decision records cannot be read: the database does not answer. Try again shortly.";
      return { status: 503, detail, code: "records_unavailable", headers: { "retry-after": "1" } };
    }
    if (record !== undefined) return jsonResponse(record, { ...common, "cache-control": "no-store" });
    const detail =
      "No such decision is recorded: the id is X-Smart-Gateway-Decision-Id or X-Request-Id of an answer, at least a second old, within the retention (policy: records).";
    return { status: 404, detail, code: "unknown_decision" };
  };
}
