import type { Operator } from "#dashboard/access/access.ts";
import { type ApiHandler, ApiProblem } from "#dashboard/api/handlers.ts";
import { openAdmin, totalsOf } from "#dashboard/api/ledger-admin.ts";
import type { LedgerSnapshots } from "#dashboard/api/ledger-snapshots.ts";
import { audited } from "#dashboard/audit/audited.ts";
import type { CloseAnswer, Hold } from "#dashboard/schema/operating.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import { formatUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import type { Resolution } from "#ledger/ledger.ts";

/** `GET holds`: money that is held, those first that free themselves first. */
export function holdsHandler(sources: DashboardSources): ApiHandler<"GET holds"> {
  return async ({ query }) => {
    const admin = await openAdmin(sources);
    const { holds, totals } = await admin.holds({ limit: query.limit, charged: query.charged === "true" });
    const count = totals.reduce((sum, total) => sum + total.count, 0);
    return {
      at_ms: sources.clock.now(),
      holds: holds.map(holdView),
      totals: totalsOf(totals),
      more: Math.max(0, count - holds.length),
    };
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

/** `POST holds/{id}/settle`: ends a hold with what the call has cost. */
export function settleHandler(
  sources: DashboardSources,
  ledgerSnapshots: LedgerSnapshots,
): ApiHandler<"POST holds/{id}/settle"> {
  return ({ params: { id = "" }, body, operator }) => {
    // Rounded up: what is charged is never below what was paid.
    const actual = parseUsd(body.usd, "up");
    if (actual === undefined) {
      throw new ApiProblem(422, "usd: must be an amount in US dollars, such as 0.0187.", "invalid_request");
    }
    return close(sources, ledgerSnapshots, id, operator, body.why, (reason) => ({
      id,
      kind: "settled",
      actual,
      source: "operator",
      reason,
    }));
  };
}

/** `POST holds/{id}/release`: ends a hold without cost. */
export function releaseHandler(
  sources: DashboardSources,
  ledgerSnapshots: LedgerSnapshots,
): ApiHandler<"POST holds/{id}/release"> {
  return ({ params: { id = "" }, body, operator }) =>
    close(sources, ledgerSnapshots, id, operator, body.why, (reason) => ({
      id,
      kind: "released",
      reason,
      source: "operator",
    }));
}

async function close(
  sources: DashboardSources,
  ledgerSnapshots: LedgerSnapshots,
  id: string,
  operator: Operator,
  why: string,
  resolutionOf: (reason: string) => Resolution,
): Promise<CloseAnswer> {
  const admin = await openAdmin(sources);
  const { holds } = await admin.holds({ limit: 1, charged: true, ids: [id] });
  const [hold] = holds;
  if (hold === undefined) throw new ApiProblem(404, "Nothing is held under this id.", "unknown_hold");
  if (hold.state === "live") {
    const detail = `Its call may still run on ${hold.node}, and ends its hold itself. \`budgets settle --force\` closes it all the same.`;
    throw new ApiProblem(409, detail, "hold_is_live");
  }
  // The same words as the command line's, so that entries of the ledger read alike.
  const resolution = resolutionOf(`operator ${operator.name}: ${why}`);
  const notices = await admin.resolve(`dashboard/${operator.name}`.slice(0, 60), [resolution]);
  ledgerSnapshots.invalidate();
  const notice = notices.find((one) => one.kind === "resolved");
  if (notice === undefined) {
    const ignored = notices.find((one) => one.kind === "ignored");
    const detail = ignored?.why ?? "it was closed meanwhile";
    return { id, result: "unchanged", held_nano_usd: hold.amount, charged_nano_usd: null, detail };
  }
  sources.holdClosed(notice);
  const result = notice.state === "RELEASED" ? "released" : notice.state === "CORRECTED" ? "corrected" : "settled";
  await audited(sources, operator, {
    action: resolution.kind === "released" ? "hold_released" : "hold_settled",
    target: id,
    detail: `${result}, held ${formatUsd(hold.amount)} USD, charged ${formatUsd(notice.charged)} USD: ${why}`,
  });
  return { id, result, held_nano_usd: hold.amount, charged_nano_usd: notice.charged, detail: null };
}
