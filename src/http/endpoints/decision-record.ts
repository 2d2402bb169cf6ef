import { errorOf } from "#domain/errors.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { RecordsPort } from "#http/server-options.ts";

export const decisionRecordPath = "/v1/route/decisions/:id";

/** `GET /v1/route/decisions/{id}`: what is recorded of a decision, with its explanation. */
export function decisionRecordEndpoint(records: Pick<RecordsPort, "explained">): Handler {
  return async (request, { headers: common }) => {
    const { id } = (request as Request & { params: { id: string } }).params; // set by the router
    const record = await records.explained(id).catch(() => null);
    if (record === null) return errorOf("records_unavailable");
    if (record === undefined) return errorOf("unknown_decision");
    return jsonResponse(record, { ...common, "cache-control": "no-store" });
  };
}
