import { ownCommand } from "#config/settings.ts";
import { formatUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import { type LedgerReader, openLedgerReader } from "#ledger/admin/open-ledger-admin.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/reconciliation.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
import type { Check } from "./check.ts";

/** A running gateway takes over the holds of one that has ended within a minute. */
const staleMs = 300_000;

/**
 * Checks open holds of ended gateways and of unknown outcome, and the ledger against the aggregator's count of today (nano-USD;
 * undefined where unknown). Changes nothing. Empty where there is no ledger yet.
 */
export async function checkMoney(databaseUrl: string, counted: number | undefined, nowMs: number): Promise<Check[]> {
  let reader: LedgerReader | undefined;
  try {
    reader = await openLedgerReader(databaseUrl);
    if (reader === undefined) return [];
    const { holds, totals } = await reader.holds({ limit: 1_000, charged: true });
    const checks = [holdsCheck(holds, totals, nowMs)];
    if (counted === undefined) return checks;
    const day = await reader.today();
    const account = await reader.account(dayAccountOf(day));
    return [
      ...checks,
      countCheck({
        day,
        ledgerSpent: account?.spent ?? 0,
        ledgerHeld: account?.held ?? 0,
        aggregatorSpent: counted,
        readMs: nowMs,
      }),
    ];
  } catch {
    // Problems with the database are reported by a check of their own.
    return [];
  } finally {
    await reader?.close();
  }
}

function holdsCheck(
  holds: readonly LedgerHold[],
  totals: readonly { readonly state: string; readonly count: number; readonly amount: number }[],
  nowMs: number,
): Check {
  const texts = totals.map(({ state, count, amount }) => `${count} ${state} (${formatUsd(amount)} USD)`);
  const detail = texts.length === 0 ? "nothing is held or unresolved" : `holds: ${texts.join(", ")}`;
  const stale = holds.filter(
    ({ state, nodeSeenMs, sinceMs }) => state === "orphaned" && nowMs - (nodeSeenMs ?? sinceMs) > staleMs,
  );
  if (stale.length > 0) {
    const advice = `start a gateway on this database: it takes them over; \`${ownCommand(process.env)} budgets holds\` lists them`;
    return { name: "money", status: "warn", detail: `${detail}; ${stale.length} of a gateway that has died`, advice };
  }
  if (!holds.some(({ state }) => state === "unresolved")) return { name: "money", status: "ok", detail };
  const advice = `\`${ownCommand(process.env)} budgets holds\` lists the unresolved; each is charged in full unless \`budgets settle\` or \`budgets release\` ends it`;
  return { name: "money", status: "warn", detail, advice };
}

function countCheck(counts: Parameters<typeof isNotable>[0]): Check {
  const detail = `today (UTC) the ledger has ${formatUsd(counts.ledgerSpent)} USD, the aggregator ${formatUsd(counts.aggregatorSpent)} USD (difference ${formatUsd(differenceOf(counts))})`;
  if (!isNotable(counts)) return { name: "money", status: "ok", detail };
  const advice = `others may use the key too; \`${ownCommand(process.env)} budgets reconcile\` says more`;
  return { name: "money", status: "warn", detail, advice };
}
