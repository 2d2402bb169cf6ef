import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type Browser, chromium } from "playwright-core";

/** A Chromium for the tests: the one that `CHROMIUM_PATH` names, else the system's, else an npm package's. */
export async function launchChromium(): Promise<Browser> {
  const problems: string[] = [];
  for (const find of [fromEnvironment, fromSystem, fromNpm]) {
    const found = find();
    if (typeof found === "string") {
      problems.push(found);
      continue;
    }
    try {
      return await launch(found);
    } catch (error) {
      problems.push(`${found.path}: ${String(error).split("\n")[0]}`);
    }
  }
  throw new Error(`no Chromium can be started; install one, or name it in CHROMIUM_PATH:\n${problems.join("\n")}`);
}

interface Candidate {
  readonly path: string;
  readonly env?: Readonly<Record<string, string>>;
}

function launch({ path, env = {} }: Candidate): Promise<Browser> {
  return chromium.launch({
    executablePath: path,
    // Only our own pages are loaded, and containers have neither the namespaces nor the shared memory that the sandbox needs.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"],
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? tmpdir(), ...env },
    timeout: 30_000,
  });
}

function fromEnvironment(): Candidate | string {
  const path = process.env["CHROMIUM_PATH"];
  return path === undefined ? "CHROMIUM_PATH is not set" : { path };
}

const macPaths = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];

function fromSystem(): Candidate | string {
  const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
  const paths = [...names.map((name) => Bun.which(name)), ...macPaths].filter((path) => path !== null);
  // Some are stubs that say how to install it; a stub does not print a version.
  const path = paths.find((path) => existsSync(path) && printsVersion(path));
  return path === undefined ? "the system has none" : { path };
}

function printsVersion(path: string): boolean {
  const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return status === 0 && /Chrom/.test(stdout);
}

/** Unpacks the package's Chromium once, with its libraries and fonts for machines that lack them. */
function fromNpm(): Candidate | string {
  if (process.platform !== "linux" || process.arch !== "x64") return "the npm package has none for this platform";
  const manifest = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  const packaged = join(dirname(manifest), "..", "bin");
  const { version } = JSON.parse(readFileSync(join(packaged, "..", "package.json"), "utf8")) as { version: string };
  const home = unpackedIn(cacheFolder(), `chromium-${version}`, (folder, home) => {
    const path = join(folder, "chromium");
    writeFileSync(path, brotliDecompressSync(readFileSync(join(packaged, "chromium.br"))));
    chmodSync(path, 0o755);
    for (const name of ["al2023", "fonts"]) {
      const archive = brotliDecompressSync(readFileSync(join(packaged, `${name}.tar.br`)));
      const { status, stderr } = spawnSync("tar", ["-x", "-C", folder], { input: archive, encoding: "utf8" });
      if (status !== 0) throw new Error(`tar: ${stderr}`);
    }
    // The package's own names contain folders of the platform for which it is made.
    const dirs = ["/usr/share/fonts", join(home, "fonts")].map((dir) => `<dir>${dir}</dir>`).join("");
    const cache = `<cachedir>${join(home, "font-cache")}</cachedir>`;
    writeFileSync(join(folder, "fonts.conf"), `<?xml version="1.0"?><fontconfig>${dirs}${cache}</fontconfig>`);
  });
  return { path: join(home, "chromium"), env: environmentFor(home) };
}

function environmentFor(home: string): Record<string, string> {
  const libraries = join(home, "lib");
  const missing = spawnSync("ldd", [join(home, "chromium")], { encoding: "utf8" }).stdout?.includes("not found");
  return {
    ...(missing === true ? { LD_LIBRARY_PATH: libraries } : {}),
    ...(existsSync("/etc/fonts/fonts.conf") ? {} : { FONTCONFIG_FILE: join(home, "fonts.conf") }),
  };
}

/** A folder that exists complete or not at all, if several processes make it at once. */
function unpackedIn(cache: string, name: string, unpack: (folder: string, home: string) => void): string {
  const home = join(cache, name);
  if (existsSync(home)) return home;
  const folder = mkdtempSync(join(cache, `${name}-`));
  unpack(folder, home);
  chmodSync(folder, 0o755);
  try {
    renameSync(folder, home);
  } catch {
    rmSync(folder, { recursive: true, force: true }); // another process was first
  }
  return home;
}

function cacheFolder(): string {
  const folder = join(tmpdir(), `smart-gateway-tests-${process.getuid?.() ?? "user"}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
