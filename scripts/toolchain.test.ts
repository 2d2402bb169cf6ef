import { describe, expect, test } from "bun:test";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const toolchain = new URL("./toolchain.mjs", import.meta.url).href;

function settingsWith(env: Record<string, string>): unknown {
  const { MIMALLOC_PURGE_DELAY: _, ...rest } = process.env;
  const program = `const { allocatorSettings } = await import(${JSON.stringify(toolchain)}); console.log(JSON.stringify(allocatorSettings()));`;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", program], { env: { ...rest, ...env } });
  return JSON.parse(stdout.toString());
}

describe("the launcher", () => {
  test("makes the allocator keep freed memory for two seconds", () => {
    expect(settingsWith({})).toEqual({ MIMALLOC_PURGE_DELAY: "2000" });
  });

  test("keeps the operator's own setting of the allocator", () => {
    expect(settingsWith({ MIMALLOC_PURGE_DELAY: "10" })).toEqual({ MIMALLOC_PURGE_DELAY: "10" });
  });
});

function commandOf(typed: string, env: Record<string, string>): string {
  const program = `const { commandName } = await import(${JSON.stringify(toolchain)}); console.log(commandName(${JSON.stringify(typed)}));`;
  const { npm_command: _, SMART_GATEWAY_COMMAND: __, ...rest } = process.env;
  return Bun.spawnSync([process.execPath, "-e", program], { cwd: clone, env: { ...rest, ...env } })
    .stdout.toString()
    .trim();
}
const clone = join(import.meta.dir, "..");

test("the launcher names the command that users type to start this process again", () => {
  expect(commandOf(join(clone, "scripts/start.mjs"), { npm_command: "start" })).toBe("npx smart-gateway");
  expect(commandOf("/root/.npm/_npx/1/node_modules/.bin/smart-gateway", { npm_command: "exec" })).toBe(
    "npx smart-gateway",
  );
  expect(commandOf("/usr/local/bin/smart-gateway", {})).toBe("smart-gateway");
  expect(commandOf(join(clone, "bin/smart-gateway.mjs"), {})).toBe("node bin/smart-gateway.mjs");
});

/** Whether `npm start` would install in a clone with this lockfile, in which npm has installed these packages. */
function installs(wanted: object, installed: object | undefined): boolean {
  const clone = mkdtempSync(join(tmpdir(), "smart-gateway-clone-"));
  const file = (path: string, text: string) => writeFileSync(join(clone, path), text);
  for (const folder of ["scripts", "node_modules", "bin"]) mkdirSync(join(clone, folder));
  cpSync(join(import.meta.dir, "toolchain.mjs"), join(clone, "scripts", "toolchain.mjs"));
  file("package-lock.json", JSON.stringify({ packages: { "": {}, ...wanted } }));
  if (installed !== undefined) file("node_modules/.package-lock.json", JSON.stringify({ packages: installed }));
  file("bin/npm", "#!/bin/sh\nexit 1\n");
  chmodSync(join(clone, "bin", "npm"), 0o755);
  const program = `(await import(${JSON.stringify(join(clone, "scripts", "toolchain.mjs"))})).installIfNeeded("runtime");`;
  const env = { ...process.env, PATH: `${join(clone, "bin")}:${process.env.PATH ?? ""}` };
  const { stderr } = Bun.spawnSync([process.execPath, "-e", program], { env });
  rmSync(clone, { recursive: true, force: true });
  return stderr.toString().includes("Installing what the gateway needs");
}

describe.skipIf(process.platform === "win32")("npm start and npx smart-gateway", () => {
  const wanted = {
    "node_modules/zod": { version: "4.6.7" },
    "node_modules/for-another-machine": { version: "1.0.0", optional: true },
    "node_modules/knip": { version: "6.42.0", dev: true },
  };

  test("does not touch a contributor's own npm install", () => {
    const own = { "node_modules/zod": { version: "4.6.7" }, "node_modules/knip": { version: "6.42.0", dev: true } };
    expect(installs(wanted, own)).toBe(false);
  });

  test("installs if packages are missing or have another version", () => {
    expect(installs(wanted, undefined)).toBe(true);
    expect(installs(wanted, { "node_modules/knip": { version: "6.42.0" } })).toBe(true);
    expect(installs(wanted, { "node_modules/zod": { version: "4.6.6" } })).toBe(true);
  });
});

test("the launcher runs and reads nothing of the folder in which it is called, and neither do its workers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-hostile-"));
  const file = (name: string, text: string) => writeFileSync(join(folder, name), text);
  file("bunfig.toml", 'preload = ["./preload.ts"]\n');
  file("preload.ts", 'await Bun.write("preloaded", String(process.env["UPSTREAM_API_KEY"]));\n');
  file(".env", "PORT=eighty\nUPSTREAM_API_KEY=of-the-folder\n");
  file("tsconfig.json", '{"compilerOptions":{"paths":{"zod":["./preload.ts"]}}}\n');
  const env = { PATH: process.env.PATH ?? "", UPSTREAM_API_KEY: "of-the-operator", WORKERS: "2", PORT: "0" };
  const run = (...args: string[]) => {
    const { stdout, stderr } = Bun.spawnSync(["node", join(clone, "bin/smart-gateway.mjs"), ...args], {
      cwd: folder,
      env,
    });
    return `${stdout}${stderr}`;
  };
  // A port of 0 and two workers are refused, by the settings of the environment alone.
  expect(run("serve")).toContain("cannot share port 0");
  expect(run("models")).toContain("vendor_v4_pro");
  expect(existsSync(join(folder, "preloaded"))).toBe(false);
  rmSync(folder, { recursive: true, force: true });
});
