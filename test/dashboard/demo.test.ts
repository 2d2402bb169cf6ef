import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, call, eventually, postChat, start } from "../harness/gateway.ts";
import { root, serve } from "../harness/process.ts";

const demoTraffic = (...args: string[]) => runCommand(["demo", "traffic", ...args]);

test("sample traffic to a demo gateway shows every kind of request in the dashboard, within its bound, and says that it is a demo", async () => {
  await using gateway = await serve({});
  expect(gateway.output()).toContain(`Dashboard: ${gateway.url}/dashboard`);
  const { code, json } = await demoTraffic("--url", gateway.url, "--requests", "60", "--per-second", "200", "--json");
  expect(code).toBe(0);
  expect(json()).toMatchObject({ ok: true, sent: 60 });
  expect(Object.keys(json().statuses).sort()).toEqual(["200", "401", "403", "422"]);
  let summary: Answer;
  await eventually(
    async () => {
      summary = await (await call(`${gateway.url}/dashboard/api/summary`)).json();
      return summary.total.requests === 60;
    },
    () => JSON.stringify(summary?.total),
  );
  const tiers = summary.by_model.map(({ tier }: Answer) => tier);
  expect(tiers).toEqual(expect.arrayContaining(["free", "flash", "pro", null]));
  const causes = summary.by_cause.map(({ cause }: Answer) => cause);
  expect(causes).toEqual(expect.arrayContaining(["hard_pro_rule", "privacy_free_denied", "explicit_pro", null]));
  const list = await (await call(`${gateway.url}/dashboard/api/decisions?session=demo-traffic&limit=200`)).json();
  expect(list.rows.length).toBeGreaterThan(50);
  expect(list.rows.some(({ redactions }: Answer) => redactions > 0)).toBe(true);
  const session = await (await call(`${gateway.url}/dashboard/api/session`)).json();
  expect(session.demo).toBe(true);
});

test("a gateway with a real upstream gets no sample request", async () => {
  await using gateway = await start();
  const { code, err } = await demoTraffic("--url", gateway.url);
  expect(code).toBe(1);
  expect(err).toContain("not in demo mode");
  expect(gateway.upstream.received()).toBe(0);
});

test("without a gateway, or with an invalid bound, the command says so", async () => {
  const closed = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  const { origin } = closed.url;
  await closed.stop(true);
  const nobody = await demoTraffic("--url", origin, "--json");
  expect([nobody.code, nobody.json().ok]).toEqual([1, false]);
  expect((await demoTraffic("--requests", "0")).code).toBe(2);
  expect((await demoTraffic("--requests", "100000")).err).toContain("10000");
});

const captured = join(root, "../shared/agent-requests");
const missing = existsSync(captured) ? undefined : "the requests of real agents are not on this machine";
test.skipIf(missing !== undefined)(
  `in demo mode a real agent's request is answered with text: nothing is called that it would execute ${missing ?? ""}`,
  async () => {
    await using gateway = await serve({});
    const files = readdirSync(captured).filter((name) => name.endsWith(".json") && name !== "labels.json");
    const answerTo = async (name: string): Promise<[string, number, string[]]> => {
      const body = JSON.parse(readFileSync(join(captured, name), "utf8"));
      const reply = await postChat(gateway.url, { ...body, model: "smart-router", stream: true });
      const finishes = [...(await reply.text()).matchAll(/"tool_calls":|"finish_reason":"(\w+)"/g)];
      return [name, reply.status, finishes.map(([whole, reason]) => reason ?? whole)];
    };
    expect(files.length).toBeGreaterThan(20);
    // A few at once: all of them would be too many for a busy machine. A library that demands a tool gets it.
    for (let at = 0; at < files.length; at += 4)
      for (const [name, status, finishes] of await Promise.all(files.slice(at, at + 4).map(answerTo)))
        if (!name.startsWith("pydantic-ai")) expect([name, status, finishes]).toEqual([name, 200, ["stop"]]);
  },
  60_000,
);
