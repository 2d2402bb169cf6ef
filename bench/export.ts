// Memory of the commands that read all records: samples of their resident set while they run. Their output is discarded.
//   node_modules/.bin/bun bench/export.ts [--records 1000000] [--postgres] [--database URL]
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { filledStore, storeOptions } from "./support/records/filled-store.ts";
import { root } from "./support/servers.ts";

const { values } = parseArgs({ options: storeOptions });
const sampleMs = 100;
await using store = await filledStore(values);
const policy = join(root, "config/policy.yaml");
for (const args of [
  ["decisions", "export"],
  ["decisions", "export", "--format", "csv"],
  ["policy", "backtest", policy, "--since", "30d"],
  ["policy", "backtest", policy, "--since", "3d"],
]) {
  await measure(args);
}

async function measure(args: readonly string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, join(root, "src/main.ts"), ...args], {
    env: { ...process.env, DATABASE_URL: store.url },
    stdout: "pipe",
    stderr: "ignore",
  });
  const began = performance.now();
  const samples: number[] = [];
  const timer = setInterval(() => {
    const kib = residentKib(child.pid);
    if (kib !== undefined) samples.push(kib / 1_024);
  }, sampleMs);
  let bytes = 0;
  let lines = 0;
  for await (const chunk of child.stdout) {
    bytes += chunk.length;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  const code = await child.exited;
  clearInterval(timer);
  const { maxRSS = 0, cpuTime } = child.resourceUsage() ?? {};
  const at = (share: number) => Math.round(samples[Math.floor(share * (samples.length - 1))] ?? 0);
  console.log(
    `${args.slice(0, 2).join(" ")} ${args.slice(2).join(" ").replace(root, "")}: exit ${code}, ${lines} lines, ${Math.round(bytes / 1e6)} MB in ${((performance.now() - began) / 1_000).toFixed(1)} s (processor ${(Number(cpuTime?.total ?? 0) / 1e6).toFixed(1)} s)`,
  );
  console.log(
    `  resident MiB at 10, 25, 50, 75, 100 %: ${[0.1, 0.25, 0.5, 0.75, 1].map(at).join(", ")}; most ${Math.round(maxRSS / 1_048_576)}`,
  );
}

function residentKib(pid: number): number | undefined {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined; // It has ended.
  }
}
