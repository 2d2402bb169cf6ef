import { Option } from "commander";
import { withLedger, withStore } from "#cli/databases.ts";
import { aggregatorSettings, type CommandSpec, usd, utcDay, wholeNumber } from "#cli/options.ts";
import { badUsage, exitCodes, failed, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { capsOf } from "#config/policy.ts";
import { ownCommand } from "#config/settings.ts";
import { goalIdOf } from "#domain/goal.ts";
import { dollarText, type NanoUsd } from "#domain/money/money.ts";
import { hardCapOf } from "#ledger/admin/ledger-admin.ts";
import { openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/key-usage-watch.ts";
import { dayAccountOf, goalAccountOf, listedGoalAccountOf } from "#ledger/rules/accounts.ts";
import { systemClock } from "#platform/system-clock.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { readKeyUsage, spentInDay } from "#upstream/aggregator.ts";
import { release, settle, showHolds } from "./holds.ts";

/** `smart-gateway budgets`: what is spent and held, whether the ledger balances, an operator's own caps, and single holds. */
const closing = [
  ["--why <text>", "reason, stored in the ledger entry beside your name"],
  ["--by <name>", "name for the ledger entry; default: the user that runs the command"],
  ["--force", "also close holds whose call may still be running"],
] as const;

export const commands: readonly CommandSpec[] = [
  {
    name: "budgets show",
    summary: "print caps, and the money that is spent, held and left, by day and by goal; without a command too",
    isDefault: true,
    options: [["--limit <count>", "accounts to print", wholeNumber(1, 999_999), "50"]],
    example: "smart-gateway budgets show --limit 5 --json",
    run: show,
  },
  {
    name: "budgets audit",
    summary: "recompute every counter from the reservations and entries; exit code 1 when one is wrong",
    run: audit,
  },
  {
    name: "budgets set",
    summary: "set a hard cap for a goal or a day; it replaces the policy's until it is cleared",
    options: [
      [
        "--goal <goal>",
        "the goal: with --session its id; without, as `budgets show` prints it behind `goal/` (`session/goal`, or the goal alone; `adhoc` for today's requests without one)",
      ],
      ["--session <session>", "the session that the goal belongs to"],
      ["--day <YYYY-MM-DD>", "the UTC day, or `today`", utcDay],
      ["--hard-usd <amount>", "the cap in US dollars, such as 7.50", usd("down")],
      ["--clear", "return to the policy's cap"],
    ],
    example: "smart-gateway budgets set --session team --goal release --hard-usd 7.50",
    run: setCap,
  },
  {
    name: "budgets holds",
    summary: "print the money that is held: by running calls, and by calls whose outcome is unknown",
    options: [
      ["--limit <count>", "holds to print; those that end first come first", wholeNumber(1, 999_999), "50"],
      ["--charged", "also print holds that were charged in full because the cost is unknown"],
    ],
    example: "smart-gateway budgets holds --charged",
    run: showHolds,
  },
  {
    name: "budgets settle",
    summary: "charge the real cost of a call (see the aggregator's list of calls) and release the rest of its hold",
    arguments: [["<id...>", "ids as `budgets holds` prints them"]],
    options: [
      new Option("--usd <amount>", "cost of each of these calls, in US dollars")
        .argParser(usd("up"))
        .makeOptionMandatory(),
      ...closing,
    ],
    example: "smart-gateway budgets settle ID --usd 0.0187 --why 'invoice'",
    run: settle,
  },
  {
    name: "budgets release",
    summary: "release the hold of a call that was not billed; nothing is charged",
    arguments: [["[id...]", "ids as `budgets holds` prints them"]],
    options: [["--unresolved", "release every hold whose call has an unknown outcome"], ...closing],
    example: "smart-gateway budgets release --unresolved",
    run: release,
  },
  {
    name: "budgets reconcile",
    summary:
      "compare a UTC day of the ledger with the aggregator's own count; exit code 1 if they differ by more than 0.10 USD and 5 %",
    options: [["--day <YYYY-MM-DD>", "a day on which a gateway read the count, or `today`", utcDay, "today"]],
    example: "smart-gateway budgets reconcile --day 2026-03-01",
    run: reconcile,
  },
];

async function show(options: OutputOptions & { readonly limit: number }): Promise<void> {
  const { accounts, more, today } = await withLedger(async (admin) => ({
    ...(await admin.accounts(options.limit)),
    today: await admin.today(),
  }));
  // Accounts store the cap of their last request. It stands where there is no policy file, or an invalid one: gateways then keep
  // an earlier policy.
  const path = process.env["ROUTING_POLICY_PATH"] || undefined;
  const loaded = path === undefined ? undefined : loadPolicy(path);
  const caps = loaded?.kind === "ok" ? capsOf(loaded.policy) : undefined;
  const rows = accounts.map((account) => {
    const { id, spent, unproven, held, overrun, hard, ownHard } = account;
    const cap = caps === undefined ? (ownHard ?? hard) : hardCapOf(account, caps, today);
    return {
      id,
      spent_nano_usd: spent,
      unproven_nano_usd: unproven,
      held_nano_usd: held,
      overrun_nano_usd: overrun,
      hard_cap_nano_usd: cap,
      left_nano_usd: cap === null ? null : Math.max(0, cap - spent - held),
      cap_from: cap === null ? null : id.startsWith("key/") ? "keys_file" : ownHard === null ? "policy" : "operator",
    };
  });
  const text = rows.length === 0 ? "Nothing has been spent or held yet." : textTable(rows);
  print({ accounts: rows, more }, options, more > 0 ? `${text}\n\n${more} more; --limit shows them.` : text);
}

async function audit(options: OutputOptions): Promise<void> {
  const report = await withLedger((admin) => admin.audit());
  const ok = report.findings.length === 0;
  print({ ok, ...report }, options, `The ledger ${ok ? "balances" : "does not balance"}.\n${textOf(report)}`);
  if (!ok) process.exitCode = exitCodes.failed;
}

interface SetOptions extends OutputOptions {
  readonly goal?: string;
  readonly session?: string;
  readonly day?: string;
  readonly hardUsd?: NanoUsd;
  readonly clear?: true;
}

async function setCap(options: SetOptions): Promise<void> {
  const { goal, session, day, hardUsd = null, clear } = options;
  if (session !== undefined && goal === undefined) throw badUsage("--session needs --goal: caps are of goals and days");
  if ((goal === undefined) === (day === undefined)) throw badUsage("say which cap: either --goal or --day");
  if ((hardUsd === null) === (clear === undefined))
    throw badUsage("say what it should be: either --hard-usd or --clear");
  const account = await withLedger(async (admin) => {
    const named = accountNamed(options, await admin.today());
    await admin.setCap(named, hardUsd);
    return named;
  });
  const cap = hardUsd === null ? "the policy's cap again" : `hard cap ${dollarText(hardUsd)}`;
  print({ account, hard_cap_nano_usd: hardUsd }, options, `${account}: ${cap}`);
}

function accountNamed({ goal, session, day }: SetOptions, today: UtcDay): string {
  if (goal === undefined) return dayAccountOf(day === undefined || day === "today" ? today : day);
  return session === undefined
    ? listedGoalAccountOf(goal, today)
    : goalAccountOf(goalIdOf({ sessionId: session, goalId: goal }), today);
}

/** The ledger's UTC day against the aggregator's own count. */
async function reconcile(options: OutputOptions & { readonly day: UtcDay }): Promise<void> {
  const { baseUrl, apiKey } = aggregatorSettings().upstream;
  const today = utcDayOf(Date.now());
  const day = options.day === "today" ? today : options.day;
  const account = await withLedger((admin) => admin.account(dayAccountOf(day)));
  const counted = day === today ? await countNow(baseUrl, apiKey) : await countThen(baseUrl, day);
  const { spent = 0, held = 0, unproven = 0 } = account ?? {};
  const ledger = { ledgerSpent: spent, ledgerHeld: held, ledgerUnproven: unproven };
  const counts = { day, ...ledger, aggregatorSpent: counted.spent, readMs: counted.readMs };
  const notable = isNotable(counts);
  const value = {
    ok: !notable,
    day,
    ledger_nano_usd: spent,
    unproven_nano_usd: unproven,
    held_nano_usd: held,
    aggregator_nano_usd: counted.spent,
    difference_nano_usd: differenceOf(counts),
    read_at: new Date(counted.readMs).toISOString(),
  };
  const advice = `\nThe two differ by more than that explains: \`${ownCommand(process.env)} budgets holds --charged\` shows what is unresolved.`;
  print(value, options, `${textOf(value)}\n\n${explanation}${notable ? advice : ""}`);
  if (notable) process.exitCode = exitCodes.failed;
}

const explanation = `The aggregator counts everything that was spent with the key, also by others who use it. A call belongs to the day on which
it was admitted here, and to the day on which it was billed there. Money that is held may be billed already, and
what is unproven, charged because nobody knows the cost, may never be.`;

async function countNow(baseUrl: string, apiKey: string | undefined) {
  if (apiKey === undefined) throw failed("without UPSTREAM_API_KEY there is no key to ask about");
  const clock = systemClock;
  const reply = await readKeyUsage({ baseUrl, apiKey, clock, timers: timerWheel({ clock }) });
  if (reply.kind === "ok") return { spent: spentInDay(reply.usage), readMs: Date.now() };
  const why = reply.kind === "failed" ? reply.detail : `GET /key answers ${reply.status}`;
  throw failed(`the aggregator's count could not be read: ${why}`);
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
