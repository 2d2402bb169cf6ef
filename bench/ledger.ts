/**
 * Reserve+settle pairs per second of the ledger, and the wait of each, on SQLite and PostgreSQL: one node and several, and beside them the
 * same pairs one transaction each, in the same run. Every pair is durable before it is answered. All pairs share one day account and eight
 * goals, so contention is as high as possible. Ends with an audit.
 *
 *   bun bench/ledger.ts [--seconds 5] [--only sqlite|postgres]
 */
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PostgresConnection } from "#db/postgres.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { audit } from "#ledger/admin/audit.ts";
import { type Ledger, type Reservation, reservationIdOf } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import { postgresMissing, startPostgres } from "../test/harness/postgres.ts";
import { median, quantile } from "./support/quantiles.ts";

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    only: { type: "string" },
    // The mode in which the benchmark starts itself.
    node: { type: "string" },
    url: { type: "string" },
    callers: { type: "string", default: "64" },
  },
});
const seconds = Number(flags.seconds);
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
const cap = nanoUsd(9_000_000_000_000_000);

interface Figures {
  readonly pairsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

let made = 0;
function nextReservation(): Reservation {
  made += 1;
  const requestId = Bun.randomUUIDv7();
  return {
    id: reservationIdOf(requestId, 1),
    requestId,
    attempt: 1,
    goal: `bench/${made % 8}`,
    modelKey: "vendor_v4_flash",
    amount: nanoUsd(1_000_000 + (made % 1_009)),
    perGoalHard: cap,
    perDayHard: cap,
    deadlineMs: 600_000,
  };
}

async function pair(ledger: Ledger): Promise<void> {
  const reservation = nextReservation();
  const reply = await ledger.reserve(reservation);
  if (reply.kind !== "held") throw new Error(`not held: ${reply.kind}`);
  const actual = nanoUsd(400_000 + (made % 1_013));
  await ledger.resolve([{ id: reservation.id, kind: "settled", actual, source: "upstream_cost" }]);
}

/** Pairs of several callers, each with the next ledger of the list, one after the other. */
async function measure(ledgers: readonly Ledger[], callers: number): Promise<Figures> {
  const waits: number[] = [];
  const caller = async (index: number, endMs: number) => {
    const ledger = ledgers[index % ledgers.length];
    while (ledger !== undefined && performance.now() < endMs) {
      const from = performance.now();
      await pair(ledger);
      waits.push(performance.now() - from);
    }
  };
  const all = (endMs: number) => Promise.all(Array.from({ length: callers }, (_, index) => caller(index, endMs)));
  await all(performance.now() + 500);
  waits.length = 0;
  await all(performance.now() + seconds * 1_000);
  return { pairsPerSecond: waits.length / seconds, p50Ms: median(waits), p99Ms: quantile(waits, 0.99) };
}

function show(what: string, { pairsPerSecond, p50Ms, p99Ms }: Figures): void {
  const figures = `${pairsPerSecond.toFixed(0).padStart(7)} pairs/s  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`;
  console.log(`${what.padEnd(48)}${figures}`);
}

/** Several gateway processes on the same rows. */
async function nodes(url: string, count: number, callers: number): Promise<Figures> {
  const parts = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const args = ["--node", `bench-${index}`, "--url", url, "--callers", `${callers}`, "--seconds", `${seconds}`];
      const child = Bun.spawn([process.execPath, import.meta.path, ...args], { stdout: "pipe", stderr: "inherit" });
      return JSON.parse(await new Response(child.stdout).text()) as Figures; // this program wrote it
    }),
  );
  return {
    pairsPerSecond: parts.reduce((sum, one) => sum + one.pairsPerSecond, 0),
    p50Ms: Math.max(...parts.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...parts.map(({ p99Ms }) => p99Ms)),
  };
}

async function measureStore(name: string, url: string, separate: () => Promise<string>): Promise<void> {
  const ledger = await openLedger(url, { nodeId: "bench", clock });
  for (const callers of [1, 64, 512]) show(`${name}, ${callers} callers`, await measure([ledger], callers));
  await ledger.close(5_000);
  show(`${name}, 4 nodes of 64 callers`, await nodes(url, 4, 64));
  // One caller for each connection, so that no operation shares its transaction with another.
  const other = await separate();
  const alone = await openLedger(other, { nodeId: "alone", clock });
  show(`${name}, one transaction each`, await measure([alone], 1));
  await alone.close(5_000);
}

async function balanced(query: (sql: string) => Promise<readonly Record<string, unknown>[]>): Promise<void> {
  const { findings, reservations } = await audit(query, Date.now());
  if (findings.length > 0) throw new Error(`the ledger does not balance: ${JSON.stringify(findings.slice(0, 3))}`);
  console.log(`    audit clean over ${reservations} reservations`);
}

async function sqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
  try {
    const path = join(folder, "gateway.db");
    await measureStore("SQLite", `sqlite:${path}`, async () => `sqlite:${join(folder, "alone.db")}`);
    const db = new Database(path, { readonly: true });
    await balanced(async (sql) => db.query<Record<string, unknown>, []>(sql).all());
    db.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function postgres(): Promise<void> {
  const missing = postgresMissing();
  if (missing !== undefined) return console.log(`PostgreSQL: not measured, ${missing}`);
  const server = await startPostgres({ shared_buffers: "256MB", max_wal_size: "4GB" });
  try {
    const url = await server.createDatabase();
    await measureStore("PostgreSQL", url, () => server.createDatabase());
    const connection = new PostgresConnection(url, 30_000);
    await balanced(async (sql) => (await connection.run(sql))[0] ?? []);
    await connection.close();
  } finally {
    await server.remove();
  }
}

if (flags.node !== undefined && flags.url !== undefined) {
  const ledger = await openLedger(flags.url, { nodeId: flags.node, clock });
  const figures = await measure([ledger], Number(flags.callers));
  await ledger.close(5_000);
  console.log(JSON.stringify(figures));
} else {
  if (flags.only !== "postgres") await sqlite();
  if (flags.only !== "sqlite") await postgres();
}
process.exit(0);
