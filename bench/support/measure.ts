import { readdirSync, readFileSync } from "node:fs";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";

/** Measurements from outside the gateway's process. */

/** Resident memory of a process in bytes; undefined if the system does not report it. */
export function residentBytes(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** Open file descriptors of a process. */
export function descriptors(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

export interface AuditReport {
  readonly spentNanoUsd: number;
  readonly heldNanoUsd: number;
  readonly findings: readonly string[];
}

/** The ledger's audit, and today's account. */
export async function auditOf(databaseUrl: string): Promise<AuditReport> {
  const admin = await openLedgerAdmin(databaseUrl);
  try {
    const day = `day/${await admin.today()}`;
    const { accounts } = await admin.accounts(1_000);
    const account = accounts.find(({ id }) => id === day);
    const { findings } = await admin.audit();
    return {
      spentNanoUsd: account?.spent ?? 0,
      heldNanoUsd: account?.held ?? 0,
      findings: findings.map(({ check, id, detail }) => `${check} ${id}: ${detail}`),
    };
  } finally {
    await admin.close();
  }
}

/** One line of a report: a figure, its limit, and whether the figure is within it. */
export interface Bar {
  readonly name: string;
  readonly figure: string;
  readonly bar: string;
  readonly ok: boolean;
}

/** Prints the figures; the exit code says whether all are within their limits. */
export function report(bars: readonly Bar[]): void {
  for (const { name, figure, bar, ok } of bars)
    console.log(`${ok ? "ok    " : "MISSED"}  ${name.padEnd(44)} ${figure.padEnd(26)} ${bar}`);
  process.exitCode = bars.every(({ ok }) => ok) ? 0 : 1;
}
