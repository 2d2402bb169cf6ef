import { Command, InvalidArgumentError } from "commander";
import { exitCodes, exitWith, failWith } from "#cli/exit.ts";
import { withHelpOfDefault } from "#cli/help.ts";
import { print, printJson } from "#cli/output.ts";
import { textTable } from "#cli/table.ts";
import { usd, utcDay, withLedgerAdmin } from "#cli/with-ledger.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { capsOf } from "#config/policy.ts";
import { goalIdOf } from "#domain/goal.ts";
import type { Caps } from "#domain/money/caps.ts";
import { formatUsd, type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { LedgerAccount } from "#ledger/admin/ledger-admin.ts";
import { hardCapOf } from "#ledger/admin/ledger-admin.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { dayAccountOf, goalAccountOf, listedGoalAccountOf } from "#ledger/rules/accounts.ts";
import type { UtcDay } from "#platform/time.ts";
import { addHoldCommands } from "./holds.ts";
import { addReconcileCommand } from "./reconcile.ts";

/** `smart-gateway budgets`: what is spent and held, whether the ledger balances, an operator's own caps, and single holds. */
export function budgetsCommand(env: NodeJS.ProcessEnv = process.env): Command {
  const command = new Command("budgets").description("what is spent and held, and whether the ledger balances");
  const show = command
    .command("show", { isDefault: true })
    .description("print caps, and the money that is spent, held and left, by day and by goal")
    .option("--limit <count>", "accounts to print", wholeNumber, 50)
    .option("--json", "print {accounts, more}; amounts in USD, as text")
    .action((options: { readonly limit: number; readonly json?: true }) =>
      withLedgerAdmin(env, options, async (admin) => {
        const { accounts, more } = await admin.accounts(options.limit);
        const recordOf = recordsWith(policyCaps(env), await admin.today());
        if (options.json) return printJson({ accounts: accounts.map(recordOf), more });
        if (accounts.length === 0) return print("Nothing has been spent or held yet.");
        print(
          textTable(
            ["ACCOUNT", "SPENT USD", "HELD USD", "HARD CAP USD", "LEFT USD", "CAP FROM"],
            accounts.map((account) => {
              const { id, spent_usd, held_usd, hard_cap_usd, left_usd, cap_from } = recordOf(account);
              return [id, spent_usd, held_usd, hard_cap_usd ?? "-", left_usd ?? "-", cap_from ?? "-"];
            }),
          ),
        );
        if (more > 0) print(`\n${more} more; --limit shows them.`);
      }),
    );
  command
    .command("audit")
    .description("recompute every counter from the reservations and entries; exit code 1 when one is wrong")
    .option("--json", "print the report: counts, findings (wrong) and remarks (worth knowing)")
    .action((options: { readonly json?: true }) =>
      withLedgerAdmin(env, options, async (admin) => {
        const report = await admin.audit();
        const clean = report.findings.length === 0;
        if (options.json) printJson({ ok: clean, ...report });
        else {
          const { accounts, reservations, open, entries } = report;
          print(`${accounts} accounts, ${reservations} reservations (${open} open), ${entries} entries`);
          for (const { check, id, detail } of report.findings) print(`WRONG   ${check}  ${id}: ${detail}`);
          for (const { check, id, detail } of report.remarks) print(`remark  ${check}  ${id}: ${detail}`);
          print(clean ? "The ledger balances." : "The ledger does not balance.");
        }
        if (!clean) exitWith(exitCodes.failed);
      }),
    );
  command
    .command("set")
    .description("set a hard cap for a goal or a day; it replaces the policy's until it is cleared")
    .option(
      "--goal <goal>",
      "the goal: with --session its id; without, as `budgets show` prints it behind `goal/` (`session/goal`, or the goal alone; `adhoc` for today's requests without one)",
    )
    .option("--session <session>", "the session that the goal belongs to")
    .option("--day <YYYY-MM-DD>", "the UTC day, or `today`", utcDay)
    .option("--hard-usd <amount>", "the cap in US dollars, such as 7.50", usd)
    .option("--clear", "return to the policy's cap")
    .option("--json", "print the account and its cap")
    .action((options: SetOptions) => {
      const problem = problemOf(options);
      if (problem !== undefined) return failWith(exitCodes.badUsage, problem, options);
      return withLedgerAdmin(env, options, async (admin) => {
        const today = await admin.today();
        const account = accountOf(options, today);
        const cap = options.hardUsd ?? null;
        await admin.setCap(account, cap);
        if (options.json) return printJson({ account, hard_cap_usd: cap === null ? null : formatUsd(cap) });
        print(cap === null ? `${account}: the policy's cap again` : `${account}: hard cap ${formatUsd(cap)} USD`);
        if (account === goalAccountOf(adhocGoal, today))
          print("Requests without a goal start anew each UTC day, and so does their cap.");
      });
    });
  addHoldCommands(command, env);
  addReconcileCommand(command, env);
  return withHelpOfDefault(command, show);
}

function accountOf({ goal, session, day }: SetOptions, today: UtcDay): string {
  if (goal === undefined) return dayAccountOf(day === undefined || day === "today" ? today : day);
  return session === undefined
    ? listedGoalAccountOf(goal, today)
    : goalAccountOf(goalIdOf({ sessionId: session, goalId: goal }), today);
}

interface SetOptions {
  readonly goal?: string;
  readonly session?: string;
  readonly day?: string;
  readonly hardUsd?: NanoUsd;
  readonly clear?: true;
  readonly json?: true;
}

function problemOf({ goal, session, day, hardUsd, clear }: SetOptions): string | undefined {
  if (session !== undefined && goal === undefined) return "--session needs --goal: caps are of goals and days";
  if ((goal === undefined) === (day === undefined)) return "say which cap: either --goal or --day";
  if ((hardUsd === undefined) === (clear === undefined)) return "say what it should be: either --hard-usd or --clear";
  return undefined;
}

/**
 * The caps of the policy file that the environment names, because accounts store the cap of their last request. Undefined
 * without a file, or while it is invalid: gateways then keep an earlier one.
 */
function policyCaps(env: NodeJS.ProcessEnv): Caps | undefined {
  const path = env["ROUTING_POLICY_PATH"] || undefined;
  const loaded = path === undefined ? undefined : loadPolicy(path);
  return loaded?.kind === "ok" ? capsOf(loaded.policy) : undefined;
}

/** What is printed of an account; with the cap of its last request where the caps are unknown. */
function recordsWith(caps: Caps | undefined, today: UtcDay) {
  return (account: LedgerAccount) =>
    withCap(account, caps === undefined ? (account.ownHard ?? account.hard) : hardCapOf(account, caps, today));
}

function withCap({ id, spent, held, overrun, ownHard }: LedgerAccount, cap: number | null) {
  return {
    id,
    spent_usd: formatUsd(spent),
    held_usd: formatUsd(held),
    overrun_usd: formatUsd(overrun),
    hard_cap_usd: cap === null ? null : formatUsd(nanoUsd(cap)),
    left_usd: cap === null ? null : formatUsd(nanoUsd(Math.max(0, cap - spent - held))),
    cap_from: cap === null ? null : ownHard === null ? "policy" : "operator",
  };
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("a whole number from 1 to 999999");
  return Number(text);
}
