import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { freePort } from "../../test/harness/process.ts";
import { answersEveryRoute, printedUrl } from "./smoke.ts";

const root = join(import.meta.dir, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "smart-gateway-package-"));
const [warm, home] = [join(folder, "warm"), join(folder, "home")];
const packageFile = join(folder, `smart-gateway-${version}.tgz`);
/** Somebody who is not root, and has nothing but Node. */
const asNobody = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
const node = Bun.which("node") ?? "node";
const path = `${join(node, "..")}:/usr/bin:/bin`;

function start(command: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const own = { PATH: path, HOME: cwd, npm_config_cache: join(cwd, ".npm"), npm_config_update_notifier: "false" };
  return Bun.spawn([...command], { cwd, env: { ...own, ...env }, stdout: "pipe", stderr: "pipe" });
}

async function run(command: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const child = start(command, cwd, env);
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(await child.exited, `${command.join(" ")}: ${output}${errors}`).toBe(0);
  return output;
}

const asUser = (command: string, env: Record<string, string> = {}) =>
  run([...asNobody, join(home, "node_modules/.bin/smart-gateway"), ...command.split(" ")], home, env);

describe("the npm package", () => {
  beforeAll(async () => {
    for (const each of [folder, warm, home]) {
      mkdirSync(each, { recursive: true });
      chmodSync(each, 0o777);
    }
    await run(["npm", "pack", "--pack-destination", folder], root, { npm_config_cache: join(folder, ".npm") });
    // The one time that the registry is needed.
    const install = ["npm", "install", "--no-audit", "--no-fund", "--omit=dev", packageFile];
    await run([...asNobody, ...install], warm);
    cpSync(join(warm, ".npm"), join(home, ".npm"), { recursive: true });
    if (asNobody.length > 0) await run(["chown", "-R", "65534:65534", home], home);
    await run([...asNobody, ...install, "--offline", "--ignore-scripts"], home);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("has what runs and nothing else, and no install script", async () => {
    const files = (await run(["tar", "tzf", packageFile], folder)).split("\n");
    expect(
      files.filter((file) => /\.test\.|\/testing\/|fixtures|^package\/(?:test|bench|web|deploy)\//.test(file)),
    ).toEqual([]);
    expect(files).toContain("package/defaults/policy.yaml");
    const { scripts } = JSON.parse(readFileSync(join(home, "node_modules/smart-gateway/package.json"), "utf8"));
    expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  });

  test("serves every route in demo mode without a command or a setting, explains a request, and stops", async () => {
    const settings = { PORT: String(await freePort()), LOG_FORMAT: "json" };
    const gateway = start([...asNobody, join(home, "node_modules/.bin/smart-gateway")], home, settings);
    const url = await printedUrl(gateway.stdout);
    await answersEveryRoute(url);
    const chat = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: "Bearer smoke-test-token",
        "content-type": "application/json",
        "x-request-id": "hello-1",
      },
      body: JSON.stringify({ model: "smart-router", messages: [{ role: "user", content: "Say hello" }] }),
    });
    expect(chat.status).toBe(200);
    expect(await asUser("explain hello-1", settings)).toContain("flash");
    const doctor = await asUser("doctor --offline", settings);
    expect(doctor).toContain(`version ${version}`);
    const { commit } = (await (await fetch(`${url}/healthz`)).json()) as { commit: string };
    expect(commit).toMatch(/^(?:[0-9a-f]{40}|unknown)$/);
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
  });

  test("sets up what its own form can use", async () => {
    const empty = join(home, "new");
    mkdirSync(empty);
    chmodSync(empty, 0o777);
    // As npx starts it. It finds the package again from any folder, which a clone is not.
    const npx = { npm_command: "exec" };
    const said = await run([...asNobody, join(home, "node_modules/.bin/smart-gateway"), "init"], empty, npx);
    expect(said).toContain("npx smart-gateway serve --env-file .env");
    await run([...asNobody, join(home, "node_modules/.bin/smart-gateway"), "policy", "check"], empty);
  });
});
