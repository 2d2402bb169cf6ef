import { userInfo } from "node:os";
import { type Command, InvalidArgumentError } from "commander";
import { exitCodes, exitWith, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { progressBar } from "#cli/progress.ts";
import { textTable } from "#cli/table.ts";
import { withLedgerAdmin } from "#cli/with-ledger.ts";
import { defaultDatabaseUrl } from "#db/database-url.ts";
import { formatUsd, type NanoUsd, parseUsd } from "#domain/money/money.ts";
import { type HoldTotal, holdStates, type LedgerHold } from "#ledger/admin/holds.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import type { Resolution } from "#ledger/ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import { correctionOf, openRecordStore } from "#records/store/record-store.ts";

/** Reservations that one command closes in one transaction. */
const chunk = 128;
/** Reservations that one command closes at most. */
const maxHolds = 100_000;

/** `budgets holds`, `budgets settle` and `budgets release`: money that is held now, and ending a hold by hand. */
export function addHoldCommands(budgets: Command, env: NodeJS.ProcessEnv): void {
  budgets
    .command("holds")
    .description("print the money that is held: by running calls, and by calls whose outcome is unknown")
    .option("--limit <count>", "holds to print; those that end first come first", count, 50)
    .option("--charged", "also print holds that were charged in full because the cost is unknown")
    .option("--json", "print {holds, totals}; amounts in USD, as text")
    .action((options: { readonly limit: number; readonly charged?: true; readonly json?: true }) =>
      withLedgerAdmin(env, options, async (admin) => {
        const { holds, totals } = await admin.holds({ limit: options.limit, charged: options.charged === true });
        if (options.json) return printJson({ holds: holds.map(holdRecord), totals: totals.map(totalRecord) });
        printHolds(holds, totals);
      }),
    );
  budgets
    .command("settle")
    .description("charge the real cost of a call (see the aggregator's list of calls) and release the rest of its hold")
    .argument("<id...>", "ids as `budgets holds` prints them")
    .requiredOption("--usd <amount>", "cost of each of these calls, in US dollars", paid)
    .option("--why <text>", "reason, stored in the ledger entry beside your name")
    .option("--by <name>", "name for the ledger entry; default: the user that runs the command")
    .option("--force", "also close holds whose call may still be running")
    .option("--json", "print the result for each")
    .action((ids: readonly string[], options: CloseOptions & { readonly usd: NanoUsd }) =>
      closeByHand(env, ids, options, (id, reason) => ({
        id,
        kind: "settled",
        actual: options.usd,
        source: "operator",
        reason,
      })),
    );
  budgets
    .command("release")
    .description("release the hold of a call that was not billed; nothing is charged")
    .argument("[id...]", "ids as `budgets holds` prints them")
    .option("--unresolved", "release every hold whose call has an unknown outcome")
    .option("--why <text>", "reason, stored in the ledger entry beside your name")
    .option("--by <name>", "name for the ledger entry; default: the user that runs the command")
    .option("--force", "also close holds whose call may still be running")
    .option("--json", "print the result for each")
    .action((ids: readonly string[], options: CloseOptions & { readonly unresolved?: true }) => {
      if ((ids.length === 0) === (options.unresolved === undefined)) {
        return failWith(exitCodes.badUsage, "say which holds: either their ids or --unresolved", options);
      }
      return closeByHand(env, options.unresolved ? undefined : ids, options, (id, reason) => ({
        id,
        kind: "released",
        reason,
        source: "operator",
      }));
    });
}

interface CloseOptions {
  readonly why?: string;
  readonly by?: string;
  readonly force?: true;
  readonly json?: true;
}

interface Closed {
  readonly id: string;
  readonly result: "settled" | "released" | "corrected" | "unchanged" | "running" | "not_found";
  readonly held_usd?: string;
  readonly charged_usd?: string;
  readonly detail?: string;
}

/** Closes the named holds, or without names all unresolved ones. Exit code 1 when one of them could not be closed. */
function closeByHand(
  env: NodeJS.ProcessEnv,
  ids: readonly string[] | undefined,
  options: CloseOptions,
  resolutionOf: (id: string, reason: string) => Resolution,
): Promise<void> {
  return withLedgerAdmin(env, options, async (admin) => {
    const operator = (options.by ?? userName(env)).slice(0, 60);
    const reason = `operator ${operator}: ${options.why ?? "no reason given"}`;
    const results: Closed[] = [];
    const closed: LedgerNotice[] = [];
    const chunks = await chunksOf(admin, ids);
    const bar = progressBar("Closing holds", chunks.length);
    for (const [done, some] of chunks.entries()) {
      bar.at(done);
      const found = await admin.holds({ limit: some.length, charged: true, ids: some });
      const holds = new Map(found.holds.map((hold) => [hold.id, hold]));
      const mayClose = (id: string) => options.force === true || holds.get(id)?.state !== "live";
      const closing = some.filter((id) => holds.has(id) && mayClose(id));
      const notices = await admin.resolve(
        operator,
        closing.map((id) => resolutionOf(id, reason)),
      );
      closed.push(...notices);
      for (const id of some) results.push(resultOf(id, holds.get(id), mayClose(id), notices));
    }
    bar.end();
    await correctRecords(env, closed);
    if (options.json) printJson(results);
    else for (const result of results) print(lineOf(result));
    if (!options.json && results.length === 0) print("There is no hold with an unknown outcome.");
    if (results.some(({ result }) => result === "running" || result === "not_found")) exitWith(exitCodes.failed);
  });
}

/** The records of the calls get their costs, so that their sums stay the ledger's. */
async function correctRecords(env: NodeJS.ProcessEnv, notices: readonly LedgerNotice[]): Promise<void> {
  const resolved = notices.filter((notice) => notice.kind === "resolved");
  if (resolved.length === 0) return;
  try {
    const store = await openRecordStore(env["DATABASE_URL"] || defaultDatabaseUrl);
    try {
      await store.correct(resolved.map(correctionOf));
    } finally {
      await store.close();
    }
  } catch {
    console.error(
      "The holds are closed, but not all decision records have the costs yet; a running gateway adds them.",
    );
  }
}

async function chunksOf(
  admin: LedgerAdmin,
  ids: readonly string[] | undefined,
): Promise<readonly (readonly string[])[]> {
  const all = ids === undefined ? await unresolvedOf(admin) : [...new Set(ids)];
  const chunks: (readonly string[])[] = [];
  for (let from = 0; from < all.length; from += chunk) chunks.push(all.slice(from, from + chunk));
  return chunks;
}

async function unresolvedOf(admin: LedgerAdmin): Promise<readonly string[]> {
  const { holds } = await admin.holds({ limit: maxHolds });
  return holds.filter(({ state }) => state === "unresolved" || state === "orphaned").map(({ id }) => id);
}

function resultOf(
  id: string,
  hold: LedgerHold | undefined,
  mayClose: boolean,
  notices: readonly LedgerNotice[],
): Closed {
  if (hold === undefined) return { id, result: "not_found", detail: "nothing is held under this id" };
  const held = { held_usd: formatUsd(hold.amount) };
  if (!mayClose) {
    return {
      id,
      result: "running",
      ...held,
      detail: `its call may still run on ${hold.node} and ends its hold itself (--force closes it all the same)`,
    };
  }
  const notice = notices.find((one) => one.id === id);
  if (notice?.kind !== "resolved") {
    return { id, result: "unchanged", ...held, detail: notice?.kind === "ignored" ? notice.why : "closed meanwhile" };
  }
  const result =
    notice.state === "RELEASED" ? "released" : notice.state === "CORRECTED" ? "corrected" : ("settled" as const);
  return { id, result, ...held, charged_usd: formatUsd(notice.charged) };
}

function lineOf({ id, result, held_usd, charged_usd, detail }: Closed): string {
  const money = charged_usd === undefined ? "" : `: held ${held_usd} USD, charged ${charged_usd} USD`;
  return `${id}  ${result}${money}${detail === undefined ? "" : `: ${detail}`}`;
}

function printHolds(holds: readonly LedgerHold[], totals: readonly HoldTotal[]): void {
  if (holds.length === 0) {
    print("Nothing is held.");
    return;
  }
  print(
    textTable(
      ["ID", "STATE", "HELD USD", "GOAL", "MODEL", "NODE", "SINCE", "UNTIL", "WHY"],
      holds.map((hold) => {
        const { id, state, held_usd, goal, model, node, since, until, why } = holdRecord(hold);
        return [id, state, held_usd, goal, model, node, since, until, why];
      }),
    ),
  );
  print("");
  for (const state of holdStates) {
    const total = totals.find((one) => one.state === state);
    if (total !== undefined) print(`${total.count} ${state}, ${formatUsd(total.amount)} USD: ${meaning[state]}`);
  }
  const all = totals.reduce((sum, total) => sum + total.count, 0);
  if (all > holds.length) print(`${all - holds.length} more; --limit shows them.`);
}

const meaning: { readonly [S in LedgerHold["state"]]: string } = {
  live: "their calls are running and end their holds themselves",
  orphaned: "their gateway has died; another takes them over within a minute",
  unresolved:
    "nobody knows what these calls cost; each is charged in full at UNTIL unless `budgets settle ID --usd X` or `budgets release ID` ends it before",
  charged: "charged in full without proof; `budgets settle` and `budgets release` correct that",
};

function holdRecord(hold: LedgerHold) {
  return {
    id: hold.id,
    state: hold.state,
    held_usd: formatUsd(hold.amount),
    goal: hold.goalAccount.replace(/^goal\//, ""),
    day: hold.dayAccount.replace(/^day\//, ""),
    model: hold.model,
    node: hold.node,
    node_seen: hold.nodeSeenMs === null ? null : isoText(hold.nodeSeenMs),
    since: isoText(hold.sinceMs),
    until: isoText(hold.untilMs),
    why: hold.why,
  };
}

function totalRecord({ state, count: number, amount }: HoldTotal) {
  return { state, count: number, held_usd: formatUsd(amount) };
}

function isoText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function userName(env: NodeJS.ProcessEnv): string {
  try {
    return env["SUDO_USER"] || userInfo().username;
  } catch {
    return env["USER"] || "unknown"; // a container's user need not have an entry
  }
}

function count(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("a whole number from 1 to 999999");
  return Number(text);
}

function paid(text: string): NanoUsd {
  // Rounded up: what is charged is never below what was paid.
  const amount = parseUsd(text, "up");
  if (amount === undefined) throw new InvalidArgumentError("an amount in US dollars, such as 0.0187");
  return amount;
}
