import { expect, test } from "bun:test";
import { start } from "../harness/gateway.ts";

const call = (n: number, result: string) => [
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: `c${n}`, type: "function", function: { name: "bash", arguments: `{"command":"ls ${n}"}` } }],
  },
  { role: "tool", tool_call_id: `c${n}`, content: result },
];
const hard =
  "Design a distributed, fault-tolerant job queue with exactly-once delivery, sharding and failover, prove that it is correct, and then migrate the concurrent workers step by step.";

test("a run stays on the model of its ask, without any id; the next ask is routed again", async () => {
  await using gateway = await start();
  const ask = { role: "user", content: hard };
  const first = await gateway.chat({ messages: [ask] });
  const tier = first.headers.get("x-smart-gateway-model");
  const messages: object[] = [ask];
  for (let n = 0; n < 5; n++) {
    messages.push(...call(n, "ok"));
    const response = await gateway.chat({ messages } as never); // shaped by hand
    expect(response.headers.get("x-smart-gateway-model")).toBe(tier);
  }
  messages.push({ role: "assistant", content: "Done." }, { role: "user", content: "Thanks. Say hello." });
  const next = await gateway.chat({ messages } as never);
  expect(next.headers.get("x-smart-gateway-model")).toBe("vendor_v4_flash");
});
