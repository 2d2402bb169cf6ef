import { join } from "node:path";
import type { Answer } from "./gateway.ts";

/** The file that `smart-gateway` runs. */
export const main = join(import.meta.dir, "..", "..", "src", "main.ts");

export interface CommandOptions {
  /** In addition to PATH and NO_COLOR; no other variable of this process is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory; ours when absent. */
  readonly cwd?: string;
  readonly stdin?: string;
}

export interface CommandResult {
  readonly out: string;
  readonly err: string;
  readonly code: number;
  /** The output, parsed; throws if it is not JSON. */
  json(): Answer;
}

/** Starts `smart-gateway` with these arguments, as a separate process, as the launcher does. */
export function spawnCommand(args: readonly string[], { env = {}, cwd, stdin = "" }: CommandOptions = {}) {
  return Bun.spawn([process.execPath, "--no-env-file", "--config=/dev/null", main, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env["PATH"] ?? "", NO_COLOR: "1", ...env },
    stdin: new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** Runs `smart-gateway` with these arguments to its end. */
export async function runCommand(args: readonly string[], options?: CommandOptions): Promise<CommandResult> {
  const child = spawnCommand(args, options);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { out, err, code, json: () => JSON.parse(out) };
}
