import { readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Nanoseconds that each thread of a process has run, by thread id. Linux only. */
export function threadTimes(pid: number): Map<string, { readonly name: string; readonly ns: number }> {
  const threads = new Map<string, { name: string; ns: number }>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    try {
      const name = readFileSync(`/proc/${pid}/task/${id}/comm`, "utf8").trim();
      threads.set(id, { name, ns: Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]) });
    } catch {
      // The thread has just ended.
    }
  }
  return threads;
}

/** The processor time of a process's threads during a run: of all, of the main thread, and of the ledger's. */
export interface ByThread {
  readonly total: number;
  readonly main: number;
  readonly ledger: number;
}

function sumOf(threads: Iterable<{ readonly id: string; readonly name: string; readonly count: number }>, pid: number) {
  const sum = { total: 0, main: 0, ledger: 0 };
  for (const { id, name, count } of threads) {
    sum.total += count;
    if (id === String(pid)) sum.main += count;
    if (name === "ledger") sum.ledger += count;
  }
  return sum;
}

/** The processor time, in nanoseconds, that a process takes while `run` runs. */
export async function timed(pid: number, run: () => Promise<unknown>): Promise<ByThread> {
  const before = threadTimes(pid);
  await run();
  const spent = [...threadTimes(pid)].map(([id, { name, ns }]) => ({
    id,
    name,
    count: ns - (before.get(id)?.ns ?? 0),
  }));
  return sumOf(spent, pid);
}

/** Instructions of the process and of the kernel on its behalf. */
const events = "instructions:u,instructions:k";

/** Why instructions cannot be counted here; undefined when they can. */
export function whyUncounted(): string | undefined {
  if (Bun.which("perf") === null) return "perf is not installed (Debian: linux-perf)";
  const { stderr } = Bun.spawnSync(["perf", "stat", "-x", ",", "-e", events, "true"]);
  const text = stderr.toString();
  const counted = text.split("\n").filter((line) => /^\d+,/.test(line)).length;
  return counted === events.split(",").length ? undefined : `perf counts no instructions here: ${text.trim()}`;
}

let reports = 0;

/** The instructions that a process executes while a command runs; `run` starts the command with the given prefix. */
export async function counted(
  pid: number,
  run: (under: readonly string[]) => Promise<unknown>,
  event: string = events,
): Promise<ByThread> {
  const report = join(tmpdir(), `smart-gateway-perf-${process.pid}-${reports++}.csv`);
  try {
    await run(["perf", "stat", "-x", ",", "-o", report, "--per-thread", "-e", event, "-p", String(pid)]);
    return sumOf(threadCounts(readFileSync(report, "utf8")), pid);
  } finally {
    rmSync(report, { force: true });
  }
}

/** Reads lines such as `HTTP Client-1234,567,,instructions:u,…`. */
function* threadCounts(csv: string) {
  for (const line of csv.split("\n")) {
    const [, name, id, count] = /^(.+)-(\d+),(\d+)(?:\.\d+)?,/.exec(line) ?? [];
    if (name !== undefined && id !== undefined) yield { name: name.trim(), id, count: Number(count) };
  }
}

/** A process and all running processes that it has started. Linux only. */
export function processTree(pid: number): readonly number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(processTree)];
  } catch {
    return []; // The process has just ended.
  }
}

/** The processor time of a process and of all that it has started, in nanoseconds. */
export function treeTime(pid: number): number {
  return processTree(pid)
    .flatMap((each) => [...threadTimes(each).values()])
    .reduce((sum, { ns }) => sum + ns, 0);
}
