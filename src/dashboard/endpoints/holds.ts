import { z } from "zod";
import { type Call, endpoint, Refusal } from "#dashboard/endpoint.ts";
import { holdTotals } from "#dashboard/ledger-view.ts";
import { type DashboardSources, writeAudit } from "#dashboard/sources.ts";
import { formatUsd, parseUsd } from "#domain/money/money.ts";
import { closeHold, type HoldEnding } from "#ledger/admin/close-hold.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";

const why = z.string().min(1).max(200);

/** Money that is held, those holds first that free themselves first, and an operator's end of a hold. */
export function holdEndpoints(sources: DashboardSources) {
  return {
    "GET holds": endpoint({
      about: "Money that is held, and when each hold ends by itself.",
      query: z.object({
        limit: z.coerce.number().int().min(1).max(500).default(100),
      }),
      async answer({ query }) {
        const admin = await sources.admin();
        const { holds, totals } = await admin.holds({ limit: query.limit });
        const count = totals.reduce((sum, total) => sum + total.count, 0);
        const more = Math.max(0, count - holds.length);
        return { at_ms: sources.clock.now(), holds: holds.map(holdView), totals: holdTotals(totals), more };
      },
    }),

    "POST holds/{id}/settle": endpoint({
      about: "Ends a hold with what the call has cost.",
      body: z.strictObject({ usd: z.string().describe("US dollars, such as `0.0187`."), why }),
      answer(call) {
        // Rounded up: what is charged is never below what was paid.
        const actual = parseUsd(call.body.usd, "up");
        if (actual === undefined) throw new Refusal(422, "usd: must be an amount in US dollars, such as 0.0187.");
        return close(sources, call, { kind: "settled", actual });
      },
    }),

    "POST holds/{id}/release": endpoint({
      about: "Ends a hold without cost.",
      body: z.strictObject({ why }),
      answer: (call) => close(sources, call, { kind: "released" }),
    }),
  };
}

function holdView(hold: LedgerHold) {
  return {
    id: hold.id,
    state: hold.state,
    model: hold.model,
    goal: hold.goalAccount.replace(/^goal\//, ""),
    day: hold.dayAccount.replace(/^day\//, ""),
    held_nano_usd: hold.amount,
    node: hold.node,
    since_ms: hold.sinceMs,
    /** When it ends by itself: charged in full, or released if the call was never sent. */
    until_ms: hold.untilMs,
    why: hold.why,
    decision_id: /^(.+)\.\d+$/.exec(hold.id)?.[1] ?? null,
    /** An operator may settle or release it now. */
    may_close: hold.state !== "live",
  };
}
export type Hold = ReturnType<typeof holdView>;

async function close(
  sources: DashboardSources,
  { params: { id = "" }, body, operator }: Call<unknown, { readonly why: string }>,
  ending: HoldEnding,
) {
  // The same words as the command line's, so that entries of the ledger read alike.
  const reason = `operator ${operator.name}: ${body.why}`;
  const admin = await sources.admin();
  const closed = await closeHold(admin, id, ending, { name: `dashboard/${operator.name}`, reason });
  const { result, held_nano_usd = null, charged_nano_usd = null, detail = null, notice } = closed;
  if (result === "not_found") throw new Refusal(404, detail ?? "", "unknown_hold");
  if (result === "running") throw new Refusal(409, detail ?? "", "hold_is_live");
  if (notice !== undefined) {
    sources.holdClosed(notice);
    await writeAudit(sources, operator, {
      action: ending.kind === "released" ? "hold_released" : "hold_settled",
      target: id,
      detail: `${result}, held ${formatUsd(held_nano_usd ?? 0)} USD, charged ${formatUsd(notice.charged)} USD: ${body.why}`,
    });
  }
  return { id, result, held_nano_usd, charged_nano_usd, detail };
}
