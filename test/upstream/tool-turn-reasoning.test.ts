import { expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { completes, fails } from "#simulator/behaviours.ts";
import type { RecordedRequest } from "#simulator/simulated-exchange.ts";
import { wantedReasoning } from "#upstream/aggregator.ts";
import { type Answer, authorization, call, start, upstreamIds } from "../harness/gateway.ts";

/** Hosts as strict as they come: DeepSeek's own wants reasoning in each message with tool calls, another one wants none. */
const isDeepSeek = ({ body }: RecordedRequest) => String(body?.["model"]).startsWith("deepseek/");
const script = (request: RecordedRequest) => {
  const messages = (request.body?.["messages"] ?? []) as JsonObject[];
  const ofAssistant = messages.filter(({ role }) => role === "assistant");
  const has = ({ reasoning, reasoning_content: content }: JsonObject) =>
    typeof content === "string" && (reasoning === undefined || reasoning === content);
  if (!isDeepSeek(request)) return ofAssistant.some(has) ? fails(400, "reasoning_content is not supported") : undefined;
  const isMissing = ofAssistant.some((message) => message["tool_calls"] !== undefined && !has(message));
  if (isMissing) return fails(400, "The `reasoning_content` in the thinking mode must be passed back to the API.");
  return isDown.has(String(request.body?.["model"])) ? fails(503) : completes({ text: "done" });
};
const isDown = new Set<string>();

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
const required = { tool_turn_reasoning: "required" };
const models = {
  vendor_v4_flash: required,
  vendor_v4_pro: required,
  vendor_emergency: { tool_turn_reasoning: "refused" },
};
const toolCall = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
const asking = { role: "assistant", content: null, tool_calls: [toolCall] };
const result = { role: "tool", tool_call_id: "c1", content: "nothing" };
const user = { role: "user", content: "look" };

test("an agent's tool loop that leaves reasoning out is answered, on each model of the chain", async () => {
  await using gateway = await start({ script, models });
  const sentBack = [{}, { reasoning_content: "I look." }, { reasoning_content: null }, { reasoning: "I look." }];
  for (const down of [[], ["vendor_v4_flash"], ["vendor_v4_flash", "vendor_v4_pro"]]) {
    isDown.clear();
    for (const key of down) isDown.add(upstreamIds[key] ?? "");
    for (const stream of [false, true])
      for (const reasoning of sentBack) {
        const messages = [user, { ...asking, ...reasoning }, result, { role: "assistant", content: "Nothing." }, user];
        const response = await gateway.chat({ stream, tools, messages });
        expect([down, response.status]).toEqual([down, 200]);
        await response.text();
      }
  }
  isDown.clear();
});

test("what is added stands before the bytes that were received; a message that needs nothing stays as it is", async () => {
  await using gateway = await start({ script, models });
  const filler = "a plain and long text ".repeat(200);
  const withCall = `{ "role":"assistant" , "content":${JSON.stringify(filler)}, "tool_calls":[ ${JSON.stringify(toolCall)} ] }`;
  const others = `{ "role":"user","content": "look" }, { "role":"tool","tool_call_id":"c1","content":"x" }`;
  const thought = `{ "reasoning_content":"I see." , "role":"assistant","content":"y" }`;
  const body = `{"model":"smart-router-flash","tools":${JSON.stringify(tools)},"messages":[${withCall}, ${others}, ${thought}]}`;
  // The second time the messages are known, and not parsed.
  for (let turn = 0; turn < 2; turn++) {
    const headers = { ...authorization, "content-type": "application/json" };
    const response = await call(`${gateway.url}/v1/chat/completions`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    const { rawBody } = gateway.upstream.requests.at(-1) as RecordedRequest;
    expect(rawBody).toContain(`{"reasoning_content":"",${withCall.slice(1)}, ${others}, ${thought}]`);
  }
});

test("an upstream that is not known to insist on it gets the messages as they came; OpenRouter and DeepSeek are", async () => {
  await using gateway = await start();
  await (await gateway.chat({ tools, messages: [user, asking, result] })).text();
  const sent: Answer = gateway.upstream.requests.at(-1)?.body;
  expect(sent.messages).toEqual([user, asking, result]);
  const known = ["https://openrouter.ai/api/v1", "https://api.deepseek.com/v1", "https://models.example.com/v1"];
  expect(known.map(wantedReasoning)).toEqual(["any_name", "required", undefined]);
});
