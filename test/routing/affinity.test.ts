import { expect, test } from "bun:test";
import { completes } from "#simulator/behaviours.ts";
import { start } from "../harness/gateway.ts";

const call = (n: number, result: string) => [
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: `c${n}`, type: "function", function: { name: "find_flights", arguments: `{"day":${n}}` } }],
  },
  { role: "tool", tool_call_id: `c${n}`, content: result },
];
const hard =
  "Design a distributed, fault-tolerant job queue with exactly-once delivery, sharding and failover, prove that it is correct, and then migrate the concurrent workers step by step.";
/** What such an ask reaches, and a small one does not. */
const routing = { flash_below: 30, pro_from: 30 };

const say = (messages: readonly object[], more: object = {}) => ({ model: "smart-router", messages, ...more }) as never; // shaped by hand

test("a run stays on the model of its ask, without any id; the next ask is routed again", async () => {
  await using gateway = await start({ policy: { routing } });
  const ask = { role: "user", content: hard };
  const first = await gateway.chat(say([ask]));
  expect(first.headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
  const messages: object[] = [ask];
  for (let n = 0; n < 5; n++) {
    messages.push(...call(n, "ok"));
    const response = await gateway.chat(say(messages));
    expect(response.headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
  }
  messages.push({ role: "assistant", content: "Done." }, { role: "user", content: "Thanks. Say hello." });
  const next = await gateway.chat(say(messages));
  expect(next.headers.get("x-smart-gateway-model")).toBe("vendor_v4_flash");
});

// Every score is in the gray zone, and the midpoint would choose pro for the ask.
for (const stream of [false, true])
  test(`a run stays on the model that the scout's verdict chose for its ask, ${stream ? "streamed" : "whole"}`, async () => {
    await using gateway = await start({ policy: { routing: { flash_below: 0, pro_from: 100 } } });
    const open = { metadata: { sensitive: false }, stream };
    const messages: object[] = [{ role: "user", content: hard }];
    gateway.upstream.next(completes({ text: "FLASH" }));
    const first = await gateway.chat(say(messages, open));
    expect(first.headers.get("x-smart-gateway-action")).toBe("SCOUT");
    await first.text();
    messages.push(...call(1, "ok"));
    const next = await gateway.chat(say(messages, open));
    await next.text();
    expect(next.headers.get("x-smart-gateway-answered-by")).toBe("vendor_v4_flash");
    expect(next.headers.get("x-smart-gateway-cause")).toBe("affinity");
  });

test("a call that the agent makes for itself does not change the model of the run", async () => {
  await using gateway = await start({ policy: { routing } });
  const task = { "X-Task-Id": "t1" };
  const messages: object[] = [{ role: "user", content: hard }];
  expect((await gateway.chat(say(messages), task)).headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
  const title = {
    role: "system",
    content: "Generate a short title for this conversation. Answer with the title only.",
  };
  const own = await gateway.chat(say([title, { role: "user", content: "hello" }], { max_tokens: 20 }), task);
  expect(own.headers.get("x-smart-gateway-model")).toBe("vendor_v4_flash");
  messages.push(...call(1, "ok"));
  expect((await gateway.chat(say(messages), task)).headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
});

test("nor does it go to the model of the run, where the user's next small ask does", async () => {
  await using gateway = await start({ policy: { routing } });
  const modelFor = async (messages: readonly object[], more: object = {}) =>
    (await gateway.chat(say(messages, more))).headers.get("x-smart-gateway-model");
  const messages: object[] = [{ role: "user", content: hard }];
  expect(await modelFor(messages)).toBe("vendor_v4_pro");
  // To read so much anew costs more than twelve turns save.
  messages.push(...call(1, "ok ".repeat(120_000)), { role: "assistant", content: "Done." });
  expect(await modelFor([...messages, { role: "user", content: "Thanks. Say hello." }])).toBe("vendor_v4_pro");
  const request = "Generate a short title for this conversation. Answer with the title only.";
  expect(await modelFor([...messages, { role: "user", content: request }], { max_tokens: 20 })).toBe("vendor_v4_flash");
});
