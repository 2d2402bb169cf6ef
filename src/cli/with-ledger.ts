import { InvalidArgumentError } from "commander";
import { type NanoUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import { withStore } from "./with-database.ts";

/** Opens the ledger that DATABASE_URL names for one command. Problems are printed and end the command, as `withDatabase` says. */
export function withLedgerAdmin(
  env: NodeJS.ProcessEnv,
  options: { readonly json?: boolean | undefined },
  work: (admin: LedgerAdmin) => Promise<void>,
): Promise<void> {
  return withStore(env, options, "The budget store could not be read", openLedgerAdmin, work);
}

/** An option's amount in US dollars. */
export function usd(text: string): NanoUsd {
  // Rounded down: a cap never allows more than was written.
  const amount = parseUsd(text, "down");
  if (amount === undefined) throw new InvalidArgumentError("an amount in US dollars, such as 7.50");
  return amount;
}

/** An option's UTC day, or the word `today`. */
export function utcDay(text: string): string {
  if (text === "today") return text;
  const parsed = Date.parse(`${text}T00:00:00Z`);
  if (
    !/^\d{4}-\d{2}-\d{2}$/.test(text) ||
    Number.isNaN(parsed) ||
    new Date(parsed).toISOString().slice(0, 10) !== text
  ) {
    throw new InvalidArgumentError("a UTC day as YYYY-MM-DD, or today");
  }
  return text;
}
