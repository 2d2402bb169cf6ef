import { afterAll, beforeAll, expect, test } from "bun:test";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { start, type TestGateway, token } from "../harness/gateway.ts";
import { cutStream } from "./cut-stream.ts";

/** How LangChain's OpenAI chat model handles the gateway's answers, streams and errors. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start({ policy: { upstream: { max_attempts: 1 } } });
});
afterAll(() => gateway.stop());

const model = (name = "smart-router-flash") =>
  new ChatOpenAI({ model: name, apiKey: token, maxRetries: 0, configuration: { baseURL: `${gateway.url}/v1` } });

/** The package's own type of `usage_metadata` is `never`. */
const tokensOf = (message: object) =>
  (message as { usage_metadata?: { total_tokens: number } }).usage_metadata?.total_tokens;

const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "The weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

test("stream returns chunks, with usage at its end", async () => {
  let text = "";
  let tokens = 0;
  for await (const part of await model().stream("hello")) {
    text += part.text;
    tokens = tokensOf(part) ?? tokens;
  }
  expect(text).toContain("[simulated]");
  expect(tokens).toBeGreaterThan(0);
});

test("a tool is called, and its result answered", async () => {
  const agent = model("smart-router").bindTools([weather]);
  const question = new HumanMessage("What is the weather in Paris?");
  const call = await agent.invoke([question]);
  expect(call.tool_calls?.[0]).toMatchObject({ name: "get_weather", args: { city: "Paris" } });
  const result = new ToolMessage({ tool_call_id: call.tool_calls?.[0]?.id ?? "", content: "18 degrees" });
  expect((await agent.invoke([question, call, result])).text).toContain("18 degrees");
});

test("a stream that breaks off throws", async () => {
  const { behaviour, received } = cutStream();
  gateway.upstream.next(behaviour);
  const reading = (async () => {
    for await (const part of await model().stream("hello")) if (part.text === "a") received();
    return "ended cleanly";
  })();
  expect(await reading.catch((error) => error)).not.toBe("ended cleanly");
});
