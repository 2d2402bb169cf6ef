import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callsIn } from "#cli/commands/learn.ts";
import { trialsIn } from "#learning/outcomes.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { type StartOptions, start, type TestGateway } from "../harness/gateway.ts";

const scratch = mkdtempSync(join(tmpdir(), "outcomes-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let files = 0;

/** The calls in the records that a gateway has written when it has ended. */
async function callsAfter(work: (gateway: TestGateway) => Promise<void>, options: StartOptions = {}) {
  const env = { DATABASE_URL: `sqlite:${join(scratch, `${++files}.db`)}` };
  const gateway = await start({ ...options, env });
  await work(gateway);
  const { registry } = gateway.gateway.ports.config();
  await gateway.stop();
  const store = await openRecordStore(env.DATABASE_URL);
  const calls = await callsIn(store, 0, registry);
  await store.close();
  return calls;
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

test("a run that flash could not finish and pro could is a failure that pro rescued, in numbers only", async () => {
  const calls = await callsAfter(async (gateway) => {
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
  expect(trialsIn(calls)).toMatchObject([
    { failed: true, rescued: true },
    { failed: false, rescued: undefined },
  ]);
  expect(JSON.stringify(calls)).not.toMatch(/Ada|ImportError|total|goodbye/);
});

test("a reported failure is one of the previous ask, and the ask that reports it is its retry", async () => {
  const calls = await callsAfter(async (gateway) => {
    const headers = { "x-task-id": "t1" };
    await gateway.chat({ model: "smart-router", messages: [ask("Say hello.")] }, headers);
    const failed = { ...headers, "x-failure-class": "STRUCTURAL" };
    await gateway.chat({ model: "smart-router", messages: [ask("Say it again.")] }, failed);
  });
  expect(calls.map(({ reportedFailure, tier }) => ({ reportedFailure, tier }))).toEqual([
    { reportedFailure: false, tier: "flash" },
    { reportedFailure: true, tier: "pro" },
  ]);
  expect(trialsIn(calls)).toMatchObject([{ failed: true, rescued: true }]);
});
