import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { disconnects, streams } from "#simulator/testing/scripted.ts";
import { start, type TestGateway, upstreamIds } from "../harness/gateway.ts";

/** What one caller's requests do to models that all callers use, and what they must not do. */

const flash = upstreamIds["vendor_v4_flash"] ?? "";
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

/** A request of a conversation of its own, by a caller. */
const asks = (content: string, caller = "the-one-caller"): [body: JsonObject, headers: Record<string, string>] => [
  { messages: [{ role: "user", content }] },
  { authorization: `Bearer ${caller}` },
];
/** The fault meets whoever writes `bad`. */
const forBad = (behaviour: Behaviour) => start({ script: ({ body }) => (isBad(body) ? behaviour : undefined) });
const isBad = (body: unknown) => JSON.stringify(body).includes("bad");

/** What depends on the request. */
const page = "<html><title>Access denied</title><body>Your request was blocked. Ray ID: 8f1</body></html>";
const html = { headers: { "content-type": "text/html" } };
const refusals: readonly [what: string, behaviour: Behaviour][] = [
  ["a firewall's 403 page", replies(403, page, html)],
  ["a firewall's 406 page", replies(406, page, html)],
  ["a firewall's page with 200", replies(200, page, html)],
  ["a firewall's plain 403", replies(403, "error code: 1020", { headers: { "content-type": "text/plain" } })],
  ["a redirect to a page", replies(302, "", { headers: { location: "http://127.0.0.1:1/blocked" } })],
  ["a moderation's 403", fails(403, "your input was flagged for violence")],
  ["400", fails(400, "tools[3].function.parameters is not a valid schema")],
  ["401", fails(401)],
  ["402", fails(402, "Insufficient credits")],
  ["404 for its constraints", fails(404, "No endpoints found that support the provided 'tool_choice' value.")],
  ["413", fails(413)],
  ["451", fails(451)],
];

test.each(refusals)("one caller whose prompts all get %s takes nothing from another", async (_, behaviour) => {
  await using gateway = await forBad(behaviour);
  for (let n = 0; n < 12; n++) {
    const stream = n % 2 === 0;
    for (const model of ["smart-router-flash", "smart-router-pro"]) {
      const [body, headers] = asks(`bad ${n}`);
      expect((await gateway.chat({ ...body, model, stream }, headers)).status).toBeGreaterThanOrEqual(500);
    }
    const [body, headers] = asks(`good ${n}`, "somebody-else");
    const served = await gateway.chat({ ...body, stream }, headers);
    expect([served.status, served.headers.get("x-smart-gateway-answered-by")]).toEqual([200, "vendor_v4_flash"]);
    await served.text();
  }
  expect(new Set(Object.values(await gateway.health()))).toEqual(new Set(["HEALTHY"]));
});

/** What may depend on the request, and is held against a model where three conversations in a row meet it. */
const unusable: readonly [what: string, behaviour: Behaviour, stream?: boolean][] = [
  ["empty answers", empty("stop")],
  ["empty streams", emptyStream("stop"), true],
  ["answers that are no JSON", replies(200, "so sorry")],
  ["answers without choices", replies(200, { id: "x", choices: [] })],
  ["costs above the hold", costing(0.03)],
];

describe.each(unusable)("%s", (_, behaviour, stream = false) => {
  const send = async (gateway: TestGateway, times: number, content: (n: number) => string, more: object = {}) => {
    for (let n = 0; n < times; n++) {
      const [body, headers] = asks(content(n), `made-up-token-${n}`);
      await (await gateway.chat({ ...body, ...more, stream }, headers)).text();
    }
  };
  test("of one conversation under made-up tokens, or of requests whose fields may be why, exclude no model", async () => {
    await using gateway = await forBad(behaviour);
    await send(gateway, 12, () => "bad");
    await send(gateway, 6, (n) => `bad ${n}`, { stop: ["a", "e"] });
    expect(new Set(Object.values(await gateway.health()))).toEqual(new Set(["HEALTHY"]));
  });
  test("of three conversations quarantine it, and of two do not", async () => {
    await using gateway = await forBad(behaviour);
    await send(gateway, 12, (n) => `bad ${n % 2}`);
    expect(await stateOfFlash(gateway)).toBe("HEALTHY");
    await send(gateway, 1, () => "bad 2");
    expect(await stateOfFlash(gateway)).toBe("QUARANTINE");
  });
});

test.each([
  ["by answers that a token limit has left empty", empty("length"), { max_tokens: 1 }],
  ["by streams that a token limit has left empty", emptyStream("length"), { stream: true }],
])("no model is excluded %s", async (_, behaviour, more) => {
  await using gateway = await forBad(behaviour);
  for (let n = 0; n < 6; n++) await (await gateway.chat({ ...asks(`bad ${n}`)[0], ...more })).text();
  expect(await stateOfFlash(gateway)).toBe("HEALTHY");
});

test.each<[what: string, behaviour: Behaviour]>([
  ["500", fails(500, "schema too deep")],
  ["a reset", disconnects("rst")],
  ["an error in a 200", replies(200, { error: { code: 502, message: "no worker" } })],
])("ten times %s for one caller and an answer for another between: the model is not green", async (_, behaviour) => {
  await using gateway = await start({
    policy: { upstream: { max_attempts: 1 } },
    script: ({ body }) => (isBad(body) ? behaviour : undefined),
  });
  const states: (string | undefined)[] = [];
  for (let n = 0; n < 10; n++) {
    await (await gateway.chat(...asks(`bad ${n}`))).text();
    states.push(await stateOfFlash(gateway));
    if (n % 2 === 1) await (await gateway.chat(...asks(`good ${n}`, "somebody-else"))).text();
  }
  // Once it is DEGRADED, some requests go to another model.
  expect(states.slice(3)).not.toContain("HEALTHY");
});

test("a model that the upstream reports as unknown twice is quarantined", async () => {
  await using gateway = await start({
    policy: { upstream: { max_attempts: 1 } },
    script: ({ body }) => (body?.["model"] === flash ? fails(404, `No endpoints found for ${flash}.`) : undefined),
  });
  for (let call = 0; call < 2; call++) await (await gateway.chat()).text();
  expect(await stateOfFlash(gateway)).toBe("QUARANTINE");
  expect((await gateway.chat()).status).toBe(200);
});
