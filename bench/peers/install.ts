import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Installs other gateways with the clients of their package registries. Packages that the folder already has are not installed again. */

/** The measured versions. To measure others, change them here. */
const portkeyVersion = "1.15.2";
/** With later versions every streamed answer of this Portkey version is a 500. */
const portkeyServerVersion = "1.13.8";
const litellmVersion = "1.106.2";

/** Why a peer cannot be measured on this machine. */
export class Unavailable extends Error {}

export interface Installed {
  readonly program: string;
  readonly version: string;
}

const installTimeoutMs = 480_000;

async function run(command: readonly string[], cwd: string): Promise<string> {
  const [program = ""] = command;
  if (Bun.which(program) === null && !existsSync(program)) throw new Unavailable(`${program} is not installed`);
  const child = Bun.spawn([...command], {
    cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: installTimeoutMs,
  });
  const [output, problem] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (child.exitCode === 0) return output + problem;
  const last = problem.trim().split("\n").at(-1) ?? "";
  throw new Unavailable(`\`${command.join(" ")}\` failed: ${last.slice(0, 200)}`);
}

/** nginx of the system, or Debian's package unpacked without installing it. */
export async function installNginx(folder: string): Promise<Installed> {
  let program = Bun.which("nginx") ?? (existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : undefined);
  if (program === undefined) {
    await run(["apt-get", "download", "nginx"], folder);
    const archive = readdirSync(folder).find((file) => file.endsWith(".deb"));
    if (archive === undefined) throw new Unavailable("apt-get downloaded no package");
    await run(["dpkg", "-x", archive, "unpacked"], folder);
    program = join(folder, "unpacked/usr/sbin/nginx");
  }
  return { program, version: /nginx\/(\S+)/.exec(await run([program, "-v"], folder))?.[1] ?? "unknown" };
}

/** Portkey's gateway from npm, for Node. */
export async function installPortkey(folder: string): Promise<Installed> {
  const manifest = {
    private: true,
    dependencies: { "@portkey-ai/gateway": portkeyVersion },
    overrides: { "@hono/node-server": portkeyServerVersion },
  };
  const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (!existsSync(program)) {
    await Bun.write(join(folder, "package.json"), JSON.stringify(manifest));
    await run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"], folder);
  }
  const node = (await run(["node", "--version"], folder)).trim();
  return { program, version: `${portkeyVersion}, Node ${node}` };
}

/** LiteLLM's proxy from PyPI, in a separate virtual environment. */
export async function installLitellm(folder: string): Promise<Installed> {
  const python = join(folder, "venv/bin/python");
  const program = join(folder, "venv/bin/litellm");
  if (!existsSync(program)) {
    await run(["python3", "-m", "venv", "venv"], folder);
    await run([python, "-m", "pip", "install", "--quiet", `litellm[proxy]==${litellmVersion}`], folder);
  }
  const version = (await run([python, "--version"], folder)).trim();
  return { program, version: `${litellmVersion}, ${version}` };
}
