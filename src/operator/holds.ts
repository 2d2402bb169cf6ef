import { formatUsd } from "#domain/money/money.ts";
import { type ClosedHold, closeHold, type HoldEnding } from "#ledger/admin/close-hold.ts";
import type { HoldFilter, LedgerHold } from "#ledger/admin/holds.ts";
import type { Operator } from "./audit.ts";
import { holdTotals } from "./budgets.ts";
import type { OperatorStores } from "./stores.ts";

/** Holds that are closed together, at most. */
const maxClosed = 100_000;

/** Money that is held, those holds first that end first, with the totals of all. */
export async function listHolds(stores: Pick<OperatorStores, "admin">, filter: HoldFilter) {
  const { holds, totals } = await (await stores.admin()).holds(filter);
  const count = totals.reduce((sum, total) => sum + total.count, 0);
  return { holds: holds.map(holdView), totals: holdTotals(totals), more: Math.max(0, count - holds.length) };
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
    node_seen_ms: hold.nodeSeenMs,
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

export interface HoldClosing {
  /** `unresolved`: every hold whose call has an unknown outcome. */
  readonly ids: readonly string[] | "unresolved";
  readonly ending: HoldEnding;
  readonly why: string;
  /** Also holds whose call may still be running. */
  readonly force?: boolean | undefined;
}

/**
 * Ends holds in an operator's name. Decision records get the costs, so that their sums stay the ledger's: by `onClosed`
 * in a process that has records of its own.
 */
export async function closeHolds(
  stores: Pick<OperatorStores, "admin" | "actions"> & {
    readonly onClosed: (notice: NonNullable<ClosedHold["notice"]>) => unknown;
  },
  { ids, ending, why, force }: HoldClosing,
  operator: Operator,
) {
  const admin = await stores.admin();
  const isOpen = ({ state }: LedgerHold) => state === "unresolved" || state === "orphaned";
  const all =
    ids === "unresolved" ? (await admin.holds({ limit: maxClosed })).holds.filter(isOpen).map(({ id }) => id) : ids;
  const { name } = operator;
  const batch = operator.by === "shell" ? name : `dashboard/${name}`;
  const closed: ClosedHold[] = [];
  for (const id of new Set(all)) {
    closed.push(await closeHold(admin, id, ending, { name: batch, reason: `operator ${name}: ${why}`, force }));
  }
  for (const { id, result, held_nano_usd = 0, notice } of closed) {
    if (notice === undefined) continue;
    await stores.onClosed(notice);
    const amounts = `held ${formatUsd(held_nano_usd)} USD, charged ${formatUsd(notice.charged)} USD`;
    const action = ending.kind === "released" ? "hold_released" : "hold_settled";
    await (await stores.actions()).add(operator, { action, target: id, detail: `${result}, ${amounts}: ${why}` });
  }
  return closed.map(({ notice: _, held_nano_usd = null, charged_nano_usd = null, detail = null, ...result }) => ({
    ...result,
    held_nano_usd,
    charged_nano_usd,
    detail,
  }));
}
