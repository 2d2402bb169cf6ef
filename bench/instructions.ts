/**
 * Instructions and processor time per request beside the bare proxy in the same run, for the requests that this gateway is
 * for. Other load on the machine moves instructions by less than a hundredth, and microseconds by a factor of two. Linux only.
 *
 * `bun bench/instructions.ts [--case NAME …] [--rounds 5] [--warmup 15000] [--rewriting] [--json] [TREE …]`
 * A tree is a checkout of this repository, by default this one; two of them are compared in the same run. Without `--case` all.
 * `--rewriting` adds a proxy that parses the body, sets the model and writes it again.
 *
 * Instructions are counted by `perf stat -e instructions:u,instructions:k`. Where that is not possible, as on many virtual
 * machines, the report says so and has only the microseconds (lower quartile of the rounds). `bare ÷` is the share of the bare
 * proxy: its cost divided by this one's, of the whole process.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { byUpstream, type Case, casesNamed } from "./support/cases.ts";
import { type ByThread, counted, timed, whyUncounted } from "./support/counters.ts";
import { lowerQuartile } from "./support/quantiles.ts";
import { root, Servers, type Started } from "./support/servers.ts";
import { newSeed } from "./support/workloads.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    case: { type: "string", multiple: true },
    rounds: { type: "string", default: "5" },
    warmup: { type: "string", default: "15000" },
    rewriting: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
if (process.platform !== "linux") throw new Error("reads /proc: Linux only");
const chosen = casesNamed(options.case);

const uncounted = whyUncounted();
if (uncounted !== undefined) console.error(`Instructions are not counted: ${uncounted}\n`);

interface Measured extends Started {
  readonly name: string;
  readonly nanoseconds: ByThread[];
  readonly instructions: ByThread[];
}

async function measureCase(kind: Case, servers: Servers, measured: readonly Measured[]): Promise<void> {
  const load = async (server: Measured, requests: number, under: readonly string[], seed: string, skipped: number) => {
    const args = [kind.workload, String(kind.connections), "600", String(requests), seed, String(skipped)];
    const { statuses, firstProblem } = await servers.loadUnder(under, server.url, ...args);
    if (firstProblem !== undefined)
      throw new Error(`${server.name}, ${kind.name}: ${JSON.stringify(statuses)} ${firstProblem}`);
  };
  for (const server of measured) {
    if (kind.warmupBefore !== undefined) {
      const { workload, share } = kind.warmupBefore;
      // Without a pause, and so at full load: on a busy machine some of these requests are refused.
      await servers.load(server.url, workload, "16", "600", String(Math.ceil(share * Number(options.warmup))));
    }
    // In parts as long as a round, because conversations grow with each request.
    for (let left = Math.ceil(kind.warmup * Number(options.warmup)); left > 0; left -= kind.requestsPerRound) {
      await load(server, Math.min(left, kind.requestsPerRound), [], newSeed(), 0);
    }
  }
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const server of measured) {
      const seed = newSeed();
      const skipped = kind.primed === true ? 1 : 0;
      if (kind.primed === true) await load(server, kind.connections, [], seed, 0);
      const send = (under: readonly string[]) => load(server, kind.requestsPerRound, under, seed, skipped);
      const per = kind.requestsPerRound * (kind.eventsPerRequest ?? 1);
      const counts = async () => {
        if (uncounted === undefined) server.instructions.push(each(await counted(server.pid, send), per));
        else await send([]);
      };
      server.nanoseconds.push(each(await timed(server.pid, counts), per));
    }
  }
}

function each({ total, main, ledger }: ByThread, count: number): ByThread {
  return { total: total / count, main: main / count, ledger: ledger / count };
}

const threads = ["main", "ledger", "total"] as const;

function byThread(rounds: readonly ByThread[], per = 1) {
  return Object.fromEntries(threads.map((name) => [name, lowerQuartile(rounds.map((round) => round[name])) / per]));
}

function summary(measured: readonly Measured[]) {
  const figures = measured.map(({ name, nanoseconds, instructions }) => ({
    name,
    microseconds: byThread(nanoseconds, 1_000),
    instructions: byThread(instructions),
  }));
  const bare = figures[0];
  return figures.map((figure) => ({
    ...figure,
    bareShare: {
      microseconds: Number(bare?.microseconds["total"]) / Number(figure.microseconds["total"]),
      instructions: Number(bare?.instructions["total"]) / Number(figure.instructions["total"]),
    },
  }));
}

function describe(kind: Case, figures: ReturnType<typeof summary>): string {
  const column = (text: string) => text.padStart(9);
  const digits = (kind.eventsPerRequest ?? 1) > 1 ? 2 : 0;
  const head = `${kind.name}: ${kind.about}\n${"".padEnd(24)}${["µs main", "ledger", "total", "bare ÷"].map(column).join("")}`;
  const counts = uncounted === undefined ? ["k instr.", "ledger", "total", "bare ÷"].map(column).join("") : "";
  const lines = figures.map(({ name, microseconds, instructions, bareShare }) => {
    const times = threads.map((thread) => column(Number(microseconds[thread]).toFixed(digits)));
    const executed = threads.map((thread) => column((Number(instructions[thread]) / 1_000).toFixed(1)));
    const line = [name.slice(-23).padEnd(24), ...times, column(bareShare.microseconds.toFixed(2))];
    if (uncounted === undefined) line.push(...executed, column(bareShare.instructions.toFixed(2)));
    return line.join("");
  });
  return `${head}${counts}\n${lines.join("\n")}\n`;
}

for (const { args, kinds } of byUpstream(chosen)) {
  await using servers = new Servers();
  const upstream = await servers.upstream(...args);
  const started = [{ name: "bare proxy", ...(await servers.proxy(upstream)) }];
  if (options.rewriting) started.push({ name: "rewriting proxy", ...(await servers.proxy(upstream, "rewriting")) });
  for (const tree of positionals.length === 0 ? [root] : positionals)
    started.push({ name: tree, ...(await servers.gateway(upstream, resolve(tree))) });
  for (const kind of kinds) {
    const measured = started.map((server) => ({ ...server, nanoseconds: [], instructions: [] }));
    await measureCase(kind, servers, measured);
    const figures = summary(measured);
    console.log(options.json ? JSON.stringify({ case: kind.name, figures }) : describe(kind, figures));
  }
}
