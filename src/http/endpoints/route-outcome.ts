import { z } from "zod";
import { isObject } from "#domain/chat.ts";
import { outcomes } from "#domain/routing.ts";
import type { Handler } from "#http/endpoint.ts";
import type { HttpError } from "#http/errors.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { bodyProblems } from "#http/request/body-problems.ts";
import { readJson } from "#http/request/read-body.ts";
import type { ServerOptions } from "#http/server-options.ts";

/** The body of `POST /v1/route/outcome`. Unknown keys are ignored, `null` counts as an absent score. */
export const OutcomeReport = z.object({
  decision_id: z
    .string()
    .min(1)
    .max(128)
    .describe("The decision that the outcome belongs to: `X-Smart-Gateway-Decision-Id` of the answer."),
  outcome: z.enum(outcomes).describe("Whether the answer has done what was asked."),
  score: z.number().min(0).max(1).nullish().describe("How well, where it is known: 0 to 1."),
});

/** Bytes of the largest body that can be meant. */
const maxOutcomeBytes = 16_384;

/** `POST /v1/route/outcome`: what became of an answer, for `policy learn`. It changes no routing by itself. */
export function routeOutcomeEndpoint({ records }: Pick<ServerOptions, "records">, bodies: BodiesInFlight): Handler {
  return async (request, _, common) => {
    const invalid = (detail: string): HttpError => ({ status: 422, detail, code: "invalid_request" });
    const body = await readJson(request, maxOutcomeBytes, bodies);
    if (body.kind === "refused") return body.error;
    const given = body.value;
    if (!isObject(given)) return invalid("The body must be a JSON object with `decision_id` and `outcome`.");
    const parsed = OutcomeReport.safeParse(given);
    if (!parsed.success) return invalid(bodyProblems(parsed.error, given));
    const { decision_id: decisionId, outcome, score = null } = parsed.data;
    const caller = Bun.hash.xxHash32(request.headers.get("authorization") ?? "");
    const written = records.reportOutcome({ decisionId, outcome, score }, caller);
    if (written === undefined) {
      const detail = "Too many reports of outcomes wait to be written. Try again shortly.";
      return { status: 503, detail, code: "overloaded", headers: { "retry-after": "1" } };
    }
    const known = await written.catch(() => undefined);
    if (known === undefined) {
      const detail = "The outcome could not be written: the database does not answer. Try again shortly.";
      return { status: 503, detail, code: "outcome_store_unavailable", headers: { "retry-after": "1" } };
    }
    if (known) return new Response(null, { status: 204, headers: common });
    const detail =
      "No such decision is recorded: decision_id is X-Smart-Gateway-Decision-Id of an answer (not of housekeeping) within the retention (policy: records).";
    return { status: 404, detail, code: "unknown_decision" };
  };
}
