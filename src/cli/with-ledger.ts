import { InvalidArgumentError } from "commander";
import { databaseUrlForms, defaultDatabaseUrl, parseDatabaseUrl } from "#db/database-url.ts";
import { type NanoUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import { exitCodes, failWith, failWithError } from "./exit.ts";

/** Opens the store that DATABASE_URL names for one command. Problems with it are printed and end the command with 1. */
export async function withLedgerAdmin(
  env: NodeJS.ProcessEnv,
  options: { readonly json?: boolean | undefined },
  work: (admin: LedgerAdmin) => Promise<void>,
): Promise<void> {
  const url = env["DATABASE_URL"] || defaultDatabaseUrl;
  if (parseDatabaseUrl(url) === undefined) {
    return failWith(exitCodes.badUsage, `DATABASE_URL ${databaseUrlForms}`, options);
  }
  let admin: LedgerAdmin | undefined;
  try {
    admin = await openLedgerAdmin(url);
    await work(admin);
  } catch (error) {
    // Never the URL: it may carry a password.
    failWithError("The budget store could not be read", error, options);
  } finally {
    await admin?.close();
  }
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
