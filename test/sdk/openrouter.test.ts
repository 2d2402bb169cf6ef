import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OpenRouter } from "@openrouter/sdk";
import type { EventStream } from "@openrouter/sdk/lib/event-streams";
import type { ChatStreamChunk } from "@openrouter/sdk/models";
import { OpenRouterError } from "@openrouter/sdk/models/errors";
import { fails } from "#simulator/behaviours.ts";
import { start, type TestGateway, token, upstreamIds } from "../harness/gateway.ts";
import { cutStream } from "./cut-stream.ts";

/** How the aggregator's own SDK handles answers, streams and errors when it is pointed at the gateway. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start({ policy: { upstream: { max_attempts: 1 } } });
});
afterAll(() => gateway.stop());

const client = () =>
  new OpenRouter({ serverURL: `${gateway.url}/v1`, apiKey: token, retryConfig: { strategy: "none" } });
const hello = (model = "smart-router-flash") => ({ model, messages: [{ role: "user" as const, content: "hello" }] });

/** The events of a streamed answer. */
async function* streamed() {
  const answer = await client().chat.send({ chatRequest: { ...hello(), stream: true } });
  if (!(answer instanceof ReadableStream)) throw new Error("not a stream");
  yield* answer as EventStream<ChatStreamChunk>; // a ReadableStream that can be iterated over
}

test("send returns answers", async () => {
  const completion = await client().chat.send({ chatRequest: hello() });
  if (!("choices" in completion)) throw new Error("not a completion");
  expect(String(completion.choices[0]?.message.content)).toContain("[simulated]");
  expect(completion.model).toBe(upstreamIds["vendor_v4_flash"] ?? "");
});

describe("errors", () => {
  const caught = async (call: Promise<unknown>): Promise<OpenRouterError> => {
    const error = await call.then(
      () => "nothing was thrown",
      (thrown) => thrown,
    );
    if (!(error instanceof OpenRouterError)) throw new Error(`not an OpenRouterError: ${error}`);
    return error;
  };

  const send = (model?: string) => client().chat.send({ chatRequest: hello(model) });
  const short = () => new OpenRouter({ serverURL: `${gateway.url}/v1`, apiKey: "short" });
  test.each([
    [403, "sensitive", () => send("smart-router-free")],
    [422, "model must be one of", () => send("nobody")],
    [401, "too short", () => short().chat.send({ chatRequest: hello() })],
    [500, "the widget is not supported", () => send()],
  ] as const)("%d is readable, in the SDK's own class for it", async (status, says, call) => {
    if (status === 500) gateway.upstream.next(fails(400, says));
    const error = await caught(call());
    expect(error.statusCode).toBe(status);
    expect(error.message).toContain(says);
    expect(error.name).toEndWith("ResponseError");
  });

  test("a stream that breaks off has an error that the SDK passes on", async () => {
    const { behaviour, received } = cutStream();
    gateway.upstream.next(behaviour);
    let error: unknown;
    const reading = (async () => {
      for await (const event of streamed()) {
        if (event.choices[0]?.delta.content === "a") received();
        error = event.error ?? error;
      }
    })();
    await reading.catch((thrown) => {
      error = thrown;
    });
    expect(error).toMatchObject({ message: expect.stringMatching(/upstream|connection/i) });
  });
});
