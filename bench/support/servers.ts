import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dir;
export const root = join(here, "../..");

/** Whether this machine can bind processes to a core. */
export const canPin = cpus().length > 1 && Bun.which("taskset") !== null;

/** Caps that a benchmark cannot reach; everything else as shipped. */
const unlimitedPolicy =
  "budget: { per_goal_soft_usd: 900000, per_goal_hard_usd: 900000, per_day_soft_usd: 900000, per_day_hard_usd: 900000 }\n";

/** Writes a policy that never refuses for money, with the sections of `more`, and returns its path. */
export async function writePolicy(directory: string, more = ""): Promise<string> {
  const path = join(directory, "policy.yaml");
  await Bun.write(path, unlimitedPolicy + more);
  return path;
}

export interface Started {
  /** Up to and including `/v1`. */
  readonly url: string;
  readonly pid: number;
}

export interface Gateway extends Started {
  /** Where its policy is, as `writePolicy` takes it. */
  readonly configDirectory: string;
}

/** The result of `load.ts`. */
export interface Load {
  answers: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  statuses: { [status: string]: number };
  firstProblem?: string;
}

/** A program of another project. */
export interface OtherServer {
  /** Up to and including `/v1`. */
  readonly url: string;
  /** A URL that it answers once it is ready. */
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

/** The processes of one benchmark and its directory; all are removed at the end. */
export class Servers implements AsyncDisposable {
  readonly scratch = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
  readonly #started: Bun.Subprocess[] = [];
  readonly #pins: boolean;

  /** `pinned`: whether servers share the first core and all else the second, where that is possible. */
  constructor({ pinned = true } = {}) {
    this.#pins = canPin && pinned;
    // This process reads the gateway's log. On the core of the servers it would take time from one of them only.
    if (this.#pins) Bun.spawnSync(["taskset", "-cp", "1", String(process.pid)]);
  }

  /** An upstream without latency, on the second core. The arguments are those of `instant-upstream.ts`. */
  upstream(...args: readonly string[]): Promise<Started> {
    return this.#serve(1, root, [join(here, "instant-upstream.ts"), ...args]);
  }

  /** The minimal proxy, on the first core; `rewriting`: the minimal one that reads the body and sets the model. */
  proxy(upstream: Started, kind: "bare" | "rewriting" = "bare"): Promise<Started> {
    // By default `fetch` has 256 requests in flight at most; further ones would wait.
    const env = { BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" };
    return this.#serve(0, root, [join(here, `${kind}-proxy.ts`), upstream.url], env);
  }

  /** A script of this repository that prints its URL, on the first core. */
  script(path: string, ...args: readonly string[]): Promise<Started> {
    return this.#serve(0, root, [path, ...args]);
  }

  /**
   * A gateway on the first core with its own database; `tree` is the checkout from which it runs, `policy` further sections of its
   * policy, `settings` further environment variables.
   */
  async gateway(
    upstream: Started,
    tree: string = root,
    policy = "",
    settings: { [name: string]: string } = {},
  ): Promise<Gateway> {
    const directory = join(this.scratch, String(this.#started.length));
    // Not beside the database: the policy's folder is watched, so every write to the database would wake the watcher.
    const configDirectory = join(directory, "config");
    const started = await this.#serve(0, tree, ["src/main.ts", "serve"], {
      // As the launcher sets it (scripts/toolchain.mjs).
      MIMALLOC_PURGE_DELAY: process.env["MIMALLOC_PURGE_DELAY"] ?? "2000",
      HOST: "127.0.0.1",
      PORT: "0",
      UPSTREAM_BASE_URL: upstream.url,
      UPSTREAM_API_KEY: "bench-upstream-key",
      DATABASE_URL: `sqlite:${join(directory, "gateway.db")}`,
      ROUTING_POLICY_PATH: await writePolicy(configDirectory, policy),
      LOG_FORMAT: "json",
      ...settings,
    });
    return { ...started, configDirectory };
  }

  /** Runs the load generator to its end, on the second core with the upstream. The arguments are those of `load.ts`. */
  async load(url: string, ...args: readonly string[]): Promise<Load> {
    return this.loadUnder([], url, ...args);
  }

  /** The same, started with the prefix `under`, such as a command that counts. */
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

  /** Stops one of the servers. Servers that do not exit are killed. */
  async stop({ pid }: Started): Promise<void> {
    const child = this.#started.find((each) => each.pid === pid);
    if (child !== undefined) await end(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map(end));
    rmSync(this.scratch, { recursive: true, force: true });
  }

  /** Starts a server and reads the URL that it prints. The rest of its output is read and discarded; otherwise the server would block. */
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
    const pin = this.#pins ? ["taskset", "-c", String(core)] : [];
    const child = Bun.spawn<"ignore", Out, "ignore">([...pin, ...command], {
      cwd,
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout,
      // The gateway prints its greeting here; failures show in the answers.
      stderr: "ignore",
    });
    this.#started.push(child);
    return child;
  }
}
