import { join } from "node:path";

/** The gateway as a process of its own, as an operator runs it. */
export interface GatewayProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** All that it has printed, on either stream. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<number>;
}

const root = join(import.meta.dir, "..", "..");

/** Runs `smart-gateway ARGS…` to its end. */
export async function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, "src/main.ts", ...args], options(env));
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

/** Starts `smart-gateway serve` on a free port and waits until it says where it listens. */
export async function serve(env: Record<string, string> = {}): Promise<GatewayProcess> {
  const child = Bun.spawn([process.execPath, "src/main.ts", "serve"], options({ PORT: "0", ...env }));
  let output = "";
  const listening = Promise.withResolvers<string>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      output += decoder.decode(bytes, { stream: true });
      const url = /http:\/\/127\.0\.0\.1:\d+(?=[/\s"])/.exec(output)?.[0];
      if (url !== undefined) listening.resolve(url);
    }
  };
  const drained = Promise.all([read(child.stdout), read(child.stderr)]);
  drained.then(() => listening.reject(new Error(`the gateway ended before it listened:\n${output}`)));
  const url = await listening.promise;
  return {
    url,
    pid: child.pid,
    output: () => output,
    kill: (signal) => child.kill(signal),
    exited: child.exited.then(async (code) => {
      await drained;
      return code;
    }),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Nothing of the surrounding environment's settings: only what finds the runtime. */
function options(env: Record<string, string>) {
  const kept = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", DATABASE_URL: "sqlite::memory:" };
  return { cwd: root, env: { ...kept, ...env }, stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;
}
