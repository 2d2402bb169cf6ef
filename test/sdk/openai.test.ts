import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { APIConnectionError, APIUserAbortError, PermissionDeniedError } from "openai";
import { completes, fails } from "#simulator/behaviours.ts";
import { disconnects } from "#simulator/testing/scripted.ts";
import { start, type TestGateway, token, upstreamIds } from "../harness/gateway.ts";
import { cutStream } from "./cut-stream.ts";

/** How the official `openai` client handles the gateway's answers, streams and errors. */
let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await start({ policy: { upstream: { max_attempts: 1 } } });
  openai = client();
});
afterAll(() => gateway.stop());

const client = (options: object = {}) =>
  new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: token, maxRetries: 0, ...options });
const hello = { model: "smart-router-flash", messages: [{ role: "user" as const, content: "hello" }] };

test("create answers", async () => {
  const completion = await openai.chat.completions.create(hello);
  expect(completion.choices[0]?.message.content).toContain("[simulated]");
  expect(completion.model).toBe(upstreamIds["vendor_v4_flash"] ?? "");
  expect(completion.usage?.total_tokens).toBeGreaterThan(0);
});

test("create streams, and ends, with usage if it is requested", async () => {
  let text = "";
  let finish: string | null = null;
  let usage: number | undefined;
  const asked = { ...hello, stream: true, stream_options: { include_usage: true } } as const;
  for await (const event of await openai.chat.completions.create(asked)) {
    text += event.choices[0]?.delta.content ?? "";
    finish = event.choices[0]?.finish_reason ?? finish;
    usage = event.usage?.total_tokens ?? usage;
  }
  expect(text).toContain("[simulated]");
  expect(finish).toBe("stop");
  expect(usage).toBeGreaterThan(0);
});

test("the stream helper runs tools to the final answer", async () => {
  const cities: string[] = [];
  const weather = {
    name: "get_weather",
    description: "The weather of a city",
    parse: JSON.parse,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    function: ({ city }: { city: string }) => {
      cities.push(city);
      return "18 degrees";
    },
  };
  gateway.upstream.next(completes({ text: "", toolCalls: [{ name: "get_weather", arguments: '{"city":"Paris"}' }] }));
  const runner = openai.chat.completions.runTools({
    model: "smart-router",
    stream: true,
    messages: [{ role: "user", content: "What is the weather in Paris?" }],
    tools: [{ type: "function", function: weather }],
  });
  const answer = await runner.finalContent();
  expect(cities).toEqual(["Paris"]);
  expect(answer).toContain("18 degrees");
});

describe("abort", () => {
  test("before the headers: the SDK throws, and the upstream call is aborted", async () => {
    const index = gateway.upstream.received();
    gateway.upstream.next(() => undefined);
    const controller = new AbortController();
    const pending = openai.chat.completions.create(hello, { signal: controller.signal }).catch((error) => error);
    const request = await gateway.upstream.request(index);
    controller.abort();
    expect(await pending).toBeInstanceOf(APIUserAbortError);
    expect(await request.ended).toBe("caller_gone");
  });
});

describe("errors", () => {
  // biome-ignore lint/suspicious/noExplicitAny: any thrown value
  const caught = async (call: Promise<unknown>): Promise<any> =>
    call.then(
      () => "nothing was thrown",
      (error) => error,
    );

  test("a refusal has its reason in the error's own message", async () => {
    const error = await caught(openai.chat.completions.create({ ...hello, model: "smart-router-free" }));
    expect(error).toBeInstanceOf(PermissionDeniedError);
    expect(error.message).toContain("sensitive");
    expect(error.code).toBe("privacy_free_denied");
    expect(error.headers.get("x-smart-gateway-cause")).toBe("privacy_free_denied");
  });

  test("a stream that breaks off is an error, not an end", async () => {
    const { behaviour, received } = cutStream();
    gateway.upstream.next(behaviour);
    const error = await caught(
      (async () => {
        for await (const event of await openai.chat.completions.create({ ...hello, stream: true }))
          if (event.choices[0]?.delta.content) received();
      })(),
    );
    expect(String(error.message ?? error)).toMatch(/upstream|connection/i);
    expect(error).not.toBeInstanceOf(APIConnectionError);
  });
});

describe("the number of calls that the SDK makes", () => {
  /** An SDK with its default of two retries, and the number of calls that it makes. */
  async function callsOf(ask: (client: OpenAI) => Promise<unknown>, options: object = {}) {
    let calls = 0;
    const counting = (input: string | URL | Request, init?: RequestInit) => {
      calls += 1;
      return fetch(input, init);
    };
    const outcome = await ask(client({ ...options, maxRetries: 2, fetch: counting })).then(
      () => "answered",
      (error) => error.status,
    );
    return [outcome, calls];
  }
  const usual = (client: OpenAI) => client.chat.completions.create(hello);

  test("one, if a retry cannot help", async () => {
    const wrong = (body: object) => (client: OpenAI) => client.chat.completions.create({ ...hello, ...body });
    expect(await callsOf(wrong({ n: 0 }))).toEqual([422, 1]);
    expect(await callsOf(wrong({ model: "smart-router-free" }))).toEqual([403, 1]);
    expect(await callsOf(usual, { apiKey: "short" })).toEqual([401, 1]);
    expect(await callsOf(usual, { baseURL: gateway.url })).toEqual([404, 1]);
    gateway.upstream.next(fails(400));
    expect(await callsOf(usual)).toEqual([500, 1]);
  });

  test("one, if it would have to wait longer than it does", async () => {
    await using limited = await start();
    const later = fails(429, "slow down", { "retry-after": "300" });
    limited.upstream.next(later, later, later);
    expect(await callsOf(usual, { baseURL: `${limited.url}/v1` })).toEqual([500, 1]);
    expect(limited.upstream.received()).toBe(3);
  });

  test("another after the time in Retry-After, if that can help", async () => {
    gateway.upstream.next(fails(503));
    expect(await callsOf(usual)).toEqual(["answered", 2]);
    gateway.upstream.next(disconnects("rst"));
    expect(await callsOf(usual)).toEqual(["answered", 2]);
  });
});
