import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../test/harness/process.ts";
import { answersEveryRoute } from "./smoke.ts";

const root = join(import.meta.dir, "..", "..");
const missing = ["buildah", "mmdebstrap"].filter((tool) => Bun.which(tool) === null);
if (missing.length > 0) console.warn(`The image is not tested: ${missing.join(" and ")} not installed.`);

/** Builds and runs without an engine and without privileges of its own: everything lies in one folder. */
const folder = mkdtempSync(join(tmpdir(), "smart-gateway-image-"));
const store = ["--root", join(folder, "store"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];

async function run(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: root,
    env: { ...process.env, BUILDAH_ISOLATION: "chroot" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${output}${errors}`);
  return output.trim();
}

const buildah = (...args: readonly string[]) => run(["buildah", ...store, ...args]);

describe.skipIf(missing.length > 0)("the image", () => {
  let container = "";
  let mounted = "";

  beforeAll(async () => {
    // No registry is needed: the base is the C library of this machine's Debian.
    const sources = "/etc/apt/sources.list.d/debian.sources";
    const base = ["--variant=extract", "--include=libc6", "stable", join(folder, "base.tar"), sources];
    await run(["mmdebstrap", ...base]);
    writeFileSync(join(folder, "Dockerfile"), "FROM scratch\nADD base.tar /\n");
    await buildah("bud", "--tag", "base", folder);
    const dockerfile = ["--file", "deploy/Dockerfile", "--ignorefile", "deploy/Dockerfile.dockerignore"];
    const named = ["--build-arg", "BASE=localhost/base", "--build-arg", "VERSION=1.2.3", "--tag", "smart-gateway"];
    await buildah("bud", "--format", "docker", ...dockerfile, ...named, ".");
    container = await buildah("from", "smart-gateway");
    mounted = await buildah("mount", container);
  }, 300_000);

  // What is mounted inside must be gone before the folder is removed.
  afterAll(async () => {
    await buildah("umount", "--all");
    await buildah("rm", "--all");
    rmSync(folder, { recursive: true, force: true });
  });

  test("runs as a numeric user without privileges, who owns nothing but the data folder", async () => {
    const image = JSON.parse(await buildah("inspect", "--type", "image", "smart-gateway")).Docker.config;
    expect(image.User).toBe("65532:65532");
    expect(image.Healthcheck.Test).toEqual(["CMD", "/usr/local/bin/smart-gateway", "healthcheck"]);
    expect(image.Labels["org.opencontainers.image.version"]).toBe("1.2.3");
    expect(statSync(join(mounted, "data"))).toMatchObject({ uid: 65532, gid: 65532 });
    expect(statSync(join(mounted, "usr/local/bin/smart-gateway"))).toMatchObject({ uid: 0, mode: 0o100555 });
  });

  test("has no shell, no package manager and no second runtime", () => {
    const programs = ["bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin"].flatMap((name) => {
      try {
        return readdirSync(join(mounted, name));
      } catch {
        return []; // not in this base
      }
    });
    expect(programs.filter((name) => /^(?:sh|bash|dash|busybox|apt|dpkg|node|npm|bun)$/.test(name))).toEqual([]);
    expect(programs).toContain("smart-gateway");
  });

  test("serves every route, says that it is healthy, and stops when it is told to", async () => {
    const port = String(await freePort());
    const settings = ["--env", `PORT=${port}`, "--env", "HOST=127.0.0.1"];
    const program = "/usr/local/bin/smart-gateway";
    const args = ["buildah", ...store, "run", ...settings, container, "--", program];
    const gateway = Bun.spawn([...args, "serve"], { env: { ...process.env, BUILDAH_ISOLATION: "chroot" } });
    const url = `http://127.0.0.1:${port}`;
    while (
      !(await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await Bun.sleep(50);
    await answersEveryRoute(url);
    expect(await buildah("run", ...settings, container, "--", program, "healthcheck")).toBe("ok");
    gateway.kill("SIGTERM");
    await gateway.exited;
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });
});
