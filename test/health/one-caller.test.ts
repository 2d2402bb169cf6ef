import { describe, expect, test } from "bun:test";
import { completes, fails, replies } from "#simulator/behaviours.ts";
import { streams } from "#simulator/testing/scripted.ts";
import { eventually, start, type TestGateway, upstreamIds } from "../harness/gateway.ts";

/** What one caller's requests must not do to models that all callers use. */

const flash = upstreamIds["vendor_v4_flash"] ?? "";
const usual = { max_attempts: 1 };

async function sendChats(gateway: TestGateway, times: number, body: object = {}): Promise<void> {
  for (let call = 0; call < times; call++) await (await gateway.chat(body as never)).text(); // a body is JSON
}

async function stateOfFlash(gateway: TestGateway): Promise<string | undefined> {
  return (await gateway.health())["vendor_v4_flash"];
}

const empty = (finish_reason: string) =>
  replies(200, {
    id: "x",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason }],
    usage: { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 },
  });

const emptyStream = (finish_reason: string) =>
  streams({
    events: [
      { choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
    ],
  });

/** An answer that costs more than any hold of a short request, but not absurdly much. */
const costing = (cost: number) =>
  replies(200, {
    id: "x",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost },
  });

/** Requests that must leave the model HEALTHY, and then three that must not, of the same answers. */
interface Case {
  readonly script: () => ReturnType<typeof fails>;
  readonly own: object;
  readonly others?: object;
}
describe("one caller does not exclude a model", () => {
  test.each<[string, Case]>([
    [
      "by requests for which no host is found",
      {
        script: () => fails(404, "No endpoints found that support the provided 'tool_choice' value."),
        own: { tool_choice: "required" },
      },
    ],
    ["by answers that a token limit has left empty", { script: () => empty("length"), own: { max_tokens: 1 } }],
    ["by streams that a token limit has left empty", { script: () => emptyStream("length"), own: { stream: true } }],
    [
      "by stop sequences that leave every answer empty",
      { script: () => empty("stop"), own: { stop: ["a", "e", "\n"] }, others: {} },
    ],
    [
      "by stop sequences that leave every stream empty",
      { script: () => emptyStream("stop"), own: { stop: ["a"], stream: true }, others: { stream: true } },
    ],
    [
      "by requests whose own parameters raise the cost above the hold",
      { script: () => costing(0.03), own: { logit_bias: { "1": 100 } }, others: {} },
    ],
  ])("%s", async (_, { script, own, others }) => {
    await using gateway = await start({ policy: { upstream: usual }, script });
    await sendChats(gateway, 6, own);
    expect(await stateOfFlash(gateway)).toBe("HEALTHY");
    if (others === undefined) return;
    await sendChats(gateway, 3, others);
    expect(await stateOfFlash(gateway)).toBe("QUARANTINE");
  });

  test("by input that a moderation flags, which does not open the breaker either", async () => {
    await using gateway = await start({
      policy: { upstream: usual },
      script: ({ body }) =>
        JSON.stringify(body).includes("bad words") ? fails(403, "your input was flagged for violence") : undefined,
    });
    const messages = [{ role: "user", content: "bad words" }];
    for (const alias of ["smart-router-flash", "smart-router-pro"])
      await sendChats(gateway, 5, { model: alias, messages });
    expect((await gateway.chat()).status).toBe(200);
  });
});

describe("failures of one caller alone", () => {
  const poison = { tools: [{ type: "function", function: { name: "f", parameters: { $ref: "#" } } }] };
  const failing = () =>
    start({
      policy: { upstream: usual },
      script: ({ body }) =>
        body?.["tools"] === undefined ? completes({ text: "fine" }) : fails(500, "schema too deep"),
    });
  const as = (caller: string) => ({ authorization: `Bearer ${caller}` });
  const send = async (gateway: TestGateway, caller: string, times: number, body: object) => {
    for (let call = 0; call < times; call++) await (await gateway.chat(body as never, as(caller))).text();
  };

  test("do not exclude a model that works for others", async () => {
    await using gateway = await failing();
    await send(gateway, "somebody-else", 1, {});
    await send(gateway, "the-one-caller", 30, poison);
    expect(await stateOfFlash(gateway)).toBe("HEALTHY");
    expect((await gateway.chat({}, as("somebody-else"))).status).toBe(200);
  });

  test("exclude it if others fail too", async () => {
    await using gateway = await failing();
    await send(gateway, "somebody-else", 1, {});
    // Once it is DEGRADED, a random part of the requests goes to another model.
    await eventually(async () => {
      await send(gateway, "the-one-caller", 1, poison);
      await send(gateway, "somebody-else", 1, poison);
      return (await stateOfFlash(gateway)) === "UNHEALTHY";
    });
  });

  test("exclude it if there is only one caller", async () => {
    await using gateway = await failing();
    await send(gateway, "the-one-caller", 1, {});
    await send(gateway, "the-one-caller", 30, poison);
    expect(await stateOfFlash(gateway)).toBe("UNHEALTHY");
  });
});

test("a model that the upstream reports as unknown twice is quarantined", async () => {
  await using gateway = await start({
    policy: { upstream: usual },
    script: ({ body }) => (body?.["model"] === flash ? fails(404, `No endpoints found for ${flash}.`) : undefined),
  });
  await sendChats(gateway, 2);
  expect(await stateOfFlash(gateway)).toBe("QUARANTINE");
  expect((await gateway.chat()).status).toBe(200);
});
