// Runs on plain Node 20, before anything is installed: finds out whether `npm ci` is due, and where the Bun binary is.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { devNull } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const stamp = join(root, "node_modules", ".smart-gateway-installed");

/**
 * What is installed for whom. The gateway needs a handful of packages and none of their install scripts: the Bun binary is
 * found where npm unpacks it. Tests need all of it; the scripts that then run are listed in package.json (`allowScripts`).
 */
const installs = {
  runtime: ["--omit=dev", "--ignore-scripts"],
  all: ["--include=dev"],
};

/**
 * Installs what the lockfile names, unless exactly that, or more, is installed already. Ends the process when that fails.
 * @param {"runtime" | "all"} extent
 */
export function installIfNeeded(extent) {
  // The npm package has no lockfile: npm has installed what it names beside it.
  if (!existsSync(join(root, "package-lock.json"))) return;
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  const stamps = { runtime: `${lock} runtime`, all: lock };
  const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  if (installed === stamps.all || installed === stamps[extent]) return;
  // `npm ci` would remove further packages that a contributor has installed.
  if (extent === "runtime" && runtimeIsInstalled()) return;
  console.error(extent === "runtime" ? "Installing what the gateway needs (once)…" : "Installing dependencies (once)…");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const result = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error", ...installs[extent]], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (result.status !== 0) {
    console.error("npm ci failed; see its messages above.");
    process.exit(1);
  }
  writeFileSync(stamp, stamps[extent]);
}

/**
 * Whether npm's own list of what it has installed names every package that running needs, in the lockfile's version. Of
 * packages for other machines (optional) those that are there count. For tests this says too little: they need the
 * results of install scripts.
 */
function runtimeIsInstalled() {
  const list = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(list)) return false;
  const packagesOf = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
  const installed = packagesOf(list);
  return Object.entries(packagesOf(join(root, "package-lock.json"))).every(([path, { version, dev, optional }]) => {
    if (path === "" || dev) return true;
    return installed[path] === undefined ? optional === true : installed[path].version === version;
  });
}

/** The Bun binary that the lockfile pins. Also found where install scripts are not allowed to run. */
export function bunBinary() {
  const require = createRequire(join(root, "package.json"));
  const exe = process.platform === "win32" ? "bun.exe" : "bun";
  const arch = process.arch === "arm64" ? "aarch64" : process.arch;
  for (const variant of ["", "-baseline", "-musl", "-musl-baseline"]) {
    const packageName = `@oven/bun-${process.platform === "win32" ? "windows" : process.platform}-${arch}${variant}`;
    try {
      const found = join(dirname(require.resolve(`${packageName}/package.json`)), "bin", exe);
      if (existsSync(found) && spawnSync(found, ["--version"]).status === 0) return found;
    } catch {
      // Not this variant: npm installs only the one that fits the machine.
    }
  }
  try {
    const installed = join(dirname(require.resolve("bun/package.json")), "bin", "bun.exe");
    if (existsSync(installed)) return installed;
  } catch {
    // Said below.
  }
  console.error("No Bun binary for this machine was installed; remove node_modules and run the command again.");
  process.exit(1);
}

/**
 * How long the runtime's allocator (mimalloc) keeps freed memory before it returns it to the system, in milliseconds. Its
 * default of 10 ms returns pages that are needed again at once. It reads its settings only when a process starts, so the
 * launcher sets them; an operator's own value stays.
 */
export function allocatorSettings() {
  return { MIMALLOC_PURGE_DELAY: process.env.MIMALLOC_PURGE_DELAY ?? "2000" };
}

/**
 * What people type before a command to start it the way that this process was started: messages and the dashboard name commands to
 * copy. In a clone that is npx, which finds this package from every folder of it; a link on the PATH has the command's own name.
 * @param {string} typed the script as it was started
 */
export function commandName(typed) {
  const { npm_command: npm, SMART_GATEWAY_COMMAND: named } = process.env;
  if (named) return named;
  if (npm === "exec" || typed === join(root, "scripts", "start.mjs")) return "npx smart-gateway";
  return basename(typed) === "smart-gateway" ? "smart-gateway" : `node ${relative(process.cwd(), typed)}`;
}

/** For the runtime: it reads no `.env` and runs no `bunfig.toml` of the folder in which somebody starts it. */
export const isolated = ["--no-env-file", `--config=${devNull}`];

/** Runs a program in this terminal, forwards signals to it, and exits with its exit code. */
export function become(command, args, environment = {}, cwd = root) {
  const child = spawn(command, args, { cwd, stdio: "inherit", env: { ...process.env, ...environment } });
  // Ctrl-C reaches the child by itself (same process group); a signal sent to us alone has to be passed on. The child
  // takes a second signal as the order to end at once, so one that came both ways must count once: the terminal's is not repeated.
  process.on("SIGINT", () => {
    if (!process.stdin.isTTY) child.kill("SIGINT");
  });
  for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR2"]) process.on(signal, () => child.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) whenAbandoned(() => child.kill("SIGTERM"));
  child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 128));
}

/**
 * npm runs scripts in a shell. A signal to npm (or to that shell) alone ends it without a signal to this process. The gateway would
 * then keep its port, so it ends when the process that started it has ended.
 */
function whenAbandoned(end) {
  const started = [process.ppid, parentOf(process.ppid)].filter((pid) => pid !== undefined && pid > 1);
  const watch = setInterval(() => {
    if (process.ppid === started[0] && started.every(isAlive)) return;
    clearInterval(watch);
    end();
  }, 500);
  watch.unref();
}

function parentOf(pid) {
  try {
    // pid (name) state parent …; the name may hold anything, so read from its closing bracket on.
    return Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
  } catch {
    return undefined; // not Linux: the shell alone is watched
  }
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
