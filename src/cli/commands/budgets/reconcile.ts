import type { Command } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { utcDay, withLedgerAdmin } from "#cli/with-ledger.ts";
import { formatProblems } from "#config/problem.ts";
import { ownCommand, parseSettings, type Settings } from "#config/settings.ts";
import { formatUsd } from "#domain/money/money.ts";
import { openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { differenceOf, isNotable, type Reconciliation } from "#ledger/reconcile/reconciliation.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
import { systemClock } from "#platform/system-clock.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { readKeyUsage, spentInDay } from "#upstream/aggregator.ts";

interface ReconcileOptions {
  readonly day: UtcDay;
  readonly json?: true;
}

/** `budgets reconcile`: the ledger's UTC day against the aggregator's own count. */
export function addReconcileCommand(budgets: Command, env: NodeJS.ProcessEnv): void {
  budgets
    .command("reconcile")
    .description(
      "compare a UTC day of the ledger with the aggregator's own count; exit code 1 if they differ by more than 0.10 USD and 5 %",
    )
    .option("--day <YYYY-MM-DD>", "a day on which a gateway read the count, or `today`", utcDay, "today")
    .option("--json", "print {ok, day, ledger_usd, held_usd, aggregator_usd, difference_usd, read_at}")
    .action((options: ReconcileOptions) => reconcileDay(options, env));
}

async function reconcileDay(options: ReconcileOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const fail = (code: 1 | 2, problem: string) => {
    if (options.json) printJson({ ok: false, problem });
    else console.error(problem);
    exitWith(code);
  };
  const parsed = parseSettings(env);
  if (parsed.kind === "invalid") return fail(exitCodes.badUsage, formatProblems(parsed.problems));
  const { upstream, databaseUrl } = parsed.settings;
  if (upstream.kind === "demo") {
    return fail(exitCodes.badUsage, "demo mode has no aggregator: set UPSTREAM_API_KEY or UPSTREAM_BASE_URL");
  }
  const nowMs = Date.now();
  const day = options.day === "today" ? utcDayOf(nowMs) : options.day;
  await withLedgerAdmin(env, options, async (admin) => {
    const counted = await (day === utcDayOf(nowMs) ? countNow(upstream, nowMs) : countThen(upstream, databaseUrl, day));
    if (counted.kind === "unknown") return fail(exitCodes.failed, counted.problem);
    const account = await admin.account(dayAccountOf(day));
    report(
      {
        day,
        ledgerSpent: account?.spent ?? 0,
        ledgerHeld: account?.held ?? 0,
        aggregatorSpent: counted.spent,
        readMs: counted.readMs,
      },
      options.json === true,
    );
  });
}

type Counted =
  | { readonly kind: "known"; readonly spent: number; readonly readMs: number }
  | { readonly kind: "unknown"; readonly problem: string };
type Aggregator = Settings["upstream"] & { kind: "aggregator" };

async function countNow({ baseUrl, apiKey }: Aggregator, readMs: number): Promise<Counted> {
  if (apiKey === undefined)
    return { kind: "unknown", problem: "without UPSTREAM_API_KEY there is no key to ask about" };
  const clock = systemClock;
  const reply = await readKeyUsage({ baseUrl, apiKey, clock, timers: timerWheel({ clock }) });
  switch (reply.kind) {
    case "ok":
      return { kind: "known", spent: spentInDay(reply.usage), readMs };
    case "refused":
      return { kind: "unknown", problem: `the aggregator does not accept the key (${reply.status})` };
    case "unknown_page":
      return {
        kind: "unknown",
        problem: `the upstream does not tell what a key has spent (GET /key: ${reply.status})`,
      };
    case "failed":
      return { kind: "unknown", problem: `the aggregator's count could not be read: ${reply.detail}` };
  }
}

async function countThen({ baseUrl }: Aggregator, databaseUrl: string, day: UtcDay): Promise<Counted> {
  const store = await openKeyUsageStore(databaseUrl);
  try {
    const stored = await store.load(baseUrl, day);
    if (stored !== undefined) return { kind: "known", ...stored };
    const problem = `no gateway on this database has read the aggregator's count on ${day}; the aggregator tells it only on the day itself`;
    return { kind: "unknown", problem };
  } finally {
    await store.close();
  }
}

function report(reconciliation: Reconciliation, json: boolean): void {
  const { day, ledgerSpent, ledgerHeld, aggregatorSpent, readMs } = reconciliation;
  const difference = differenceOf(reconciliation);
  const notable = isNotable(reconciliation);
  const readAt = new Date(readMs).toISOString();
  if (json) {
    printJson({
      ok: !notable,
      day,
      ledger_usd: formatUsd(ledgerSpent),
      held_usd: formatUsd(ledgerHeld),
      aggregator_usd: formatUsd(aggregatorSpent),
      difference_usd: formatUsd(difference),
      read_at: readAt,
    });
  } else {
    const held = ledgerHeld === 0 ? "" : `   (${formatUsd(ledgerHeld)} more is held)`;
    const lines = [
      `UTC day ${day}, aggregator asked at ${readAt}`,
      `  aggregator  ${formatUsd(aggregatorSpent)} USD`,
      `  ledger      ${formatUsd(ledgerSpent)} USD${held}`,
      `  difference  ${difference > 0 ? "+" : ""}${formatUsd(difference)} USD`,
      "",
      "The aggregator counts everything that was spent with the key, also by others who use it. A call belongs to the day on which",
      "it was admitted here, and to the day on which it was billed there. Money that is held may be billed already.",
      ...(notable
        ? [
            "",
            `The two differ by more than that explains: \`${ownCommand(process.env)} budgets holds --charged\` shows what is unresolved.`,
          ]
        : []),
    ];
    print(lines.join("\n"));
  }
  if (notable) exitWith(exitCodes.failed);
}
