import type { Command } from "commander";
import { withLedger } from "#cli/databases.ts";
import { fileOr, usd, utcDay, wholeNumber } from "#cli/options.ts";
import { badUsage, exitCodes, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { capsOf } from "#config/policy.ts";
import { goalIdOf } from "#domain/goal.ts";
import type { Caps } from "#domain/money/caps.ts";
import { formatUsd, type NanoUsd } from "#domain/money/money.ts";
import { hardCapOf } from "#ledger/admin/ledger-admin.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { dayAccountOf, goalAccountOf, listedGoalAccountOf } from "#ledger/rules/accounts.ts";
import type { AccountRow } from "#ledger/rules/rows.ts";
import type { UtcDay } from "#platform/time.ts";
import { addHoldCommands } from "./holds.ts";
import { addReconcileCommand } from "./reconcile.ts";

/** `smart-gateway budgets`: what is spent and held, whether the ledger balances, an operator's own caps, and single holds. */
export function setUpBudgets(command: Command): void {
  command
    .command("show", { isDefault: true })
    .description("print caps, and the money that is spent, held and left, by day and by goal; without a command too")
    .option("--limit <count>", "accounts to print", wholeNumber(1, 999_999), 50)
    .addHelpText("after", "\nExample: smart-gateway budgets show --limit 5 --json")
    .action(show);
  command
    .command("audit")
    .description("recompute every counter from the reservations and entries; exit code 1 when one is wrong")
    .addHelpText("after", "\nExample: smart-gateway budgets audit")
    .action(audit);
  command
    .command("set")
    .description("set a hard cap for a goal or a day; it replaces the policy's until it is cleared")
    .option(
      "--goal <goal>",
      "the goal: with --session its id; without, as `budgets show` prints it behind `goal/` (`session/goal`, or the goal alone; `adhoc` for today's requests without one)",
    )
    .option("--session <session>", "the session that the goal belongs to")
    .option("--day <YYYY-MM-DD>", "the UTC day, or `today`", utcDay)
    .option("--hard-usd <amount>", "the cap in US dollars, such as 7.50", usd("down"))
    .option("--clear", "return to the policy's cap")
    .addHelpText("after", "\nExample: smart-gateway budgets set --session team --goal release --hard-usd 7.50")
    .action(setCap);
  addHoldCommands(command);
  addReconcileCommand(command);
}

async function show(options: OutputOptions & { readonly limit: number }): Promise<void> {
  const { accounts, more, today } = await withLedger(async (admin) => ({
    ...(await admin.accounts(options.limit)),
    today: await admin.today(),
  }));
  const caps = policyCaps();
  const rows = accounts.map((account) => accountRecord(account, caps, today));
  const table = textTable(rows, ["id", "spent_usd", "held_usd", "hard_cap_usd", "left_usd", "cap_from"]);
  const text = rows.length === 0 ? "Nothing has been spent or held yet." : table;
  print({ accounts: rows, more }, options, more > 0 ? `${text}\n\n${more} more; --limit shows them.` : text);
}

/**
 * The caps of the policy file that the environment names, because accounts store the cap of their last request. Undefined
 * without a file, or while it is invalid: gateways then keep an earlier one.
 */
function policyCaps(): Caps | undefined {
  const path = fileOr(undefined, "ROUTING_POLICY_PATH");
  const loaded = path === undefined ? undefined : loadPolicy(path);
  return loaded?.kind === "ok" ? capsOf(loaded.policy) : undefined;
}

/** What is printed of an account; with the cap of its last request where the caps are unknown. */
function accountRecord(account: AccountRow, caps: Caps | undefined, today: UtcDay) {
  const { id, spent, held, overrun, hard, ownHard } = account;
  const cap = caps === undefined ? (ownHard ?? hard) : hardCapOf(account, caps, today);
  return {
    id,
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    overrun_usd: formatUsd(overrun),
    hard_cap_usd: cap === null ? null : formatUsd(cap),
    left_usd: cap === null ? null : formatUsd(Math.max(0, cap - spent - held)),
    cap_from: cap === null ? null : ownHard === null ? "policy" : "operator",
  };
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
  const { goal, session, day, hardUsd, clear } = options;
  if (session !== undefined && goal === undefined) throw badUsage("--session needs --goal: caps are of goals and days");
  if ((goal === undefined) === (day === undefined)) throw badUsage("say which cap: either --goal or --day");
  if ((hardUsd === undefined) === (clear === undefined))
    throw badUsage("say what it should be: either --hard-usd or --clear");
  const { account, daily } = await withLedger(async (admin) => {
    const today = await admin.today();
    const account = accountNamed(options, today);
    await admin.setCap(account, hardUsd ?? null);
    return { account, daily: account === goalAccountOf(adhocGoal, today) };
  });
  const cap = hardUsd === undefined ? null : formatUsd(hardUsd);
  const text = cap === null ? `${account}: the policy's cap again` : `${account}: hard cap ${cap} USD`;
  const note = daily ? "\nRequests without a goal start anew each UTC day, and so does their cap." : "";
  print({ account, hard_cap_usd: cap }, options, text + note);
}

function accountNamed({ goal, session, day }: SetOptions, today: UtcDay): string {
  if (goal === undefined) return dayAccountOf(day === undefined || day === "today" ? today : day);
  return session === undefined
    ? listedGoalAccountOf(goal, today)
    : goalAccountOf(goalIdOf({ sessionId: session, goalId: goal }), today);
}
