import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { runCommand } from "../harness/command-line.ts";
import { call, postChat } from "../harness/gateway.ts";
import { serve } from "../harness/process.ts";

const backup = (databaseUrl: string, ...args: string[]) =>
  runCommand(["backup", ...args], { env: { DATABASE_URL: databaseUrl } });

describe("smart-gateway backup", () => {
  test("copies a database that a gateway is writing to; the copy balances, and a gateway starts from it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-backup-"));
    const url = `sqlite:${join(folder, "gateway.db")}`;
    const copy = join(folder, "copy.db");
    {
      await using gateway = await serve({ DATABASE_URL: url, NODE_ID: "one" });
      let asking = true;
      let answered = 0;
      const callers = Array.from({ length: 8 }, async () => {
        while (asking) {
          const reply = await postChat(gateway.url, { max_tokens: 8 }, { "x-goal-id": "backup" });
          if (reply.status === 200) answered += 1;
          await reply.text();
        }
      });
      while (answered < 20) await Bun.sleep(5);
      const atStart = answered;
      const { code, out } = await backup(url, copy, "--json");
      asking = false;
      await Promise.all(callers);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toEqual({ file: copy, bytes: statSync(copy).size });
      const admin = await openLedgerAdmin(`sqlite:${copy}`);
      const report = await admin.audit();
      await admin.close();
      expect(report.findings).toEqual([]);
      expect(report.reservations).toBeGreaterThanOrEqual(atStart);
    }
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    await using restored = await serve({ DATABASE_URL: `sqlite:${copy}`, NODE_ID: "one" });
    expect((await call(`${restored.url}/readyz`)).status).toBe(200);
    rmSync(folder, { recursive: true });
  });

  test("overwrites nothing, and leaves no partial file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-backup-"));
    const target = join(folder, "copy.db");
    const missing = await backup(`sqlite:${join(folder, "none.db")}`, target);
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("There is no database") });
    writeFileSync(join(folder, "broken.db"), "no database".repeat(1_000));
    expect((await backup(`sqlite:${join(folder, "broken.db")}`, target)).code).toBe(1);
    expect(existsSync(target)).toBe(false);
    writeFileSync(target, "precious");
    expect(await backup(`sqlite:${join(folder, "broken.db")}`, target)).toMatchObject({
      code: 1,
      err: expect.stringContaining("exists already"),
    });
    expect(readdirSync(folder).toSorted()).toEqual(["broken.db", "copy.db"]);
    rmSync(folder, { recursive: true });
  });
});
