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
import { codeFor, type Result, textOf, textTable } from "#cli/output.ts";
import { loadAuthKeys } from "#config/auth-keys.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { capsOf } from "#config/policy.ts";
import { dollarText, type NanoUsd } from "#domain/money/money.ts";
import { type CapChange, listBudgets, setCap } from "#operator/budgets.ts";
import { notRevoked } from "#operator/caller-keys.ts";
import { closeHolds, type HoldClosing, listHolds } from "#operator/holds.ts";
import { invalidInput } from "#operator/problem.ts";
import { reconcileDay } from "#operator/reconcile.ts";
import type { UtcDay } from "#platform/time.ts";
import type { ClosedReservation } from "#records/records.ts";

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
      ["--goal <goal>", "as `budgets show` has it behind `goal/` (`adhoc`: no goal); with --session the goal's id"],
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
    summary: "compare a UTC day with the aggregator's count; exit code 1 if they differ by over 0.10 USD and 5 %",
    options: [["--day <YYYY-MM-DD>", "a day on which a gateway read the count, or `today`", utcDay, "today"]],
    example: "smart-gateway budgets reconcile --day 2026-03-01",
    run: reconcile,
  },
];

async function show(options: { readonly limit: number }): Promise<Result> {
  // Without them accounts show the caps of their last request: with an invalid file gateways keep an earlier policy.
  const { policyPath, authKeysFile } = settingsInForce();
  const policy = policyPath === undefined ? undefined : loadPolicy(policyPath);
  const caps = policy?.kind === "ok" ? capsOf(policy.policy) : undefined;
  const file = authKeysFile === undefined ? undefined : loadAuthKeys(authKeysFile);
  const ofFile = file?.kind === "ok" ? file.value : undefined;
  const budgets = await onLedger(async (stores) => {
    const keys = notRevoked(await (await stores.keys()).list(), ofFile);
    return listBudgets(stores, { caps, keys, nowMs: Date.now() }, options.limit);
  });
  const { days, goals, keys, more } = budgets;
  const rows = [...days, ...goals, ...keys];
  const used = keys.length > 0 || rows.some((row) => row.spent_nano_usd + row.held_nano_usd > 0);
  const text = used ? textTable(rows, columns) : "Nothing has been spent or held yet.";
  return { value: budgets, text: more > 0 ? `${text}\n\n${more} more; --limit shows them.` : text };
}

const columns = [
  "account",
  ...["spent", "unproven", "held", "left", "soft", "hard"].map((name) => `${name}_nano_usd`),
  "cap_from",
];

async function audit(): Promise<Result> {
  const report = await onLedger(async ({ admin }) => (await admin()).audit());
  const ok = report.findings.length === 0;
  const text = `The ledger ${ok ? "balances" : "does not balance"}.\n${textOf(report)}`;
  return { value: { ok, ...report }, text, exitCode: codeFor(ok) };
}

interface SetOptions extends Omit<CapChange, "hard"> {
  readonly hardUsd?: NanoUsd;
  readonly clear?: true;
}

async function setOwnCap({ hardUsd, clear, ...change }: SetOptions): Promise<Result> {
  const { goal, session, day } = change;
  if (session !== undefined && goal === undefined)
    throw invalidInput("--session needs --goal: caps are of goals and days");
  if ((goal === undefined) === (day === undefined)) throw invalidInput("say which cap: either --goal or --day");
  if ((hardUsd === undefined) === (clear === undefined))
    throw invalidInput("say what it should be: either --hard-usd or --clear");
  const value = await onLedger((stores) => setCap(stores, { ...change, hard: hardUsd ?? null }, shellOperator()));
  const cap = hardUsd === undefined ? "the policy's cap again" : `hard cap ${dollarText(hardUsd)}`;
  return { value, text: `${value.account}: ${cap}` };
}

async function reconcile({ day }: { readonly day: UtcDay }): Promise<Result> {
  const { settings, upstream } = aggregatorSettings();
  const value = await onLedger((stores) => reconcileDay(stores, upstream, day));
  const seen = `\`${settings.command} budgets holds --charged\` shows what is unresolved`;
  const advice = `\nThe two differ by more than that explains: ${seen}.`;
  const text = `${textOf(value)}\n\n${explanation}${value.ok ? "" : advice}`;
  return { value, text, exitCode: codeFor(value.ok) };
}

const explanation = `The aggregator counts everything that was spent with the key, also by others who use it. A call belongs
to the day on which it was admitted here, and to the day on which it was billed there. Money that is held may be
billed already, and what is unproven, charged because nobody knows the cost, may never be.`;

async function showHolds(filter: { readonly limit: number; readonly charged?: true }): Promise<Result> {
  const value = await onLedger((stores) => listHolds(stores, filter));
  const { holds, totals } = value;
  const columns = ["id", "state", "held_nano_usd", "goal", "model", "node", "since_ms", "until_ms", "why"];
  const sums = totals.map(
    ({ state, count, held_nano_usd }) => `${count} ${state}, ${dollarText(held_nano_usd)}: ${meaning[state]}`,
  );
  const text = holds.length === 0 ? "Nothing is held." : [`${textTable(holds, columns)}\n`, ...sums].join("\n");
  return { value, text };
}

const meaning = {
  live: "their calls are running and end their holds themselves",
  orphaned: "their gateway has died; another takes them over within a minute",
  unresolved:
    "nobody knows what these calls cost; charged in full at UNTIL unless you `budgets settle` or `budgets release` them",
  charged: "charged in full without proof; `budgets settle` and `budgets release` correct that",
} as const;

interface CloseOptions {
  readonly why?: string;
  readonly by?: string;
  readonly force?: true;
}

function settle(ids: readonly string[], options: CloseOptions & { readonly usd: NanoUsd }): Promise<Result> {
  return close({ ids, ending: { kind: "settled", actual: options.usd } }, options);
}

function release(ids: readonly string[], options: CloseOptions & { readonly unresolved?: true }): Promise<Result> {
  if ((ids.length === 0) === (options.unresolved === undefined))
    throw invalidInput("say which holds: either their ids or --unresolved");
  return close({ ids: options.unresolved ? "unresolved" : ids, ending: { kind: "released" } }, options);
}

/** Exit code 1 when one of them could not be closed. */
async function close(which: Pick<HoldClosing, "ids" | "ending">, options: CloseOptions): Promise<Result> {
  const { why = "no reason given", force, by } = options;
  const value = await onLedger(({ records, ...stores }) => {
    const onClosed = async (notice: ClosedReservation) => (await records()).correct([notice]);
    return closeHolds({ ...stores, onClosed }, { ...which, why, force }, shellOperator(by));
  });
  const text = value.length === 0 ? "There is no hold with an unknown outcome." : textOf(value);
  return {
    value,
    text,
    exitCode: codeFor(value.every(({ result }) => result !== "running" && result !== "not_found")),
  };
}
