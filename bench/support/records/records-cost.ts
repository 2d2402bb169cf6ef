import { Connections } from "../connections.ts";
import { type ByThread, timed, treeTime } from "../counters.ts";
import { median } from "../quantiles.ts";
import { type Gateway, Servers, writePolicy } from "../servers.ts";

const off = "records: { enabled: false }\n";
const on = "";

/** Whole blocks of records, so that each round writes what it has made. */
const requestsPerRound = 1_024;
/** Sent before each round and not counted: the policy has just been read anew. */
const requestsBefore = 256;
/** Until the JIT has compiled the code that every request runs, and that of blocks, which takes some 400 blocks. */
const warmup = 110_000;
const noEnd = 600_000;
const pollEveryMs = 10;

const parts = ["total", "main", "ledger", "others"] as const;
type Part = (typeof parts)[number];

/** What the gateway and the upstream took in one round. */
interface Round {
  readonly gateway: ByThread;
  readonly upstream: number;
}

interface Pair {
  readonly without: Round;
  readonly withThem: Round;
}

/**
 * Prints the processor time that decision records take per request: of one gateway, whose policy switches them on and off between
 * rounds of small requests. Two processes differ by more than records cost. Linux only.
 *
 * Other work on the machine slows a round by more than records do. It slows the upstream of the same round too, which knows nothing of
 * records, so what its time explains of the differences is taken off (a control variate): the interval is narrower, the estimate
 * is of the same quantity.
 */
export async function measureRecordsCost(pairs: number): Promise<void> {
  await using servers = new Servers();
  const upstream = await servers.upstream();
  const gateway = await servers.gateway(upstream);
  const load = new Connections({ target: gateway.url, workload: "answers", connections: 32 });
  const send = async (requests: number) => {
    const { statuses, firstProblem } = await load.send(requests, noEnd);
    if (firstProblem !== undefined) throw new Error(`${JSON.stringify(statuses)} ${firstProblem}`);
  };
  const round = async (policy: string): Promise<Round> => {
    await switchTo(policy, gateway);
    await send(requestsBefore);
    await allWritten(gateway);
    const before = treeTime(upstream.pid);
    const spent = await timed(gateway.pid, async () => {
      await send(requestsPerRound);
      await allWritten(gateway);
    });
    return { gateway: spent, upstream: treeTime(upstream.pid) - before };
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
  const perRequest = (nanoseconds: number) => nanoseconds / requestsPerRound / 1_000;
  const us = (round: Round, part: Part) => perRequest(partOf(round.gateway, part));
  const whole = median(pairs.map(({ withThem }) => us(withThem, "total")));
  const slower = pairs.map(({ without, withThem }) => perRequest(withThem.upstream - without.upstream));
  console.log(
    `processor time per request: medians of ${pairs.length} pairs of rounds, and the difference with its 95 % interval`,
  );
  for (const part of parts) {
    const without = median(pairs.map((pair) => us(pair.without, part)));
    const withThem = median(pairs.map((pair) => us(pair.withThem, part)));
    const differences = pairs.map((pair) => us(pair.withThem, part) - us(pair.without, part));
    const { from, estimate, to } = centre(unexplained(differences, slower));
    const share = (value: number) => ((100 * value) / whole).toFixed(1);
    console.log(
      `${part.padEnd(7)} off ${without.toFixed(1)}, on ${withThem.toFixed(1)}: ` +
        `${estimate.toFixed(2)} µs (${from.toFixed(2)} to ${to.toFixed(2)}), ` +
        `${share(estimate)} % of all threads (${share(from)} to ${share(to)})`,
    );
  }
}

/** The values without what `control`, whose mean is 0 but for chance, explains of them by least squares. */
function unexplained(values: readonly number[], control: readonly number[]): readonly number[] {
  const mean = (of: readonly number[]) => of.reduce((sum, each) => sum + each, 0) / of.length;
  const [meanValue, meanControl] = [mean(values), mean(control)];
  const deviations = control.map((each) => each - meanControl);
  const together = mean(values.map((value, at) => (value - meanValue) * (deviations[at] ?? 0)));
  const slope = together / mean(deviations.map((each) => each ** 2));
  return values.map((value, at) => value - slope * (control[at] ?? 0));
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
