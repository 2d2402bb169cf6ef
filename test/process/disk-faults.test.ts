import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { call, eventually, postChat, startUpstream } from "../harness/gateway.ts";
import { type GatewayProcess, serve, serveToEnd } from "../harness/process.ts";

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-disk-faults-"));
const run = (...command: readonly string[]) =>
  Bun.which(command[0] ?? "") !== null && Bun.spawnSync([...command]).success;

const isLinux = process.platform === "linux";
const readOnlyDisk = join(folder, "read-only");
const mounted =
  isLinux && run("mkdir", readOnlyDisk) && run("mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", readOnlyDisk);
afterAll(() => {
  if (mounted) run("umount", readOnlyDisk);
  rmSync(folder, { recursive: true, force: true });
});

/** Limits the size of the files that a running process writes. */
const limitFiles = (gateway: GatewayProcess, bytes: number | "unlimited") =>
  run("prlimit", "--pid", String(gateway.child.pid), `--fsize=${bytes}:unlimited`);

describe.skipIf(!isLinux || Bun.which("prlimit") === null)("a file of the ledger that may not grow", () => {
  let files = 0;
  async function running() {
    const upstream = await startUpstream();
    const path = join(folder, `${++files}.db`);
    const url = `sqlite:${path}`;
    const gateway = await serve({
      DATABASE_URL: url,
      UPSTREAM_BASE_URL: upstream.url,
      UPSTREAM_API_KEY: ["key", "of", "a", "test"].join("-"),
    });
    const ask = async () => {
      const reply = await postChat(gateway.url, { user: "all" });
      await reply.text();
      return reply.status;
    };
    return {
      gateway,
      path,
      ask,
      probe: async (name: string) => (await call(`${gateway.url}/${name}`)).status,
      /** Ends the gateway. What the ledger has spent and still holds, and what the audit finds. */
      async ended() {
        gateway.signal("SIGTERM");
        expect(await gateway.exited()).toBe(0);
        const admin = await openLedgerAdmin(url);
        const { findings } = await admin.audit();
        const day = (await admin.accounts(10)).accounts.find(({ id }) => id.startsWith("day/"));
        await admin.close();
        return { findings, spent: Number(day?.spent), held: Number(day?.held), billed: upstream.billedNanoUsd() };
      },
      async [Symbol.asyncDispose]() {
        await gateway[Symbol.asyncDispose]();
        await upstream.stop();
      },
    };
  }

  test("stops admission with the system's own reason, and it goes on without a restart when it may", async () => {
    await using it = await running();
    const { gateway, ask, probe } = it;
    for (let n = 0; n < 5; n++) expect(await ask()).toBe(200);
    expect(limitFiles(gateway, 1)).toBe(true);
    await eventually(async () => (await ask()) === 503 && (await probe("readyz")) === 503);
    await eventually(() => /"event":"ledger_unavailable".*EFBIG/.test(gateway.output()), gateway.output);
    for (let n = 0; n < 5; n++) expect(await ask()).toBe(503);
    // A restart would not help, so no supervisor is told to try.
    expect(await probe("livez")).toBe(200);
    expect(limitFiles(gateway, "unlimited")).toBe(true);
    await eventually(async () => (await ask()) === 200);
    for (let n = 0; n < 5; n++) expect(await ask()).toBe(200);
    await eventually(() => gateway.output().includes('"event":"ledger_available"'), gateway.output);
    expect(gateway.output()).not.toContain('"event":"ledger_failed"');
    const { billed, ...ledger } = await it.ended();
    expect(ledger).toEqual({ findings: [], held: 0, spent: billed });
  }, 60_000);

  test("is emptied into the database if it is the log, and nobody notices", async () => {
    await using it = await running();
    const { gateway, path, ask } = it;
    const log = () => statSync(`${path}-wal`).size;
    await eventually(async () => (await ask()) === 200 && log() > 1_000_000);
    expect(limitFiles(gateway, log() + 20_000)).toBe(true);
    for (let n = 0; n < 300; n++) expect(await ask()).toBe(200);
    expect(gateway.output()).not.toContain('"event":"ledger_failed"');
    const { billed, ...ledger } = await it.ended();
    expect(ledger).toEqual({ findings: [], held: 0, spent: billed });
  }, 60_000);
});

test.skipIf(!mounted)("a database on a read-only file system stops the start with this reason", async () => {
  const { code, output } = await serveToEnd({ PORT: "0", DATABASE_URL: `sqlite:${join(readOnlyDisk, "gateway.db")}` });
  expect(code).toBe(1);
  expect(output).toContain("EROFS");
});
