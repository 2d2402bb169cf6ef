import { errorFormProblem } from "#http/chat-body/gateway-fields.ts";
import type { Handler } from "#http/endpoint.ts";
import { errorResponse, type HttpError } from "#http/errors.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { isJsonContentType } from "#http/request/headers.ts";
import { maxOutcomeBytes, parseOutcome } from "#http/request/outcome-request.ts";
import { readBody } from "#http/request/read-body.ts";
import type { ServerOptions } from "#http/server-options.ts";

/** `POST /v1/route/outcome`: what became of an answer, for `policy learn`. It changes no routing by itself. */
export function routeOutcomeEndpoint({
  reportOutcome,
  bodies,
}: Pick<ServerOptions, "reportOutcome"> & { readonly bodies: BodiesInFlight }): Handler {
  return async (request, _, common) => {
    const refuse = (error: HttpError) => errorResponse(error, request, common);
    const invalid = (detail: string) => refuse({ status: 422, detail, code: "invalid_request" });
    const body = await readBody(request, maxOutcomeBytes, bodies);
    if (body.kind === "refused") return refuse(body.error);
    if (body.kind === "not_utf8") return invalid("The body is not valid JSON: it is not UTF-8.");
    if (body.kind === "incomplete") return invalid("The request body did not arrive whole.");
    try {
      if (!isJsonContentType(request.headers)) return invalid("Content-Type must be application/json.");
      const parsed = parseOutcome(body.text);
      if (parsed.kind === "invalid") return invalid(parsed.detail);
      const errorForm = errorFormProblem(request.headers);
      if (errorForm !== undefined) return invalid(errorForm.detail);
      const { decisionId, outcome, score } = parsed;
      const known = await reportOutcome({ decisionId, outcome, score: score ?? null }).catch(() => undefined);
      if (known === undefined) {
        const detail = "The outcome could not be written: the database does not answer. Try again shortly.";
        const headers = { "retry-after": "1" };
        return refuse({ status: 503, detail, code: "outcome_store_unavailable", headers });
      }
      if (known) return new Response(null, { status: 204, headers: common });
      const detail =
        "No such decision is recorded: decision_id is X-Smart-Gateway-Decision-Id of an answer (not of housekeeping) within the retention (policy: records).";
      return refuse({ status: 404, detail, code: "unknown_decision" });
    } finally {
      body.held.release();
    }
  };
}
