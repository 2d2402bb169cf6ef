import { Option } from "commander";
import {
  aggregatorSettings,
  type CommandSpec,
  onLedger,
  settingsInForce,
  shellOperator,
  usd,
  utcDay,
  wholeNumber,
} from "#cli/options.ts";
import { badUsage, exitCodes, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { loadAuthKeys } from "#config/auth-keys.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { capsOf } from "#config/policy.ts";
import { dollarText, type NanoUsd } from "#domain/money/money.ts";
import { type CapChange, listBudgets, setCap } from "#operator/budgets.ts";
import { notRevoked } from "#operator/caller-keys.ts";
import { reconcileDay } from "#operator/reconcile.ts";
import type { UtcDay } from "#platform/time.ts";
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
      ["--why <text>", "reason, for the audit log"],
    ],
    example: "smart-gateway budgets set --session team --goal release --hard-usd 7.50",
    run: setOwnCap,
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
  // Accounts store the cap of their last request. It stands where there is no policy file, or an invalid one: gateways then keep
  // an earlier policy.
  const { policyPath, authKeysFile } = settingsInForce();
  const policy = policyPath === undefined ? undefined : loadPolicy(policyPath);
  const caps = policy?.kind === "ok" ? capsOf(policy.policy) : undefined;
  const file = authKeysFile === undefined ? undefined : loadAuthKeys(authKeysFile);
  const ofFile = file?.kind === "ok" ? file.keys : undefined;
  const budgets = await onLedger(async (stores) => {
    const keys = notRevoked(await (await stores.keys()).list(), ofFile);
    return listBudgets(stores, { caps, keys, nowMs: Date.now() }, options.limit);
  });
  const { days, goals, keys, more } = budgets;
  const rows = [...days, ...goals, ...keys];
  const used = keys.length > 0 || rows.some((row) => row.spent_nano_usd + row.held_nano_usd > 0);
  const text = used ? textTable(rows, columns) : "Nothing has been spent or held yet.";
  print(budgets, options, more > 0 ? `${text}\n\n${more} more; --limit shows them.` : text);
}

const columns = [
  "account",
  ...["spent", "unproven", "held", "left", "soft", "hard"].map((name) => `${name}_nano_usd`),
  "cap_from",
];

async function audit(options: OutputOptions): Promise<void> {
  const report = await onLedger(async ({ admin }) => (await admin()).audit());
  const ok = report.findings.length === 0;
  print({ ok, ...report }, options, `The ledger ${ok ? "balances" : "does not balance"}.\n${textOf(report)}`);
  if (!ok) process.exitCode = exitCodes.failed;
}

interface SetOptions extends OutputOptions, Omit<CapChange, "hard"> {
  readonly hardUsd?: NanoUsd;
  readonly clear?: true;
}

async function setOwnCap(options: SetOptions): Promise<void> {
  const { hardUsd, clear, ...change } = options;
  const { goal, session, day } = change;
  if (session !== undefined && goal === undefined) throw badUsage("--session needs --goal: caps are of goals and days");
  if ((goal === undefined) === (day === undefined)) throw badUsage("say which cap: either --goal or --day");
  if ((hardUsd === undefined) === (clear === undefined))
    throw badUsage("say what it should be: either --hard-usd or --clear");
  const done = await onLedger((stores) => setCap(stores, { ...change, hard: hardUsd ?? null }, shellOperator()));
  const cap = hardUsd === undefined ? "the policy's cap again" : `hard cap ${dollarText(hardUsd)}`;
  print(done, options, `${done.account}: ${cap}`);
}

async function reconcile(options: OutputOptions & { readonly day: UtcDay }): Promise<void> {
  const { settings, upstream } = aggregatorSettings();
  const value = await onLedger((stores) => reconcileDay(stores, upstream, options.day));
  const advice = `\nThe two differ by more than that explains: \`${settings.command} budgets holds --charged\` shows what is unresolved.`;
  print(value, options, `${textOf(value)}\n\n${explanation}${value.ok ? "" : advice}`);
  if (!value.ok) process.exitCode = exitCodes.failed;
}

const explanation = `The aggregator counts everything that was spent with the key, also by others who use it. A call belongs to the day on which
it was admitted here, and to the day on which it was billed there. Money that is held may be billed already, and
what is unproven, charged because nobody knows the cost, may never be.`;
