/**
 * The throughput and latency of the ledger on this machine: reserve+settle pairs per second and the wait of each, open and closed
 * loop, on SQLite and PostgreSQL (1 and 4 nodes), compared with one transaction for each operation, in the same run.
 *
 *   bun bench/ledger.ts [--seconds 5] [--rounds 3] [--only sqlite|postgres] [--json]
 *   bun bench/ledger.ts --cpu [--callers 16]    processor time per pair by thread, on one core, on SQLite (Linux only)
 *
 * Every pair writes the same rows as a real one: admission and settlement with their entries on two accounts, durable before the
 * answer. All pairs share one day account and eight goals, so contention is as high as possible.
 *
 * A pair's wait begins when it is started and ends when its settlement is durable: two commits, one after the other. Open
 * loops on SQLite are measured in several rounds, each after a measurement of the disk alone (a write and its sync, paced like
 * commits). The best round is shown and all are listed, because a shared disk or machine is slow at times.
 */
import { Database } from "bun:sqlite";
import { closeSync, fsyncSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { PostgresConnection } from "#db/postgres.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { audit } from "#ledger/admin/audit.ts";
import { type Ledger, type Reservation, reservationIdOf } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import { SqliteEngine } from "#ledger/sqlite/sqlite-engine.ts";
import { postgresMissing, startPostgres } from "../test/harness/postgres.ts";
import { lowerQuartile, median, quantile } from "./support/quantiles.ts";

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    cpu: { type: "boolean", default: false },
    // The modes in which the benchmark starts itself.
    node: { type: "string" },
    url: { type: "string" },
    rate: { type: "string" },
    callers: { type: "string" },
  },
});
const seconds = Number(flags.seconds);
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
const cap = nanoUsd(9_000_000_000_000_000);

interface Figures {
  readonly what: string;
  readonly pairsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly loopP99Ms: number;
  readonly failed: number;
  /** The part of `p50Ms` until the reservation was answered: the wait of a caller of the gateway. */
  readonly reserveP50Ms?: number;
  /** How much later than scheduled an open loop started its pairs. This delay of the generator is not part of the waits. */
  readonly lateP50Ms?: number;
  readonly rounds?: readonly Round[];
}

interface Round {
  readonly p50Ms: number;
  /** The median of the disk alone, just before. */
  readonly diskP50Ms: number;
  /** The share of the machine's processor time that its host gave to others; 0 if the host does not report it. */
  readonly stolen: number;
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

async function pair(ledger: Ledger, reserved = () => {}): Promise<boolean> {
  const reservation = nextReservation();
  const reply = await ledger.reserve(reservation);
  if (reply.kind !== "held") return false;
  reserved();
  await ledger.resolve([
    { id: reservation.id, kind: "settled", actual: nanoUsd(400_000 + (made % 1_013)), source: "upstream_cost" },
  ]);
  return true;
}

/** Runs pairs for the given time. With a rate it is an open loop: pairs start on schedule whether earlier ones have ended or not. */
async function run(what: string, ledger: Ledger, load: { rate?: number; callers?: number }): Promise<Figures> {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  const waits: number[] = [];
  const reserves: number[] = [];
  const late: number[] = [];
  let failed = 0;
  const one = async () => {
    const from = performance.now();
    if (await pair(ledger, () => reserves.push(performance.now() - from))) waits.push(performance.now() - from);
    else failed += 1;
  };
  for (let i = 0; i < 200; i++) await Promise.all([one(), one(), one(), one()]);
  waits.length = 0;
  reserves.length = 0;
  failed = 0;
  loop.enable();
  const started = performance.now();
  const ends = started + seconds * 1_000;
  if (load.rate !== undefined) {
    const running = new Set<Promise<void>>();
    let sent = 0;
    while (performance.now() < ends) {
      const due = Math.floor(((performance.now() - started) / 1_000) * load.rate);
      for (; sent < due; sent++) {
        late.push(performance.now() - started - ((sent + 1) / load.rate) * 1_000);
        const next = one().finally(() => running.delete(next));
        running.add(next);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(running);
  } else {
    const caller = async () => {
      while (performance.now() < ends) await one();
    };
    await Promise.all(Array.from({ length: load.callers ?? 64 }, caller));
  }
  const took = (performance.now() - started) / 1_000;
  loop.disable();
  return {
    what,
    pairsPerSecond: waits.length / took,
    ...shares(waits),
    loopP99Ms: loop.percentile(99) / 1e6,
    failed,
    reserveP50Ms: shares(reserves).p50Ms,
    ...(load.rate === undefined ? {} : { lateP50Ms: shares(late).p50Ms }),
  };
}

/** The best of several rounds, each after a measurement of the disk alone. */
async function bestOf(what: string, ledger: Ledger, load: { rate: number }, folder: string): Promise<Figures> {
  const measured: Figures[] = [];
  const rounds: Round[] = [];
  for (let round = 0; round < Math.max(1, Number(flags.rounds)); round++) {
    const { p50Ms: diskP50Ms } = await diskAlone(folder);
    const before = processorTicks();
    const one = await run(what, ledger, load);
    const after = processorTicks();
    const stolen = (after.stolen - before.stolen) / Math.max(1, after.busy - before.busy);
    measured.push(one);
    rounds.push({ p50Ms: one.p50Ms, diskP50Ms, stolen });
  }
  const [best] = measured.toSorted((a, b) => a.p50Ms - b.p50Ms);
  if (best === undefined) throw new Error("no round was run");
  return { ...best, rounds };
}

/** Times of all processors together since the system start; time that the host took counts as busy. */
function processorTicks(): { readonly busy: number; readonly stolen: number } {
  if (process.platform !== "linux") return { busy: 0, stolen: 0 };
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] =
    /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1]?.split(" ").map(Number) ?? [];
  return { busy: user + nice + system + irq + softirq + stolen, stolen };
}

/** What one commit costs the disk: some pages written in place, as the log's are, and synced; a pause between two. */
async function diskAlone(folder: string): Promise<{ p50Ms: number; p99Ms: number }> {
  const file = openSync(join(folder, "disk"), "w");
  const pages = Buffer.alloc(32_768, 7);
  const places = 128;
  for (let place = 0; place < places; place++) writeSync(file, pages, 0, pages.length, place * pages.length);
  fsyncSync(file);
  const waits: number[] = [];
  for (let i = 0; i < 300; i++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const from = performance.now();
    writeSync(file, pages, 0, pages.length, (i % places) * pages.length);
    fsyncSync(file);
    waits.push(performance.now() - from);
  }
  closeSync(file);
  return shares(waits);
}

function shares(waits: number[]): { p50Ms: number; p99Ms: number } {
  return { p50Ms: median(waits), p99Ms: quantile(waits, 0.99) };
}

const figures: Figures[] = [];
function show(one: Figures): void {
  figures.push(one);
  if (flags.json) return;
  const fixed = (value: number, digits: number) => value.toFixed(digits).padStart(9);
  console.log(
    `${one.what.padEnd(52)}${fixed(one.pairsPerSecond, 0)} pairs/s  p50 ${fixed(one.p50Ms, 2)} ms  p99 ${fixed(one.p99Ms, 2)} ms  ` +
      `event loop p99 ${fixed(one.loopP99Ms, 2)} ms${one.failed > 0 ? `  ${one.failed} not held` : ""}`,
  );
  if (one.rounds === undefined) return;
  const each = one.rounds.map(
    ({ p50Ms, diskP50Ms, stolen }) =>
      `${p50Ms.toFixed(2)} (disk ${diskP50Ms.toFixed(2)}, ${(stolen * 100).toFixed(0)} % stolen)`,
  );
  console.log(
    `    p50 of the reservation alone ${one.reserveP50Ms?.toFixed(2)} ms; pairs started ${one.lateP50Ms?.toFixed(2)} ms late; ` +
      `best of ${each.length} rounds: ${each.join(", ")}`,
  );
}

async function sqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
  try {
    const path = join(folder, "gateway.db");
    const ledger = await openLedger(`sqlite:${path}`, { nodeId: "bench", clock });
    show(await run("SQLite, closed loop, 1 caller", ledger, { callers: 1 }));
    show(await run("SQLite, closed loop, 64 callers", ledger, { callers: 64 }));
    show(await bestOf("SQLite, open loop, 5,000 pairs/s", ledger, { rate: 5_000 }, folder));
    show(await bestOf("SQLite, open loop, 10,000 pairs/s", ledger, { rate: 10_000 }, folder));
    show(await run("SQLite, closed loop, 512 callers", ledger, { callers: 512 }));
    await ledger.close(5_000);
    show(await nodes("SQLite", `sqlite:${path}`, 4, 64));
    const db = new Database(path, { readonly: true });
    await balanced(async (sql) => db.query<Record<string, unknown>, []>(sql).all());
    db.close();
    show(sqliteOneEach(join(folder, "one-each.db")));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The same statements and the same durability, one transaction for each reserve and each settle, without the thread. */
function sqliteOneEach(path: string): Figures {
  const engine = new SqliteEngine(path);
  const node = engine.join("bench", Date.now());
  const waits: number[] = [];
  const ends = performance.now() + seconds * 1_000;
  const started = performance.now();
  while (performance.now() < ends) {
    const from = performance.now();
    const reservation = nextReservation();
    engine.commit({ node, operations: [{ kind: "reserve", reservation }] }, Date.now());
    const resolution = {
      id: reservation.id,
      kind: "settled",
      actual: nanoUsd(400_000 + (made % 1_013)),
      source: "usage",
    } as const;
    engine.commit({ node, operations: [{ kind: "resolve", resolution }] }, Date.now());
    waits.push(performance.now() - from);
  }
  const took = (performance.now() - started) / 1_000;
  engine.close();
  const what = "SQLite, one transaction each";
  return { what, pairsPerSecond: waits.length / took, ...shares(waits), loopP99Ms: Number.NaN, failed: 0 };
}

async function postgres(): Promise<void> {
  const missing = postgresMissing();
  if (missing !== undefined) {
    console.log(`PostgreSQL: not measured, ${missing}`);
    return;
  }
  const server = await startPostgres({ shared_buffers: "256MB", max_wal_size: "4GB" });
  try {
    const url = await server.createDatabase();
    await fillLog(url);
    const ledger = await openLedger(url, { nodeId: "bench", clock });
    show(await run("PostgreSQL, closed loop, 1 caller", ledger, { callers: 1 }));
    show(await run("PostgreSQL, closed loop, 64 callers", ledger, { callers: 64 }));
    show(await run("PostgreSQL, open loop, 5,000 pairs/s", ledger, { rate: 5_000 }));
    show(await run("PostgreSQL, open loop, 10,000 pairs/s", ledger, { rate: 10_000 }));
    show(await run("PostgreSQL, open loop, 15,000 pairs/s", ledger, { rate: 15_000 }));
    show(await run("PostgreSQL, closed loop, 512 callers", ledger, { callers: 512 }));
    show(await run("PostgreSQL, closed loop, 2,048 callers", ledger, { callers: 2_048 }));
    await ledger.close(5_000);
    show(await nodes("PostgreSQL", url, 4, 256));
    show(await postgresOneEach(await server.createDatabase(), 1));
    show(await postgresOneEach(await server.createDatabase(), 16));
    const connection = new PostgresConnection(url, 30_000);
    await balanced(async (sql) => (await connection.run(sql))[0] ?? []);
    await connection.close();
  } finally {
    await server.remove();
  }
}

/**
 * A new server creates its log files while it runs, 16 MB of zeros each, which takes a tenth of its time here; a server that has run
 * for a while reuses old files. So this one gets 1 GB of old files first.
 */
async function fillLog(url: string): Promise<void> {
  const connection = new PostgresConnection(url, 60_000);
  for (let file = 0; file < 64; file++) {
    await connection.run("SELECT pg_logical_emit_message(false, 'bench', ''); SELECT pg_switch_wal()");
  }
  await connection.run("CHECKPOINT");
  await connection.close();
}

/** Several gateway processes on the same database rows. */
async function nodes(store: string, url: string, count: number, callers: number): Promise<Figures> {
  const children = Array.from({ length: count }, (_, i) =>
    Bun.spawn(
      [
        process.execPath,
        import.meta.path,
        "--node",
        `bench-${i}`,
        "--url",
        url,
        "--callers",
        String(callers),
        "--seconds",
        String(seconds),
      ],
      { stdout: "pipe", stderr: "inherit" },
    ),
  );
  const parts = await Promise.all(
    children.map(async (child) => JSON.parse(await new Response(child.stdout).text()) as Figures),
  );
  const worst = (pick: (one: Figures) => number) => Math.max(...parts.map(pick));
  return {
    what: `${store}, closed loop, ${count} nodes of ${callers} callers`,
    pairsPerSecond: parts.reduce((sum, one) => sum + one.pairsPerSecond, 0),
    p50Ms: worst((one) => one.p50Ms),
    p99Ms: worst((one) => one.p99Ms),
    loopP99Ms: worst((one) => one.loopP99Ms),
    failed: parts.reduce((sum, one) => sum + one.failed, 0),
  };
}

/** A gateway without batches: each operation is a separate transaction, over a pool of connections. */
async function postgresOneEach(url: string, connections: number): Promise<Figures> {
  const ledgers = await Promise.all(
    Array.from({ length: connections }, (_, i) => openLedger(url, { nodeId: `one-each-${i}`, clock })),
  );
  const waits: number[] = [];
  let failed = 0;
  const ends = performance.now() + seconds * 1_000;
  const started = performance.now();
  await Promise.all(
    ledgers.map(async (ledger) => {
      // One caller for each connection, so that no operation shares its transaction with another.
      while (performance.now() < ends) {
        const from = performance.now();
        if (await pair(ledger)) waits.push(performance.now() - from);
        else failed += 1;
      }
    }),
  );
  const took = (performance.now() - started) / 1_000;
  await Promise.all(ledgers.map((ledger) => ledger.close(5_000)));
  const what = `PostgreSQL, one transaction each, ${connections} connection${connections > 1 ? "s" : ""}`;
  return { what, pairsPerSecond: waits.length / took, ...shares(waits), loopP99Ms: Number.NaN, failed };
}

/**
 * Processor time per pair as a gateway spends it: callers on one core that wait for their hold, let the event loop turn
 * once for the call upstream, and do not wait for the settlement.
 */
async function processorTime(callers: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
  try {
    const ledger = await openLedger(`sqlite:${join(folder, "gateway.db")}`, { nodeId: "bench", clock });
    const pairs = async (count: number) => {
      let left = count;
      const caller = async () => {
        while (left-- > 0) {
          const reservation = nextReservation();
          const reply = await ledger.reserve(reservation);
          if (reply.kind !== "held") throw new Error(reply.kind);
          await new Promise((resolve) => setImmediate(resolve));
          ledger.resolveInBackground([
            { id: reservation.id, kind: "settled", actual: nanoUsd(400_000 + (made % 1_013)), source: "upstream_cost" },
          ]);
        }
      };
      await Promise.all(Array.from({ length: callers }, caller));
    };
    await pairs(40_000);
    const rounds: Map<string, number>[] = [];
    for (let round = 0; round < 10; round++) {
      const before = threadTimes();
      await pairs(5_000);
      const spent = new Map([["total", 0]]);
      for (const [id, { name, ns }] of threadTimes()) {
        const us = (ns - (before.get(id)?.ns ?? 0)) / 1_000 / 5_000;
        spent.set(name, (spent.get(name) ?? 0) + us);
        spent.set("total", (spent.get("total") ?? 0) + us);
      }
      rounds.push(spent);
    }
    await ledger.close(5_000);
    const threads = [...new Set(rounds.flatMap((spent) => [...spent.keys()]))].map((name) => {
      const all = rounds.map((spent) => spent.get(name) ?? 0);
      return { name, middle: median(all), quartile: lowerQuartile(all) };
    });
    console.log(`microseconds of processor time per pair, ${callers} callers: median (lower quartile)`);
    for (const { name, middle, quartile } of threads) {
      if (middle >= 0.5) console.log(`  ${name.padEnd(16)} ${middle.toFixed(1)} (${quartile.toFixed(1)})`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Nanoseconds that each thread of this process has run. */
function threadTimes(): Map<string, { readonly name: string; readonly ns: number }> {
  const threads = new Map<string, { name: string; ns: number }>();
  for (const id of readdirSync("/proc/self/task")) {
    const name = readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim();
    threads.set(id, { name, ns: Number(readFileSync(`/proc/self/task/${id}/schedstat`, "utf8").split(" ")[0]) });
  }
  return threads;
}

async function balanced(query: (sql: string) => Promise<readonly Record<string, unknown>[]>): Promise<void> {
  const { findings, reservations } = await audit(query, Date.now());
  if (findings.length > 0) throw new Error(`the ledger does not balance: ${JSON.stringify(findings.slice(0, 3))}`);
  if (!flags.json) console.log(`${"".padEnd(4)}audit clean over ${reservations} reservations`);
}

if (flags.cpu) {
  await processorTime(Number(flags.callers ?? 16));
} else if (flags.node !== undefined && flags.url !== undefined) {
  const ledger = await openLedger(flags.url, { nodeId: flags.node, clock });
  const load = flags.rate === undefined ? { callers: Number(flags.callers) } : { rate: Number(flags.rate) };
  const result = await run(flags.node, ledger, load);
  await ledger.close(5_000);
  console.log(JSON.stringify(result));
} else {
  if (!flags.json) console.log(`${cpus().length} cores, Bun ${Bun.version}, ${seconds} s each\n`);
  if (flags.only !== "postgres") await sqlite();
  if (flags.only !== "sqlite") await postgres();
  if (flags.json) console.log(JSON.stringify(figures, null, 2));
}
process.exit(0);
