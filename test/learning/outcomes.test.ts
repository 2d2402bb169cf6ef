import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRecorded } from "#cli/commands/recorded-outcomes.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { type StartOptions, start, type TestGateway } from "../harness/gateway.ts";

const scratch = mkdtempSync(join(tmpdir(), "outcomes-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let files = 0;

/** The records that a gateway has written when it has ended. */
async function recordsAfter(work: (gateway: TestGateway) => Promise<void>, options: StartOptions = {}) {
  const env = { DATABASE_URL: `sqlite:${join(scratch, `${++files}.db`)}` };
  const gateway = await start({ ...options, env });
  await work(gateway);
  const { registry } = gateway.gateway.ports.config();
  await gateway.stop();
  const store = await openRecordStore(env.DATABASE_URL);
  const { outcomes: records } = await readRecorded(store, 0, registry, 8);
  await store.close();
  return records;
}

const ask = (content: string) => ({ role: "user", content });
const failing = (n: number) => [
  {
    role: "assistant",
    content: null,
    tool_calls: [
      {
        id: `e${n}`,
        type: "function",
        function: { name: "write_file", arguments: `{"path":"a.py","content":"${n}"}` },
      },
    ],
  },
  { role: "tool", tool_call_id: `e${n}`, content: "ok" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: `t${n}`, type: "function", function: { name: "bash", arguments: '{"command":"pytest a.py"}' } }],
  },
  {
    role: "tool",
    tool_call_id: `t${n}`,
    content: "ImportError: cannot import name 'total' from 'shop.cart'\nexit code: 1",
  },
];

test("a run that flash could not finish and pro could is one record with its escalation, in numbers only", async () => {
  const records = await recordsAfter(async (gateway) => {
    const messages: object[] = [ask("Say hello to Ada.")];
    const send = async () => {
      const response = await gateway.chat({ model: "smart-router", messages } as never); // shaped by hand
      return response.headers.get("x-smart-gateway-cause");
    };
    await send();
    for (let n = 0; n < 8; n++) {
      messages.push(...failing(n));
      if ((await send()) === "hard_pro_rule") break;
    }
    messages.push({ role: "assistant", content: "Done." }, ask("Now say goodbye."));
    await send();
  });
  expect(records).toHaveLength(2);
  const [first] = records;
  expect(first?.decision).toMatchObject({ tier: "flash", probability: 1 });
  expect(first?.signals).toMatchObject({ escalated: true, wentOn: true, failedAfter: 0, reported: 0 });
  expect(JSON.stringify(records)).not.toMatch(/Ada|ImportError|total|goodbye/);
});

test("a reported failure is a signal about the previous ask, and the record of the retry names that ask", async () => {
  const records = await recordsAfter(async (gateway) => {
    const headers = { "x-task-id": "t1" };
    await gateway.chat({ model: "smart-router", messages: [ask("Say hello.")] }, headers);
    const failed = { ...headers, "x-failure-class": "STRUCTURAL" };
    await gateway.chat({ model: "smart-router", messages: [ask("Say it again.")] }, failed);
  });
  const [first, retry] = records;
  expect(first?.signals.reported).toBe(1);
  expect(retry?.decision.retryOf).toBe(first?.decisionId ?? "");
});

test("explored tasks are recorded as such, each with the probability of its tier; a continuation stays on the model, and a later ask is not explored", async () => {
  const causes = new Map<string, string>();
  const records = await recordsAfter(
    async (gateway) => {
      for (let n = 0; n < 30; n++) {
        const messages: object[] = [ask(`Say ${n}.`)];
        const send = () => gateway.chat({ model: "smart-router", messages } as never); // shaped by hand
        const first = (await send()).headers;
        const call = { id: "c1", type: "function", function: { name: "ls", arguments: "{}" } };
        messages.push({ role: "assistant", content: null, tool_calls: [call] });
        messages.push({ role: "tool", tool_call_id: "c1", content: "a.txt" });
        const continued = (await send()).headers;
        expect(continued.get("x-smart-gateway-model")).toBe(first.get("x-smart-gateway-model") ?? "none");
        messages.push({ role: "assistant", content: "Done." }, ask("And again."));
        expect((await send()).headers.get("x-smart-gateway-cause")).not.toBe("exploration");
        causes.set(first.get("x-smart-gateway-decision-id") ?? "", first.get("x-smart-gateway-cause") ?? "");
      }
    },
    { policy: { routing: { exploration: 0.5 } } },
  );
  const firsts = records.filter(({ decisionId }) => causes.has(decisionId));
  expect(firsts).toHaveLength(30);
  for (const { decisionId, decision } of firsts) {
    expect(decision).toMatchObject({ cause: causes.get(decisionId), probability: 0.5 });
    expect(decision.tier).toBe(decision.cause === "exploration" ? "pro" : "flash");
  }
  // The probability that thirty fair draws all go one way is one in five hundred million.
  expect(new Set(firsts.map(({ decision }) => decision.cause)).size).toBe(2);
});
