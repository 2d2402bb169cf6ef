import type { Settings } from "#config/settings.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/reconciliation-job.ts";
import { dayAccountOf, emptyAccount } from "#ledger/rules/accounts.ts";
import { systemClock } from "#platform/system-clock.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { readKeyUsage, spentInDay } from "#upstream/aggregator.ts";
import { OperatorProblem, unavailable } from "./problem.ts";
import type { OperatorStores } from "./stores.ts";

/** The ledger's UTC day against the aggregator's own count. */
export async function reconcileDay(
  stores: Pick<OperatorStores, "admin" | "usage">,
  { baseUrl, apiKey }: Settings["upstream"] & { readonly kind: "aggregator" },
  asked: UtcDay | "today",
) {
  const today = utcDayOf(systemClock.now());
  const day = asked === "today" ? today : asked;
  const [{ spent, held, unproven } = emptyAccount(day)] = await (await stores.admin()).named([dayAccountOf(day)]);
  const counted = day === today ? await countNow(baseUrl, apiKey) : await (await stores.usage()).load(baseUrl, day);
  if (counted === undefined) {
    const when = "the aggregator tells it only on the day itself";
    const detail = `no gateway on this database has read the aggregator's count on ${day}; ${when}`;
    throw new OperatorProblem("not_found", detail, "not_found");
  }
  const ledger = { ledgerSpent: spent, ledgerHeld: held, ledgerUnproven: unproven };
  const counts = { day, ...ledger, aggregatorSpent: counted.spent, readMs: counted.readMs };
  return {
    ok: !isNotable(counts),
    day,
    ledger_nano_usd: spent,
    unproven_nano_usd: unproven,
    held_nano_usd: held,
    aggregator_nano_usd: counted.spent,
    difference_nano_usd: differenceOf(counts),
    read_at: new Date(counted.readMs).toISOString(),
  };
}

async function countNow(baseUrl: string, apiKey: string | undefined) {
  if (apiKey === undefined) throw unavailable("without UPSTREAM_API_KEY there is no key to ask about");
  const clock = systemClock;
  const reply = await readKeyUsage({ baseUrl, apiKey, clock, timers: timerWheel({ clock }) });
  if (reply.kind === "ok") return { spent: spentInDay(reply.usage), readMs: clock.now() };
  const why = reply.kind === "failed" ? reply.detail : `GET /key answers ${reply.status}`;
  throw unavailable(`the aggregator's count could not be read: ${why}`);
}
