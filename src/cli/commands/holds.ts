import type { Command } from "commander";
import { withLedger, withRecords } from "#cli/databases.ts";
import { usd, userName, wholeNumber } from "#cli/options.ts";
import { badUsage, exitCodes, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { formatUsd, type NanoUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import type { Resolution } from "#ledger/ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import { correctionOf } from "#records/cost-correction.ts";

/** Reservations that one command closes in one transaction, and at most. */
const chunk = 128;
const maxHolds = 100_000;

/** `budgets holds`, `budgets settle` and `budgets release`: money that is held now, and ending a hold by hand. */
export function addHoldCommands(budgets: Command): void {
  budgets
    .command("holds")
    .description("print the money that is held: by running calls, and by calls whose outcome is unknown")
    .option("--limit <count>", "holds to print; those that end first come first", wholeNumber(1, 999_999), 50)
    .option("--charged", "also print holds that were charged in full because the cost is unknown")
    .addHelpText("after", "\nExample: smart-gateway budgets holds --charged")
    .action(showHolds);
  const settle = budgets
    .command("settle")
    .description("charge the real cost of a call (see the aggregator's list of calls) and release the rest of its hold")
    .argument("<id...>", "ids as `budgets holds` prints them")
    .requiredOption("--usd <amount>", "cost of each of these calls, in US dollars", usd("up"))
    .addHelpText("after", "\nExample: smart-gateway budgets settle ID --usd 0.0187 --why 'invoice'")
    .action((ids: readonly string[], options: CloseOptions & { readonly usd: NanoUsd }) =>
      closeByHand(ids, options, { kind: "settled", actual: options.usd }),
    );
  const release = budgets
    .command("release")
    .description("release the hold of a call that was not billed; nothing is charged")
    .argument("[id...]", "ids as `budgets holds` prints them")
    .option("--unresolved", "release every hold whose call has an unknown outcome")
    .addHelpText("after", "\nExample: smart-gateway budgets release --unresolved")
    .action((ids: readonly string[], options: CloseOptions & { readonly unresolved?: true }) => {
      if ((ids.length === 0) === (options.unresolved === undefined))
        throw badUsage("say which holds: either their ids or --unresolved");
      return closeByHand(options.unresolved ? undefined : ids, options, { kind: "released" });
    });
  for (const command of [settle, release]) {
    command
      .option("--why <text>", "reason, stored in the ledger entry beside your name")
      .option("--by <name>", "name for the ledger entry; default: the user that runs the command")
      .option("--force", "also close holds whose call may still be running");
  }
}

async function showHolds(options: OutputOptions & { readonly limit: number; readonly charged?: true }): Promise<void> {
  const { limit, charged = false } = options;
  const found = await withLedger((admin) => admin.holds({ limit, charged }));
  const holds = found.holds.map((hold) => ({
    id: hold.id,
    state: hold.state,
    held_usd: formatUsd(hold.amount),
    goal: hold.goalAccount.replace(/^goal\//, ""),
    day: hold.dayAccount.replace(/^day\//, ""),
    model: hold.model,
    node: hold.node,
    node_seen: hold.nodeSeenMs === null ? null : isoTime(hold.nodeSeenMs),
    since: isoTime(hold.sinceMs),
    until: isoTime(hold.untilMs),
    why: hold.why,
  }));
  const totals = found.totals.map(({ state, count, amount }) => ({ state, count, held_usd: formatUsd(amount) }));
  const lines = [
    `${textTable(holds, ["id", "state", "held_usd", "goal", "model", "node", "since", "until", "why"])}\n`,
    ...totals.map(({ state, count, held_usd }) => `${count} ${state}, ${held_usd} USD: ${meaning[state]}`),
  ];
  print({ holds, totals }, options, holds.length === 0 ? "Nothing is held." : lines.join("\n"));
}

const meaning: { readonly [S in LedgerHold["state"]]: string } = {
  live: "their calls are running and end their holds themselves",
  orphaned: "their gateway has died; another takes them over within a minute",
  unresolved:
    "nobody knows what these calls cost; each is charged in full at UNTIL unless `budgets settle ID --usd X` or `budgets release ID` ends it before",
  charged: "charged in full without proof; `budgets settle` and `budgets release` correct that",
};

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

interface CloseOptions extends OutputOptions {
  readonly why?: string;
  readonly by?: string;
  readonly force?: true;
}

interface Closed {
  readonly id: string;
  readonly result: "settled" | "released" | "corrected" | "unchanged" | "running" | "not_found";
  readonly held_usd?: string;
  readonly charged_usd?: string;
  readonly detail?: string;
}

type Ending = { readonly kind: "settled"; readonly actual: NanoUsd } | { readonly kind: "released" };

/** Closes the named holds, or without names all unresolved ones. Exit code 1 when one of them could not be closed. */
async function closeByHand(ids: readonly string[] | undefined, options: CloseOptions, ending: Ending): Promise<void> {
  const operator = (options.by ?? userName()).slice(0, 60);
  const reason = `operator ${operator}: ${options.why ?? "no reason given"}`;
  const results: Closed[] = [];
  const notices: LedgerNotice[] = [];
  await withLedger(async (admin) => {
    const all = ids === undefined ? await unresolvedIds(admin) : [...new Set(ids)];
    for (let from = 0; from < all.length; from += chunk) {
      const some = all.slice(from, from + chunk);
      const { holds } = await admin.holds({ limit: some.length, charged: true, ids: some });
      const closing = holds.filter(({ state }) => options.force === true || state !== "live");
      const resolutions = closing.map(({ id }): Resolution => ({ ...ending, id, source: "operator", reason }));
      const closed = resolutions.length === 0 ? [] : await admin.resolve(operator, resolutions);
      notices.push(...closed);
      for (const id of some) {
        const hold = holds.find((one) => one.id === id);
        const isRunning = hold !== undefined && !closing.includes(hold);
        results.push(
          resultFor(
            id,
            hold,
            isRunning,
            closed.find((notice) => notice.id === id),
          ),
        );
      }
    }
  });
  await correctRecords(notices);
  print(results, options, results.length === 0 ? "There is no hold with an unknown outcome." : textOf(results));
  if (results.some(({ result }) => result === "running" || result === "not_found")) process.exitCode = exitCodes.failed;
}

async function unresolvedIds(admin: LedgerAdmin): Promise<readonly string[]> {
  const { holds } = await admin.holds({ limit: maxHolds });
  return holds.filter(({ state }) => state === "unresolved" || state === "orphaned").map(({ id }) => id);
}

function resultFor(
  id: string,
  hold: LedgerHold | undefined,
  isRunning: boolean,
  notice: LedgerNotice | undefined,
): Closed {
  if (hold === undefined) return { id, result: "not_found", detail: "nothing is held under this id" };
  const held_usd = formatUsd(hold.amount);
  if (isRunning) {
    const detail = `its call may still run on ${hold.node} and ends its hold itself (--force closes it all the same)`;
    return { id, result: "running", held_usd, detail };
  }
  if (notice?.kind !== "resolved") {
    return { id, result: "unchanged", held_usd, detail: notice?.kind === "ignored" ? notice.why : "closed meanwhile" };
  }
  const { state, charged } = notice;
  const result = state === "RELEASED" ? "released" : state === "CORRECTED" ? "corrected" : "settled";
  return { id, result, held_usd, charged_usd: formatUsd(charged) };
}

/** The records of the calls get their costs, so that their sums stay the ledger's. */
async function correctRecords(notices: readonly LedgerNotice[]): Promise<void> {
  const resolved = notices.filter((notice) => notice.kind === "resolved");
  if (resolved.length === 0) return;
  try {
    await withRecords(async (store) => {
      await store.correct(resolved.map(correctionOf));
    });
  } catch {
    console.error(
      "The holds are closed, but not all decision records have the costs yet; a running gateway adds them.",
    );
  }
}
