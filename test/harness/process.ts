import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A gateway as a separate process, started as `npm start` does, with its own directory and without this process's environment. */
export interface GatewayProcess extends AsyncDisposable {
  readonly url: string;
  readonly directory: string;
  readonly child: Bun.Subprocess;
  /** Its output so far, both streams. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Its exit code, once it has ended and its output was read. */
  exited(): Promise<number>;
}

export const root = join(import.meta.dir, "..", "..");

/** Runs `smart-gateway serve` to its end; for starts that must fail. */
export async function serveToEnd(env: Record<string, string>): Promise<{ code: number; output: string }> {
  const running = spawn(env);
  const code = await running.child.exited;
  await running.drained;
  const output = running.output();
  rmSync(running.directory, { recursive: true, force: true });
  return { code, output };
}

/** Starts it and waits until it listens. */
export function serve(env: Record<string, string> = {}): Promise<GatewayProcess> {
  return startServing(env).listening;
}

/** Starts it; what it prints can be read before it listens. */
export function startServing(env: Record<string, string>): {
  readonly output: () => string;
  readonly listening: Promise<GatewayProcess>;
} {
  const running = spawn({ PORT: "0", DRAIN_ACCEPT_MS: "0", ...env });
  return { output: running.output, listening: whenListening(running) };
}

async function whenListening(running: ReturnType<typeof spawn>): Promise<GatewayProcess> {
  const { child, directory, output, drained } = running;
  const url = await running.url;
  const exited = async () => {
    const code = await child.exited;
    await drained;
    return code;
  };
  return {
    url,
    directory,
    child,
    output,
    signal: (signal) => child.kill(signal),
    exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function spawn(env: Record<string, string>) {
  const directory = mkdtempSync(join(tmpdir(), "smart-gateway-process-"));
  const child = Bun.spawn([process.execPath, join(root, "src", "main.ts"), "serve"], {
    cwd: directory,
    env: { PATH: process.env.PATH ?? "", HOME: directory, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  let found: (url: string) => void;
  let failed: (error: Error) => void;
  const url = new Promise<string>((resolve, reject) => {
    found = resolve;
    failed = reject;
  });
  url.catch(() => {}); // the address of a start that must fail is not awaited
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true });
      const address = /"event":"gateway_started".*?"url":"([^"]+)"/.exec(text)?.[1];
      if (address !== undefined) found(address);
    }
  };
  const drained = Promise.all([read(child.stdout), read(child.stderr)]).then(() => {
    failed(new Error(`ended before it listened:\n${text}`));
  });
  return { child, directory, url, drained, output: () => text };
}

/** The ids of the processes that this one has started. Linux only. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" "))
    .filter((child) => child !== "")
    .map(Number);
}

/** A port on which nothing listens at this moment. */
export async function freePort(hostname = "127.0.0.1"): Promise<number> {
  const server = Bun.serve({ port: 0, hostname, fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  if (port === undefined) throw new Error("no port");
  return port;
}
