import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, start, type TestGateway } from "../harness/gateway.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

const scratch = mkdtempSync(join(tmpdir(), "task-memory-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const ask = { model: "smart-router", messages: [{ role: "user", content: "Say hello." }] };
const task = { "x-task-id": "t1" };

/** Reports a failure of the task, which the flash model answered. */
async function fail(gateway: TestGateway, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await gateway.chat(ask, { ...task, "x-failure-class": "LOCAL" });
}

async function ruleOf(gateway: TestGateway): Promise<string | null> {
  return (await gateway.chat(ask, task)).headers.get("x-smart-gateway-rule");
}

test("a restarted gateway goes on with the failures of a task", async () => {
  const env = { DATABASE_URL: `sqlite:${join(scratch, "gateway.db")}` };
  const before = await start({ env });
  await fail(before, 4);
  expect(await ruleOf(before)).toBe("flash_attempts");
  await before.stop();
  await using after = await start({ env });
  await eventually(async () => (await ruleOf(after)) === "flash_attempts");
});

test("the state of a task is written when it gets into trouble, not before", async () => {
  const path = join(scratch, "rows.db");
  const gateway = await start({ env: { DATABASE_URL: `sqlite:${path}` } });
  await gateway.chat(ask, task);
  await gateway.chat(ask, task);
  await gateway.chat(ask, { "x-task-id": "t2", "x-failure-class": "LOCAL" });
  await gateway.stop();
  const db = new Database(path, { readonly: true });
  expect(db.query("SELECT count(*) AS rows FROM task_state").get()).toEqual({ rows: 1 });
  db.close();
});

describeOnPostgres("the states of tasks", (postgres) => {
  test("are shared by nodes, and a gateway that cannot read them keeps routing", async () => {
    const env = { DATABASE_URL: await postgres.server.createDatabase() };
    await using one = await start({ env });
    await using other = await start({ env });
    await fail(one, 4);
    await eventually(async () => (await ruleOf(other)) === "flash_attempts");
    const [rows] = [await postgres.run("SELECT key_hash, value FROM task_state", env.DATABASE_URL)];
    expect(JSON.stringify(rows)).not.toMatch(/t1|hello/);
    await postgres.run("DROP TABLE task_state", env.DATABASE_URL);
    expect((await other.chat(ask, { "x-task-id": "t2" })).status).toBe(200);
  });
});
