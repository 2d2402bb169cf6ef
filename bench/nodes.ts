/**
 * What several nodes on one PostgreSQL cost: latency, processor time, and work of the database for each request, with the same load
 * on one node and spread over more; with `--per-node` that many connections to each node instead. Linux only.
 *
 * `bun bench/nodes.ts [--rounds 3] [--requests 1600] [--connections 16 | --per-node 8] [--nodes 1,2,4,8] [--fsync off] [--round-trip 5]
 * [--left 5] [--tree CHECKOUT]`: with `--round-trip`, the database is that many milliseconds away; with `--left`, that many percent of the
 * day's cap are left; `--tree` measures another checkout.
 * All nodes run all the time; in a round only the first of them get requests, and what they do at rest is measured first and left out.
 * Nodes, database, upstream and callers share the machine. Lower quartiles of the rounds; in parentheses as a multiple of one node.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { startPostgres } from "../test/harness/postgres.ts";
import { processTree } from "./support/counters.ts";
import { lowerQuartile } from "./support/quantiles.ts";
import { type Gateway, type Load, Servers } from "./support/servers.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    requests: { type: "string", default: "1600" },
    connections: { type: "string", default: "16" },
    "per-node": { type: "string" },
    fsync: { type: "string", default: "on" },
    nodes: { type: "string", default: "1,2,4,8" },
    "round-trip": { type: "string", default: "0" },
    left: { type: "string" },
    tree: { type: "string" },
  },
});
const counts = options.nodes.split(",").map(Number);
const requests = Number(options.requests);
const connectionsTo = (nodes: number) => nodes * Number(options["per-node"] ?? Number(options.connections) / nodes);

const statistics = { shared_preload_libraries: "pg_stat_statements", track_wal_io_timing: "on" };
const postgres = await startPostgres({ ...statistics, fsync: options.fsync, max_connections: "200" });
await using servers = new Servers({ pinned: false });
const url = await postgres.createDatabase();
const sql = new SQL(url, { max: 1 });
await sql.unsafe("CREATE EXTENSION pg_stat_statements");
const upstream = await servers.upstream();
const gateways: Gateway[] = [];
const far = Number(options["round-trip"]) > 0;
const forwarder = far
  ? await servers.script(
      join(import.meta.dir, "support/delaying-forwarder.ts"),
      String(postgres.port),
      options["round-trip"],
    )
  : undefined;
const nodesUrl = forwarder === undefined ? url : url.replace(/:\d+\//, `:${new URL(forwarder.url).port}/`);
for (let node = 1; node <= Math.max(...counts); node++)
  gateways.push(await servers.gateway(upstream, options.tree, "", { DATABASE_URL: nodesUrl, NODE_ID: `node-${node}` }));
const server = Number(
  readFileSync(`/proc/${(await sql.unsafe("SELECT pg_backend_pid() AS pid"))[0].pid}/stat`, "utf8").split(" ")[3],
);

/** Processor time of a process and those that it has started, also of ended ones, in milliseconds. */
function processorMs(pid: number): number {
  const ticks = (each: number) => {
    const [, fields = ""] = readFileSync(`/proc/${each}/stat`, "utf8").split(") ");
    const counts = fields.split(" ").slice(11, each === pid ? 15 : 13);
    return counts.reduce((sum, count) => sum + Number(count), 0);
  };
  return processTree(pid).reduce((sum, each) => sum + ticks(each) * 10, 0);
}

/** Counters that only rise; times in milliseconds. `lock`: the statements that wait for rows of accounts and of their shares. */
async function counters() {
  const [row] = await sql.unsafe(`
    SELECT sum(calls) AS statements,
      greatest(sum(calls) FILTER (WHERE query ~ 'FROM account .*FOR UPDATE'),
        sum(calls) FILTER (WHERE query ~ 'FROM account_share\\s.*FOR UPDATE')) AS batches,
      sum(total_exec_time) FILTER (WHERE query ~ 'FROM account(_share)?\\s.*FOR UPDATE') AS "lockMs",
      pg_current_wal_insert_lsn() - '0/0' AS "walBytes",
      max(idle_in_transaction_time) AS "awayMs", max(tup_inserted + tup_updated + tup_deleted) AS rows,
      (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') AS syncs,
      (SELECT sum(fsync_time) FROM pg_stat_io WHERE object = 'wal') AS "syncMs"
    FROM pg_stat_statements, pg_stat_database WHERE datname = current_database()`);
  return {
    ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)])),
    databaseMs: processorMs(server),
    gatewayMs: gateways.reduce((sum, { pid }) => sum + processorMs(pid), 0),
  } as Record<string, number>;
}

async function during(run: () => Promise<unknown>): Promise<Record<string, number>> {
  const [before, startedAt] = [await counters(), performance.now()];
  await run();
  const after = await counters();
  const grown = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]);
  return { ...Object.fromEntries(grown), seconds: (performance.now() - startedAt) / 1_000 };
}

/** Counts spending on the day's account that no call has made, in a share of its own where accounts have shares. */
async function spendAllBut(percent: number): Promise<void> {
  const [{ id, hard }] = await sql.unsafe(
    "SELECT id, hard FROM account WHERE id LIKE 'day/%' ORDER BY id DESC LIMIT 1",
  );
  const nanoUsd = Math.round(Number(hard) * (1 - percent / 100));
  const [{ shares }] = await sql.unsafe("SELECT to_regclass('account_share') AS shares");
  if (shares === null) {
    await sql.unsafe("UPDATE account SET spent = spent + $1 WHERE id = $2", [nanoUsd, id]);
    return;
  }
  const insert = "INSERT INTO account_share (account, slot, granted, spent) VALUES ($1, 1000000, $2, $2)";
  await sql.begin(async (transaction) => {
    await transaction.unsafe("UPDATE account SET granted = granted + $1 WHERE id = $2", [nanoUsd, id]);
    await transaction.unsafe(insert, [id, nanoUsd]);
  });
}

async function load(count: number, total: number) {
  const each = (amount: number) => String(Math.max(1, Math.round(amount / count)));
  const results = await Promise.all(
    gateways
      .slice(0, count)
      .map(({ url }) => servers.load(url, "answers", each(connectionsTo(count)), "600", each(total))),
  );
  const mean = (of: "p50Ms" | "p99Ms") => results.reduce((sum, result) => sum + result[of], 0) / count;
  const sum = (number: (of: Load) => number) => results.reduce((total, result) => total + number(result), 0);
  const answers = sum(({ answers }) => answers);
  return { p50: mean("p50Ms"), p99: mean("p99Ms"), answers, refused: answers - sum((of) => of.statuses["200"] ?? 0) };
}

await load(gateways.length, 2_000 * gateways.length);
if (options.left !== undefined) await spendAllBut(Number(options.left));
const restSeconds = 15;
const rest = await during(() => Bun.sleep(restSeconds * 1_000));
const perNode = (name: string) => ((rest[name] ?? 0) / restSeconds / gateways.length).toFixed(1);
console.log(`A node at rest, each second: ${perNode("statements")} statements, ${perNode("walBytes")} bytes of WAL,`);
console.log(`${perNode("databaseMs")} ms of the database's processor time.\n`);

const figures = new Map(counts.map((count) => [count, [] as Record<string, number>[]]));
for (let round = 0; round < Number(options.rounds); round++) {
  for (const count of counts) {
    const alone = await servers.load(upstream.url, "answers", String(connectionsTo(count)), "600", String(requests));
    let answered = { p50: 0, p99: 0, answers: 1, refused: 0 };
    const grown = await during(async () => {
      answered = await load(count, requests);
    });
    const seconds = grown["seconds"] ?? 0;
    // Less what all nodes do at rest in this time.
    const net = (name: string) => (grown[name] ?? 0) - ((rest[name] ?? 0) / restSeconds) * seconds;
    const each = (name: string) => net(name) / answered.answers;
    figures.get(count)?.push({
      "added latency p50, ms": answered.p50 - alone.p50Ms,
      "added latency p99, ms": answered.p99 - alone.p99Ms,
      "refused, of 1,000": (answered.refused / answered.answers) * 1_000,
      "requests per second": answered.answers / seconds,
      "gateways' processor time, µs": each("gatewayMs") * 1_000,
      "database's processor time, µs": each("databaseMs") * 1_000,
      statements: each("statements"),
      "rows written": each("rows"),
      "bytes of WAL": each("walBytes"),
      "ledger batches": each("batches"),
      "wait for the accounts, ms a batch": net("lockMs") / net("batches"),
      "open while the node decides, ms a batch": net("awayMs") / net("batches"),
      "sync of the WAL to the disk, ms": net("syncMs") / net("syncs"),
    });
  }
}
const column = (text: string) => text.padStart(16);
console.log(`${"".padEnd(40)}${counts.map((count) => column(`${count} node${count > 1 ? "s" : ""}`)).join("")}`);
for (const name of Object.keys(figures.get(counts[0] ?? 1)?.[0] ?? {})) {
  const values = counts.map((count) =>
    lowerQuartile((figures.get(count) ?? []).map((round) => round[name] ?? Number.NaN)),
  );
  const shown = values.map((value) => column(`${value.toPrecision(3)} (${(value / (values[0] ?? 1)).toFixed(2)})`));
  console.log(name.padEnd(40) + shown.join(""));
}
await sql.close();
await postgres.remove();
