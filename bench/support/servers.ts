import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dir;
export const root = join(here, "../..");

/** Whether processes can be bound to a core here. */
export const canPin = cpus().length > 1 && Bun.which("taskset") !== null;

/** Caps that a benchmark cannot reach; all else as shipped. */
const openHandedPolicy =
  "budget: { per_goal_soft_usd: 900000, per_goal_hard_usd: 900000, per_day_soft_usd: 900000, per_day_hard_usd: 900000 }\n";

/** Writes a policy that never refuses for money, with `more` sections, and gives back its path. */
export async function writePolicy(directory: string, more = ""): Promise<string> {
  const path = join(directory, "policy.yaml");
  await Bun.write(path, openHandedPolicy + more);
  return path;
}

export interface Started {
  /** Up to and including `/v1`. */
  readonly url: string;
  readonly pid: number;
}

/** What `load.ts` found. */
export interface Load {
  answers: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  statuses: { [status: string]: number };
  firstProblem?: string;
}

/** A program that is not ours. */
export interface OtherServer {
  /** Up to and including `/v1`. */
  readonly url: string;
  /** A URL that it answers once it serves. */
  readonly probe: string;
  readonly cwd?: string;
  readonly env?: { [name: string]: string };
}

async function end(child: Bun.Subprocess): Promise<void> {
  child.kill();
  const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await child.exited;
  clearTimeout(late);
}

/** The processes of one benchmark and a directory of its own; all of it is gone at the end. */
export class Servers implements AsyncDisposable {
  readonly scratch = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
  readonly #started: Bun.Subprocess[] = [];

  constructor() {
    // This process reads the gateway's log: on the core of the servers it would take time from one of them only.
    if (canPin) Bun.spawnSync(["taskset", "-cp", "1", String(process.pid)]);
  }

  /** An upstream without latency, on the second core. The arguments are those of `instant-upstream.ts`. */
  upstream(...args: readonly string[]): Promise<Started> {
    return this.#serve(1, root, [join(here, "instant-upstream.ts"), ...args]);
  }

  /** The barest proxy, on the first core. */
  proxy(upstream: Started): Promise<Started> {
    // By default `fetch` has 256 requests under way at most; the others would wait.
    const env = { BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" };
    return this.#serve(0, root, [join(here, "bare-proxy.ts"), upstream.url], env);
  }

  /** A gateway, on the first core, with a database of its own; `tree` is the checkout it runs from, `policy` more of its policy. */
  async gateway(upstream: Started, tree: string = root, policy = ""): Promise<Started> {
    const directory = join(this.scratch, String(this.#started.length));
    return this.#serve(0, tree, ["src/main.ts", "serve"], {
      // As the launcher sets it (scripts/toolchain.mjs).
      MIMALLOC_PURGE_DELAY: process.env["MIMALLOC_PURGE_DELAY"] ?? "2000",
      HOST: "127.0.0.1",
      PORT: "0",
      UPSTREAM_BASE_URL: upstream.url,
      UPSTREAM_API_KEY: "bench-upstream-key",
      DATABASE_URL: `sqlite:${join(directory, "gateway.db")}`,
      // As installed, not beside the database: its folder is watched, and every write to the database would be looked at.
      ROUTING_POLICY_PATH: await writePolicy(join(directory, "config"), policy),
      LOG_FORMAT: "json",
    });
  }

  /** Runs the load generator to its end, on the second core, beside the upstream. The arguments are those of `load.ts`. */
  async load(url: string, ...args: readonly string[]): Promise<Load> {
    return this.loadUnder([], url, ...args);
  }

  /** The same, started by the command `under`, such as one that counts meanwhile. */
  async loadUnder(under: readonly string[], url: string, ...args: readonly string[]): Promise<Load> {
    const child = this.#spawn(1, root, [...under, process.execPath, join(here, "load.ts"), url, ...args]);
    return JSON.parse(await new Response(child.stdout).text());
  }

  /**
   * Another program that serves, on the first core, started by `command` in `cwd`. @throws if it does not answer `GET probe`
   * within a minute.
   */
  async other(command: readonly string[], { url, probe, cwd, env }: OtherServer): Promise<Started> {
    const child = this.#spawn(0, cwd ?? this.scratch, command, env, "ignore");
    for (const startedAt = performance.now(); performance.now() < startedAt + 60_000; await Bun.sleep(200)) {
      if (child.exitCode !== null) throw new Error(`${command[0]} ended with exit code ${child.exitCode}`);
      const answer = await fetch(probe, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      if (answer !== undefined) return { url, pid: child.pid };
    }
    throw new Error(`${command[0]} did not answer ${probe} within a minute`);
  }

  /** Ends one of the servers. Those that do not end by themselves are killed. */
  async stop({ pid }: Started): Promise<void> {
    const child = this.#started.find((each) => each.pid === pid);
    if (child !== undefined) await end(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map(end));
    rmSync(this.scratch, { recursive: true, force: true });
  }

  /** Starts a server and reads the URL it prints. The rest of its output is read and dropped, or it would stall. */
  async #serve(core: number, tree: string, args: readonly string[], env: { [name: string]: string } = {}) {
    const child = this.#spawn(core, tree, [process.execPath, ...args], env);
    const reader = child.stdout.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`${args[0]} ended before it listened:\n${text}`);
      text += decoder.decode(value, { stream: true });
      const port = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(text)?.[1];
      if (port === undefined) continue;
      (async () => {
        while (!(await reader.read()).done);
      })();
      return { url: `http://127.0.0.1:${port}/v1`, pid: child.pid };
    }
  }

  #spawn<Out extends "pipe" | "ignore" = "pipe">(
    core: number,
    cwd: string,
    command: readonly string[],
    env: { [name: string]: string } = {},
    stdout: Out = "pipe" as Out,
  ) {
    const pin = canPin ? ["taskset", "-c", String(core)] : [];
    const child = Bun.spawn<"ignore", Out, "ignore">([...pin, ...command], {
      cwd,
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout,
      // Where the gateway prints its greeting; what goes wrong shows in the answers.
      stderr: "ignore",
    });
    this.#started.push(child);
    return child;
  }
}
