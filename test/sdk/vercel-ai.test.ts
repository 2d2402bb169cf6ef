import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { completes, fails } from "#simulator/behaviours.ts";
import { start, type TestGateway, token } from "../harness/gateway.ts";
import { cutStream } from "./cut-stream.ts";

/** How the Vercel AI SDK with its OpenAI-compatible provider handles answers, streams and errors. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start({ policy: { upstream: { max_attempts: 1 } } });
});
afterAll(() => gateway.stop());

const model = (id = "smart-router-flash") =>
  createOpenAICompatible({ name: "smart-gateway", baseURL: `${gateway.url}/v1`, apiKey: token, includeUsage: true })(
    id,
  );
const quiet = { maxRetries: 0, onError: () => undefined };

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const weather = tool({
  description: "The weather of a city",
  inputSchema: jsonSchema<{ city: string }>({ ...parameters, required: ["city"] }),
  execute: ({ city }) => `18 degrees in ${city}`,
});

test("generateText returns answers, with usage", async () => {
  const { text, usage, finishReason } = await generateText({ model: model(), prompt: "hello", maxRetries: 0 });
  expect(text).toContain("[simulated]");
  expect(usage.outputTokens).toBeGreaterThan(0);
  expect(finishReason).toBe("stop");
});

test("streamText returns streams, with usage", async () => {
  const result = streamText({ model: model(), prompt: "hello", ...quiet });
  let text = "";
  for await (const part of result.textStream) text += part;
  expect(text).toContain("[simulated]");
  expect(await result.finishReason).toBe("stop");
  expect((await result.usage).totalTokens).toBeGreaterThan(0);
});

for (const streaming of [false, true])
  test(`tools run to the final answer${streaming ? ", streaming" : ""}`, async () => {
    const call = {
      model: model("smart-router"),
      prompt: "What is the weather in Paris?",
      tools: { get_weather: weather },
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    };
    const toolCalls = [{ name: "get_weather", arguments: '{"city":"Paris"}' }];
    gateway.upstream.next(completes({ text: "", toolCalls }));
    const text = streaming
      ? await streamText({ ...call, onError: () => undefined }).text
      : (await generateText(call)).text;
    expect(text).toContain("18 degrees in Paris");
  });

describe("errors", () => {
  const caught = async (call: Promise<unknown>): Promise<APICallError> => {
    const error = await call.then(
      () => "nothing was thrown",
      (thrown) => thrown,
    );
    if (!APICallError.isInstance(error)) throw new Error(`not an APICallError: ${error}`);
    return error;
  };

  test("a refusal and an upstream's failure have their reason", async () => {
    const error = await caught(generateText({ model: model("smart-router-free"), prompt: "hello", maxRetries: 0 }));
    expect([error.statusCode, error.isRetryable]).toEqual([403, false]);
    expect(error.message).toContain("sensitive");
    gateway.upstream.next(fails(400, "the widget is not supported"));
    const failed = await caught(generateText({ model: model(), prompt: "hello", maxRetries: 0 }));
    expect(failed.message).toContain("the widget is not supported");
  });

  test("a stream that breaks off ends in an error part, not in a clean finish", async () => {
    const { behaviour, received } = cutStream();
    gateway.upstream.next(behaviour);
    const kinds: string[] = [];
    const reasons: string[] = [];
    const result = streamText({ model: model(), prompt: "hello", ...quiet });
    for await (const part of result.fullStream) {
      kinds.push(part.type);
      if (part.type === "text-delta") received();
      if (part.type === "finish") reasons.push(part.finishReason);
    }
    expect(kinds).toContain("error");
    expect(reasons).not.toContain("stop");
  });
});
