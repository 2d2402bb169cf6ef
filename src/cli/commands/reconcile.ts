import type { Command } from "commander";
import { withLedger, withStore } from "#cli/databases.ts";
import { aggregatorSettings, utcDay } from "#cli/options.ts";
import { exitCodes, failed, type OutputOptions, print, textOf } from "#cli/output.ts";
import { ownCommand } from "#config/settings.ts";
import { formatUsd } from "#domain/money/money.ts";
import { openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/key-usage-watch.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
import { systemClock } from "#platform/system-clock.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { readKeyUsage, spentInDay } from "#upstream/aggregator.ts";

/** `budgets reconcile`: the ledger's UTC day against the aggregator's own count. */
export function addReconcileCommand(budgets: Command): void {
  budgets
    .command("reconcile")
    .description(
      "compare a UTC day of the ledger with the aggregator's own count; exit code 1 if they differ by more than 0.10 USD and 5 %",
    )
    .option("--day <YYYY-MM-DD>", "a day on which a gateway read the count, or `today`", utcDay, "today")
    .addHelpText("after", "\nExample: smart-gateway budgets reconcile --day 2026-03-01")
    .action(reconcile);
}

async function reconcile(options: OutputOptions & { readonly day: UtcDay }): Promise<void> {
  const { baseUrl, apiKey } = aggregatorSettings().upstream;
  const today = utcDayOf(Date.now());
  const day = options.day === "today" ? today : options.day;
  const account = await withLedger((admin) => admin.account(dayAccountOf(day)));
  const counted = day === today ? await countNow(baseUrl, apiKey) : await countThen(baseUrl, day);
  const { spent = 0, held = 0 } = account ?? {};
  const counts = { day, ledgerSpent: spent, ledgerHeld: held, aggregatorSpent: counted.spent, readMs: counted.readMs };
  const notable = isNotable(counts);
  const value = {
    ok: !notable,
    day,
    ledger_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    aggregator_usd: formatUsd(counted.spent),
    difference_usd: formatUsd(differenceOf(counts)),
    read_at: new Date(counted.readMs).toISOString(),
  };
  const advice = `\nThe two differ by more than that explains: \`${ownCommand(process.env)} budgets holds --charged\` shows what is unresolved.`;
  print(value, options, `${textOf(value)}\n\n${explanation}${notable ? advice : ""}`);
  if (notable) process.exitCode = exitCodes.failed;
}

const explanation = `The aggregator counts everything that was spent with the key, also by others who use it. A call belongs to the day on which
it was admitted here, and to the day on which it was billed there. Money that is held may be billed already.`;

async function countNow(baseUrl: string, apiKey: string | undefined) {
  if (apiKey === undefined) throw failed("without UPSTREAM_API_KEY there is no key to ask about");
  const clock = systemClock;
  const reply = await readKeyUsage({ baseUrl, apiKey, clock, timers: timerWheel({ clock }) });
  if (reply.kind === "ok") return { spent: spentInDay(reply.usage), readMs: Date.now() };
  if (reply.kind === "refused") throw failed(`the aggregator does not accept the key (${reply.status})`);
  if (reply.kind === "failed") throw failed(`the aggregator's count could not be read: ${reply.detail}`);
  throw failed(`the upstream does not tell what a key has spent (GET /key: ${reply.status})`);
}

async function countThen(baseUrl: string, day: UtcDay) {
  const stored = await withStore("The counts could not be read", openKeyUsageStore, (store) =>
    store.load(baseUrl, day),
  );
  if (stored !== undefined) return stored;
  throw failed(
    `no gateway on this database has read the aggregator's count on ${day}; the aggregator tells it only on the day itself`,
  );
}
