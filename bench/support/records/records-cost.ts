import { Connections } from "../connections.ts";
import { type ByThread, timed } from "../counters.ts";
import { median } from "../quantiles.ts";
import { type Gateway, Servers, writePolicy } from "../servers.ts";

const off = "records: { enabled: false }\n";
const on = "";

/** Whole blocks of records, so that each round writes what it has made. */
const requestsPerRound = 1_024;
/** Sent before each round and not counted: the policy has just been read anew. */
const requestsBefore = 256;
/** Until the JIT has compiled the code that every request runs, and that of records, which runs once for a whole block of them. */
const warmup = 60_000;
const noEnd = 600_000;
const pollEveryMs = 10;

const parts = ["total", "main", "ledger", "others"] as const;
type Part = (typeof parts)[number];

interface Pair {
  readonly without: ByThread;
  readonly withThem: ByThread;
}

/**
 * Prints the processor time that decision records take per request: of one gateway, whose policy switches them on and off between
 * rounds of small requests. Two processes differ by more than records cost. Linux only.
 */
export async function measureRecordsCost(pairs: number): Promise<void> {
  await using servers = new Servers();
  const gateway = await servers.gateway(await servers.upstream());
  const load = new Connections({ target: gateway.url, workload: "answers", connections: 32 });
  const send = async (requests: number) => {
    const { statuses, firstProblem } = await load.send(requests, noEnd);
    if (firstProblem !== undefined) throw new Error(`${JSON.stringify(statuses)} ${firstProblem}`);
  };
  const round = async (policy: string) => {
    await switchTo(policy, gateway);
    await send(requestsBefore);
    await allWritten(gateway);
    return timed(gateway.pid, async () => {
      await send(requestsPerRound);
      await allWritten(gateway);
    });
  };
  await send(warmup);
  const measured: Pair[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    const first = await round(pair % 2 === 0 ? off : on);
    const second = await round(pair % 2 === 0 ? on : off);
    measured.push(pair % 2 === 0 ? { without: first, withThem: second } : { without: second, withThem: first });
  }
  load.close();
  print(measured);
}

function print(pairs: readonly Pair[]): void {
  const us = (spent: ByThread, part: Part) => partOf(spent, part) / requestsPerRound / 1_000;
  const whole = median(pairs.map(({ withThem }) => us(withThem, "total")));
  console.log(
    `processor time per request: medians of ${pairs.length} pairs of rounds, and the difference with its 95 % interval`,
  );
  for (const part of parts) {
    const without = median(pairs.map((pair) => us(pair.without, part)));
    const withThem = median(pairs.map((pair) => us(pair.withThem, part)));
    const { from, estimate, to } = centre(pairs.map((pair) => us(pair.withThem, part) - us(pair.without, part)));
    const share = (value: number) => ((100 * value) / whole).toFixed(1);
    console.log(
      `${part.padEnd(7)} off ${without.toFixed(1)}, on ${withThem.toFixed(1)}: ` +
        `${estimate.toFixed(2)} µs (${from.toFixed(2)} to ${to.toFixed(2)}), ` +
        `${share(estimate)} % of all threads (${share(from)} to ${share(to)})`,
    );
  }
}

function partOf(spent: ByThread, part: Part): number {
  return part === "others" ? spent.total - spent.main - spent.ledger : spent[part];
}

/** How many records wait to be written; undefined where none are kept. */
async function queued({ url }: Gateway): Promise<number | undefined> {
  const answer = await fetch(new URL("/healthz", url));
  const { records } = (await answer.json()) as { records?: { queued: number } };
  return records?.queued;
}

async function switchTo(policy: string, gateway: Gateway): Promise<void> {
  await writePolicy(gateway.configDirectory, policy);
  process.kill(gateway.pid, "SIGHUP");
  while (((await queued(gateway)) === undefined) !== (policy === off)) await Bun.sleep(pollEveryMs);
}

/** Those that finished last are recorded within 20 ms. Without records it waits as long. */
async function allWritten(gateway: Gateway): Promise<void> {
  await Bun.sleep(3 * pollEveryMs);
  while (((await queued(gateway)) ?? 0) > 0) await Bun.sleep(pollEveryMs);
}

/**
 * The median of the means of every two differences (Hodges and Lehmann), which single disturbed rounds move little, and the interval
 * of the signed-rank test (Wilcoxon) around it.
 */
function centre(differences: readonly number[]): {
  readonly from: number;
  readonly estimate: number;
  readonly to: number;
} {
  const means = differences.flatMap((a, at) => differences.slice(at).map((b) => (a + b) / 2)).sort((a, b) => a - b);
  const count = differences.length;
  const deviation = Math.sqrt((count * (count + 1) * (2 * count + 1)) / 24);
  const outside = Math.max(0, Math.floor(means.length / 2 - 1.96 * deviation));
  const at = (index: number) => means[index] ?? Number.NaN;
  return { from: at(outside), estimate: median(means), to: at(means.length - 1 - outside) };
}
