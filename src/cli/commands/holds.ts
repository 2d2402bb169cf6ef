import { withLedger, withRecords } from "#cli/databases.ts";
import { userName } from "#cli/options.ts";
import { badUsage, exitCodes, type OutputOptions, print, textOf, textTable } from "#cli/output.ts";
import { dollarText } from "#domain/money/dollar-text.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import type { Resolution } from "#ledger/ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";

/** Money that is held now, and ending a hold by hand. */

/** Reservations that one command closes in one transaction, and at most. */
const chunk = 128;
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

interface Closed {
  readonly id: string;
  readonly result: "settled" | "released" | "corrected" | "unchanged" | "running" | "not_found";
  readonly held_nano_usd?: number;
  readonly charged_nano_usd?: number;
  readonly detail?: string;
}

type Ending = { readonly kind: "settled"; readonly actual: NanoUsd } | { readonly kind: "released" };

/** Closes the named holds, or without names all unresolved ones. Exit code 1 when one of them could not be closed. */
async function close(ids: readonly string[] | undefined, options: CloseOptions, ending: Ending): Promise<void> {
  const operator = (options.by ?? userName()).slice(0, 60);
  const reason = `operator ${operator}: ${options.why ?? "no reason given"}`;
  const results: Closed[] = [];
  const notices: LedgerNotice[] = [];
  await withLedger(async (admin) => {
    const isOpen = ({ state }: LedgerHold) => state === "unresolved" || state === "orphaned";
    const all = ids ?? (await admin.holds({ limit: maxHolds })).holds.filter(isOpen).map(({ id }) => id);
    for (let from = 0; from < all.length; from += chunk) {
      const some = [...new Set(all.slice(from, from + chunk))];
      const { holds } = await admin.holds({ limit: some.length, charged: true, ids: some });
      const closing = holds.filter(({ state }) => options.force === true || state !== "live");
      const resolutions = closing.map(({ id }): Resolution => ({ ...ending, id, source: "operator", reason }));
      const closed = resolutions.length === 0 ? [] : await admin.resolve(operator, resolutions);
      notices.push(...closed);
      for (const id of some) {
        const hold = holds.find((one) => one.id === id);
        const isRunning = hold !== undefined && !closing.includes(hold);
        const notice = closed.find((one) => one.id === id);
        results.push({ id, ...closingResult(hold, isRunning, notice) });
      }
    }
  });
  await correctRecords(notices);
  print(results, options, results.length === 0 ? "There is no hold with an unknown outcome." : textOf(results));
  if (results.some(({ result }) => result === "running" || result === "not_found")) process.exitCode = exitCodes.failed;
}

function closingResult(
  hold: LedgerHold | undefined,
  isRunning: boolean,
  notice: LedgerNotice | undefined,
): Omit<Closed, "id"> {
  if (hold === undefined) return { result: "not_found", detail: "nothing is held under this id" };
  const held_nano_usd = hold.amount;
  if (isRunning) {
    const detail = `its call may still run on ${hold.node} and ends its hold itself (--force closes it all the same)`;
    return { result: "running", held_nano_usd, detail };
  }
  if (notice?.kind !== "resolved") {
    const detail = notice?.kind === "ignored" ? notice.why : "closed meanwhile";
    return { result: "unchanged", held_nano_usd, detail };
  }
  const { state, charged } = notice;
  const result = state === "RELEASED" ? "released" : state === "CORRECTED" ? "corrected" : "settled";
  return { result, held_nano_usd, charged_nano_usd: charged };
}

/** The records of the calls get their costs, so that their sums stay the ledger's. */
async function correctRecords(notices: readonly LedgerNotice[]): Promise<void> {
  const resolved = notices.filter((notice) => notice.kind === "resolved");
  if (resolved.length === 0) return;
  try {
    await withRecords((store) => store.correct(resolved));
  } catch {
    console.error(
      "The holds are closed, but not all decision records have the costs yet; a running gateway adds them.",
    );
  }
}
