import { type ApiCall, type ApiHandlers, ApiProblem } from "#dashboard/api/endpoint.ts";
import type { EndpointSources } from "#dashboard/api/endpoint-sources.ts";
import { holdTotals, openAdmin } from "#dashboard/api/ledger-view.ts";
import type { CloseAnswer, Hold } from "#dashboard/schema/operating.ts";
import { formatUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import type { Resolution } from "#ledger/ledger.ts";

/** Money that is held, those holds first that free themselves first, and an operator's end of a hold. */
export function holdEndpoints(
  sources: EndpointSources,
): ApiHandlers<"GET holds" | "POST holds/{id}/settle" | "POST holds/{id}/release"> {
  return {
    "GET holds": async ({ query }) => {
      const admin = await openAdmin(sources);
      const { holds, totals } = await admin.holds({ limit: query.limit, charged: query.charged === "true" });
      const count = totals.reduce((sum, total) => sum + total.count, 0);
      const more = Math.max(0, count - holds.length);
      return { at_ms: sources.clock.now(), holds: holds.map(holdView), totals: holdTotals(totals), more };
    },

    "POST holds/{id}/settle": (call) => {
      // Rounded up: what is charged is never below what was paid.
      const actual = parseUsd(call.body.usd, "up");
      if (actual === undefined) throw new ApiProblem(422, "usd: must be an amount in US dollars, such as 0.0187.");
      return close(sources, call, { kind: "settled", actual, source: "operator" });
    },

    "POST holds/{id}/release": (call) => close(sources, call, { kind: "released", source: "operator" }),
  };
}

function holdView(hold: LedgerHold): Hold {
  return {
    id: hold.id,
    state: hold.state,
    model: hold.model,
    goal: hold.goalAccount.replace(/^goal\//, ""),
    day: hold.dayAccount.replace(/^day\//, ""),
    held_nano_usd: hold.amount,
    node: hold.node,
    node_seen_ms: hold.nodeSeenMs,
    since_ms: hold.sinceMs,
    until_ms: hold.untilMs,
    why: hold.why,
    decision_id: /^(.+)\.\d+$/.exec(hold.id)?.[1] ?? null,
    may_close: hold.state !== "live",
  };
}

type Closing = Pick<ApiCall<"POST holds/{id}/release">, "params" | "body" | "operator">;
type Outcome = { readonly source: "operator" } & (
  | { readonly kind: "settled"; readonly actual: Extract<Resolution, { kind: "settled" }>["actual"] }
  | { readonly kind: "released" }
);

async function close(sources: EndpointSources, call: Closing, outcome: Outcome): Promise<CloseAnswer> {
  const { operator, params, body } = call;
  const { id = "" } = params;
  const admin = await openAdmin(sources);
  const [hold] = (await admin.holds({ limit: 1, charged: true, ids: [id] })).holds;
  if (hold === undefined) throw new ApiProblem(404, "Nothing is held under this id.", "unknown_hold");
  if (hold.state === "live") {
    const detail = `Its call may still run on ${hold.node}, and ends its hold itself. \`budgets settle --force\` closes it all the same.`;
    throw new ApiProblem(409, detail, "hold_is_live");
  }
  // The same words as the command line's, so that entries of the ledger read alike.
  const reason = `operator ${operator.name}: ${body.why}`;
  const notices = await admin.resolve(`dashboard/${operator.name}`.slice(0, 60), [{ id, reason, ...outcome }]);
  const notice = notices.find((one) => one.kind === "resolved");
  if (notice === undefined) {
    const detail = notices.find((one) => one.kind === "ignored")?.why ?? "it was closed meanwhile";
    return { id, result: "unchanged", held_nano_usd: hold.amount, charged_nano_usd: null, detail };
  }
  sources.holdClosed(notice);
  const result = notice.state === "RELEASED" ? "released" : notice.state === "CORRECTED" ? "corrected" : "settled";
  const charged = formatUsd(notice.charged);
  await sources.audit(operator, {
    action: outcome.kind === "released" ? "hold_released" : "hold_settled",
    target: id,
    detail: `${result}, held ${formatUsd(hold.amount)} USD, charged ${charged} USD: ${body.why}`,
  });
  return { id, result, held_nano_usd: hold.amount, charged_nano_usd: notice.charged, detail: null };
}
