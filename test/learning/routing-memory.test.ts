import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRoutingMemoryStore } from "#routing-memory/store/open-routing-memory-store.ts";
import { routingMemoryStoreContract } from "#routing-memory/store/routing-memory-store.contract.ts";
import { eventually, start, type TestGateway } from "../harness/gateway.ts";
import { describeOnPostgres } from "../harness/postgres-suite.ts";

const ask = { role: "user", content: "Say hello." };
/** Turns of one conversation: later ones are continuations, which stay on the model of their ask. */
const turn = (n: number) => ({
  messages: [
    ask,
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: `c${n}`, type: "function", function: { name: "bash", arguments: `{"command":"ls ${n}"}` } }],
    },
    { role: "tool", tool_call_id: `c${n}`, content: "ok" },
  ],
  model: "smart-router",
});
const routedTo = async (gateway: TestGateway, n: number, headers = {}) =>
  (await gateway.chat(turn(n) as never, headers)).headers.get("x-smart-gateway-model"); // shaped by hand

/** Begins the conversation on pro, which only the memory would select again. */
async function beginOnPro(gateway: TestGateway): Promise<void> {
  const response = await gateway.chat({ model: "smart-router", messages: [ask] }, { "x-pro": "true" });
  expect(response.headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
}

const scratch = mkdtempSync(join(tmpdir(), "routing-memory-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test("a restarted gateway keeps a conversation's model", async () => {
  const env = { DATABASE_URL: `sqlite:${join(scratch, "gateway.db")}` };
  const before = await start({ env });
  await beginOnPro(before);
  await before.stop();
  await using after = await start({ env });
  await eventually(async () => (await routedTo(after, 1)) === "vendor_v4_pro");
  expect(await routedTo(after, 2)).toBe("vendor_v4_pro");
});

describeOnPostgres("routing memory", (postgres) => {
  routingMemoryStoreContract("PostgreSQL", async () => {
    const store = await openRoutingMemoryStore(postgres.url);
    await postgres.run("TRUNCATE routing_memory");
    return store;
  });

  test("two nodes keep a conversation's model", async () => {
    const env = { DATABASE_URL: await postgres.server.createDatabase() };
    await using one = await start({ env });
    await using other = await start({ env });
    await beginOnPro(one);
    await eventually(async () => {
      const rows = await postgres.run("SELECT 1 FROM routing_memory WHERE kind = 'conversation'", env.DATABASE_URL);
      return rows.length === 1;
    });
    await eventually(async () => (await routedTo(other, 1)) === "vendor_v4_pro");
    expect(await routedTo(one, 2)).toBe("vendor_v4_pro");
  });

  test("a gateway whose database becomes unavailable keeps routing", async () => {
    const env = { DATABASE_URL: await postgres.server.createDatabase() };
    await using gateway = await start({ env });
    await beginOnPro(gateway);
    await postgres.run("DROP TABLE routing_memory", env.DATABASE_URL);
    expect(await routedTo(gateway, 1)).toBe("vendor_v4_pro");
    expect(
      (await gateway.chat({ model: "smart-router", messages: [{ role: "user", content: "Other." }] })).status,
    ).toBe(200);
  });
});
