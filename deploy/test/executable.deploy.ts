import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../test/harness/process.ts";
import { answersEveryRoute, printedUrl } from "./smoke.ts";

const root = join(import.meta.dir, "..", "..");
const executable = join(root, "dist", "smart-gateway");
const folder = mkdtempSync(join(tmpdir(), "smart-gateway-executable-"));
const data = join(folder, "data");
const started = join(folder, "started-in");
const policy = join(folder, "policy.yaml");
const isRoot = process.getuid?.() === 0;
/** Root may write everywhere; the test is about somebody who may not. */
const asNobody = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];

beforeAll(() => {
  mkdirSync(data);
  mkdirSync(started);
  // Settings and a preload that would end the process, in the folder in which it is started.
  writeFileSync(join(started, ".env"), "PORT=not-a-port\n");
  writeFileSync(join(started, "bunfig.toml"), 'preload = ["./missing.ts"]\n');
  writeFileSync(policy, "routing: { pro_from: 95 }\n");
  chmodSync(folder, 0o755);
  chmodSync(data, 0o777);
  chmodSync(started, 0o555);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(args: readonly string[], env: Record<string, string> = {}) {
  const settings = { DATABASE_URL: `sqlite:${data}/gateway.db`, PORT: "0", LOG_FORMAT: "json", ...env };
  return Bun.spawn([...asNobody, executable, ...args], {
    cwd: started,
    env: { PATH: process.env["PATH"] ?? "", ...settings },
    stdout: "pipe",
    stderr: "inherit",
  });
}

test.each(["1", "2"])("serves every route from an empty read-only folder, with %s processes", async (workers) => {
  const gateway = run(["serve"], { WORKERS: workers, PORT: String(await freePort()) });
  await answersEveryRoute(await printedUrl(gateway.stdout));
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
});

test.each(["models list", "policy check", "budgets audit", "decisions export", `policy backtest ${policy}`])(
  "runs the command %s",
  async (command) => {
    const process = run(command.split(" "));
    const output = await new Response(process.stdout).text();
    expect(await process.exited, output).toBe(0);
    expect(output).not.toBeEmpty();
  },
);

test("needs less than 130 MB", () => {
  expect(statSync(executable).size).toBeLessThan(130e6);
});
