import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, start } from "../harness/gateway.ts";

const disk = mkdtempSync(join(tmpdir(), "smart-gateway-disk-"));
const run = (...command: readonly string[]) =>
  Bun.which(command[0] ?? "") !== null && Bun.spawnSync([...command]).success;
const mounted = process.platform === "linux" && run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk);
afterAll(() => {
  if (mounted) run("umount", disk);
  rmSync(disk, { recursive: true, force: true });
});

const name =
  "on a full disk nothing is spent and nothing is lost, and everybody is notified; with room again it goes on";
if (!mounted) {
  test.skip(`${name}: no small file system can be mounted here`, () => {});
} else {
  test(name, async () => {
    await using gateway = await start({ env: { DATABASE_URL: `sqlite:${join(disk, "gateway.db")}` } });
    const json = async (path: string) => (await fetch(gateway.url + path)).json() as Promise<Record<string, unknown>>;
    const asked: string[] = [];
    const ask = async () => {
      // So that what waits is one page.
      await Bun.sleep(20);
      const reply = await gateway.chat();
      asked.push(reply.headers.get("x-request-id") ?? "");
      await reply.text();
      return reply.status;
    };
    const records = () => gateway.gateway.records;
    expect(await ask()).toBe(200);
    await eventually(async () => (await records().size()).rows === 1);

    const filler = join(disk, "filler");
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(filler, new Uint8Array(bavail * bsize));
    await eventually(async () => (await ask()) === 503 && !records().status().ok);
    const health = await json("/healthz");
    expect(health).toMatchObject({ records: { ok: false, dropped: 0 } });
    const { fields } = gateway.log.find(({ event }) => event === "records_store_changed") ?? {};
    expect(fields).toEqual({
      unavailable: true,
      detail: "SQLITE_FULL: database or disk is full (ENOSPC: no space left on device, write)",
    });
    // The ledger's heartbeat may still fit into the file: then money is counted, and only the records suffer.
    expect(["degraded", "unavailable"]).toContain(String(health["status"]));
    const { needs_you: needs } = await json("/dashboard/api/summary?range=24h");
    expect(needs).toContainEqual(expect.objectContaining({ kind: "records_dropped" }));
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/^smart_gateway_records_up 0$/m);
    expect(metrics).toMatch(/^smart_gateway_records_queue_length [1-9]/m);

    rmSync(filler);
    await eventually(async () => (await ask()) === 200);
    // The records are tried again every five seconds.
    await eventually(() => records().status().ok);
    await eventually(async () => {
      const recorded = (await records().query({}, { limit: 1_000 })).records.map((record) => record.request_id);
      // No request is recorded twice, and a health check that says 503 is no request.
      return recorded.toSorted().join() === asked.toSorted().join();
    });
    expect(records().status().dropped).toBe(0);
    expect(await json("/healthz")).toMatchObject({ status: "ok", records: { ok: true } });
  }, 60_000);
}
