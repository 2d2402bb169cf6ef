import { z } from "zod";
import { isObject } from "#domain/chat.ts";
import { errorOf } from "#domain/errors.ts";
import { outcomes } from "#domain/routing.ts";
import type { Handler } from "#http/endpoint.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { bodyError } from "#http/request/body-problems.ts";
import { readJson, unprocessable } from "#http/request/read-body.ts";
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
  return async (request, { headers: common }) => {
    const body = await readJson(request, maxOutcomeBytes, bodies);
    if ("status" in body) return body;
    const given = body.value;
    if (!isObject(given))
      return unprocessable(errorOf("invalid_request.no_object", { of: " with `decision_id` and `outcome`" }));
    const parsed = OutcomeReport.safeParse(given);
    if (!parsed.success) return bodyError(parsed.error, given);
    const { decision_id: decisionId, outcome, score = null } = parsed.data;
    const caller = Bun.hash.xxHash32(request.headers.get("authorization") ?? "");
    const written = records.reportOutcome({ decisionId, outcome, score }, caller);
    if (written === undefined) return errorOf("overloaded.outcomes");
    const known = await written.catch(() => undefined);
    if (known === undefined) return errorOf("outcome_store_unavailable");
    return known ? new Response(null, { status: 204, headers: common }) : errorOf("unknown_decision.outcome");
  };
}
