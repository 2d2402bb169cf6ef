import { onLedger, shellOperator } from "#cli/options.ts";
import { badUsage, exitCodes, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { dollarText, type NanoUsd } from "#domain/money/money.ts";
import { closeHolds, type HoldClosing, listHolds } from "#operator/holds.ts";
import type { ClosedReservation } from "#records/records.ts";

/** Money that is held now, and ending a hold by hand. */
export async function showHolds(options: OutputOptions & { readonly limit: number; readonly charged?: true }) {
  const found = await onLedger((stores) =>
    listHolds(stores, { limit: options.limit, charged: options.charged === true }),
  );
  const { holds, totals } = found;
  const columns = ["id", "state", "held_nano_usd", "goal", "model", "node", "since_ms", "until_ms", "why"];
  const sums = totals.map(
    ({ state, count, held_nano_usd }) => `${count} ${state}, ${dollarText(held_nano_usd)}: ${meaning[state]}`,
  );
  const text = holds.length === 0 ? "Nothing is held." : [`${textTable(holds, columns)}\n`, ...sums].join("\n");
  print(found, options, text);
}

const meaning = {
  live: "their calls are running and end their holds themselves",
  orphaned: "their gateway has died; another takes them over within a minute",
  unresolved:
    "nobody knows what these calls cost; each is charged in full at UNTIL unless `budgets settle ID --usd X` or `budgets release ID` ends it before",
  charged: "charged in full without proof; `budgets settle` and `budgets release` correct that",
} as const;

interface CloseOptions extends OutputOptions {
  readonly why?: string;
  readonly by?: string;
  readonly force?: true;
}

export function settle(ids: readonly string[], options: CloseOptions & { readonly usd: NanoUsd }): Promise<void> {
  return close({ ids, ending: { kind: "settled", actual: options.usd } }, options);
}

export function release(ids: readonly string[], options: CloseOptions & { readonly unresolved?: true }): Promise<void> {
  if ((ids.length === 0) === (options.unresolved === undefined))
    throw badUsage("say which holds: either their ids or --unresolved");
  return close({ ids: options.unresolved ? "unresolved" : ids, ending: { kind: "released" } }, options);
}

/** Exit code 1 when one of them could not be closed. */
async function close(which: Pick<HoldClosing, "ids" | "ending">, options: CloseOptions): Promise<void> {
  const { why = "no reason given", force, by } = options;
  const shown = await onLedger(({ records, ...stores }) => {
    const onClosed = async (notice: ClosedReservation) => (await records()).correct([notice]);
    return closeHolds({ ...stores, onClosed }, { ...which, why, force }, shellOperator(by));
  });
  print(shown, options, shown.length === 0 ? "There is no hold with an unknown outcome." : textOf(shown));
  if (shown.some(({ result }) => result === "running" || result === "not_found")) process.exitCode = exitCodes.failed;
}
