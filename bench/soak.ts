/**
 * Resident memory of a gateway under mixed load, each minute: small chats, streams, streams whose caller leaves, credentials that are
 * redacted, and prompts of 200 KB, of 5,000 goals and as many sessions. It should level off after some minutes. Linux only.
 *
 * `bun bench/soak.ts [--minutes 20] [--rate 60] [--goals 5000] [--tree CHECKOUT]`; `--rate`: requests a second, sent whether or not earlier
 * ones are answered, up to 200 at a time. Figures are MB: private memory is what the gateway has allocated; the rest are mostly files.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Servers } from "./support/servers.ts";
import { newSeed, workloads } from "./support/workloads.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "20" },
    rate: { type: "string", default: "60" },
    goals: { type: "string", default: "5000" },
    tree: { type: "string" },
  },
});
const [minutes, rate, goals] = [options.minutes, options.rate, options.goals].map(Number) as [number, number, number]; // three
const maxOpen = 200;

/** Of each twenty requests: the workload, and whether the caller leaves with the first part of the answer. */
const mix = [
  ...Array(9).fill(["conversations", false]),
  ...Array(5).fill(["streams", false]),
  ...Array(2).fill(["streams", true]),
  ...Array(2).fill(["secrets", false]),
  ["large-text", false],
  ["short-agent", false],
] as readonly (readonly [name: string, leaves: boolean])[];

const seed = newSeed();
const bodies = new Map(Object.entries(workloads).map(([name, each]) => [name, each.bodies(seed, 0)]));
const answers: Record<string, number> = {};

async function send(url: string, count: number): Promise<void> {
  const [name, leaves] = mix[count % mix.length] ?? ["conversations", false];
  const goal = Math.floor(Math.random() * goals);
  const leaving = new AbortController();
  const headers = {
    authorization: "Bearer bench-token-0123456789",
    "content-type": "application/json",
    "x-goal-id": `goal-${goal}`,
    "x-session-id": `session-${goal}`,
  };
  const body = bodies.get(name)?.next().value ?? "";
  let result = "left";
  try {
    const request = { method: "POST", headers, body, signal: leaving.signal };
    const answer = await fetch(`${url}/chat/completions`, request);
    if (leaves) {
      await answer.body?.getReader().read();
      leaving.abort();
    } else {
      await answer.arrayBuffer();
      result = String(answer.status);
    }
  } catch (error) {
    result = String(error).slice(0, 60);
  }
  answers[result] = (answers[result] ?? 0) + 1;
}

function memory(pid: number): string {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) => (Number(RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024) / 1e6;
  return ["VmRSS", "RssAnon", "VmHWM"].map((name) => megabytes(name).toFixed(1).padStart(10)).join("");
}

await using servers = new Servers({ pinned: false });
// Ten events every 40 ms, so that there is a moment to leave in.
const gateway = await servers.gateway(await servers.upstream("50", "10", "40"), options.tree);
console.log(`minute  requests${["resident", "private", "peak"].map((name) => name.padStart(10)).join("")}`);
const startedAt = performance.now();
let [count, open, minute] = [0, 0, 0];
while (minute < minutes + 1) {
  const elapsed = performance.now() - startedAt;
  if (elapsed >= minute * 60_000) {
    console.log(`${String(minute).padStart(6)}${String(count).padStart(10)}${memory(gateway.pid)}`);
    minute += 1;
  }
  for (; count < (elapsed / 1_000) * rate && open < maxOpen; count++) {
    open += 1;
    void send(gateway.url, count).finally(() => {
      open -= 1;
    });
  }
  await Bun.sleep(10);
}
while (open > 0) await Bun.sleep(50);
console.log(`answers: ${JSON.stringify(answers)}`);
