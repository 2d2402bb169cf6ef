import { withLedger, withRecords } from "#cli/databases.ts";
import { userName } from "#cli/options.ts";
import { badUsage, exitCodes, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { dollarText, type NanoUsd } from "#domain/money/money.ts";
import { type ClosedHold, closeHold, type HoldEnding } from "#ledger/admin/close-hold.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";

/** Money that is held now, and ending a hold by hand. */

/** Holds that one command closes, at most. */
const maxHolds = 100_000;

export async function showHolds(
  options: OutputOptions & { readonly limit: number; readonly charged?: true },
): Promise<void> {
  const { limit, charged = false } = options;
  const found = await withLedger((admin) => admin.holds({ limit, charged }));
  const holds = found.holds.map((hold) => ({
    id: hold.id,
    state: hold.state,
    held_nano_usd: hold.amount,
    goal: hold.goalAccount.replace(/^goal\//, ""),
    day: hold.dayAccount.replace(/^day\//, ""),
    model: hold.model,
    node: hold.node,
    node_seen: hold.nodeSeenMs === null ? null : isoTime(hold.nodeSeenMs),
    since: isoTime(hold.sinceMs),
    until: isoTime(hold.untilMs),
    why: hold.why,
  }));
  const totals = found.totals.map(({ state, count, amount }) => ({ state, count, held_nano_usd: amount }));
  const lines = [
    `${textTable(holds, ["id", "state", "held_nano_usd", "goal", "model", "node", "since", "until", "why"])}\n`,
    ...found.totals.map(({ state, count, amount }) => `${count} ${state}, ${dollarText(amount)}: ${meaning[state]}`),
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

export function settle(ids: readonly string[], options: CloseOptions & { readonly usd: NanoUsd }): Promise<void> {
  return close(ids, options, { kind: "settled", actual: options.usd });
}

export function release(ids: readonly string[], options: CloseOptions & { readonly unresolved?: true }): Promise<void> {
  if ((ids.length === 0) === (options.unresolved === undefined))
    throw badUsage("say which holds: either their ids or --unresolved");
  return close(options.unresolved ? undefined : ids, options, { kind: "released" });
}

/** Closes the named holds, or without names all unresolved ones. Exit code 1 when one of them could not be closed. */
async function close(ids: readonly string[] | undefined, options: CloseOptions, ending: HoldEnding): Promise<void> {
  const { why = "no reason given", force } = options;
  const name = options.by ?? userName();
  const operator = { name, reason: `operator ${name}: ${why}`, force };
  const results: ClosedHold[] = [];
  await withLedger(async (admin) => {
    const isOpen = ({ state }: LedgerHold) => state === "unresolved" || state === "orphaned";
    const all = ids ?? (await admin.holds({ limit: maxHolds })).holds.filter(isOpen).map(({ id }) => id);
    for (const id of new Set(all)) results.push(await closeHold(admin, id, ending, operator));
  });
  const notices = results.flatMap(({ notice }) => notice ?? []);
  // The records of the calls get their costs, so that their sums stay the ledger's.
  if (notices.length > 0) await withRecords((store) => store.correct(notices));
  const shown = results.map(({ notice: _, ...result }) => result);
  print(shown, options, shown.length === 0 ? "There is no hold with an unknown outcome." : textOf(shown));
  if (shown.some(({ result }) => result === "running" || result === "not_found")) process.exitCode = exitCodes.failed;
}
