import { expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { type Answer, start } from "../../harness/gateway.ts";

const secret = ["ghp", "_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
const toolCall = { id: `call_${secret}`, type: "function", function: { name: "run", arguments: "{}" } };

const places: [place: string, param: string | null, body: JsonObject][] = [
  ["A key of metadata holds", "metadata", { metadata: { [secret]: "x", sensitive: false } }],
  ["A key of logit_bias holds", "logit_bias", { logit_bias: { [secret]: 1 } }],
  ["A key of the body holds", null, { [secret]: 1 }],
  [
    "messages[0].tool_calls[0].id holds",
    "messages[0].tool_calls[0].id",
    { messages: [{ role: "assistant", content: null, tool_calls: [toolCall] }] },
  ],
  [
    "messages[1].tool_call_id holds",
    "messages[1].tool_call_id",
    {
      messages: [
        { role: "user", content: "x".repeat(600_000) },
        { role: "tool", content: "x", tool_call_id: secret },
      ],
    },
  ],
];

test("a credential in a key or an id is refused with 422 that names the place, and is not sent, logged, charged or counted", async () => {
  await using gateway = await start();
  for (const [place, param, body] of places) {
    for (const stream of [false, true]) {
      const headers = { "x-smart-gateway-errors": "openai", "x-scout": "true" };
      const refused = await gateway.chat({ ...body, stream }, headers);
      const text = await refused.text();
      const { detail, error }: Answer = JSON.parse(text);
      expect([refused.status, error.code, error.param]).toEqual([422, "credential_not_replaceable", param]);
      expect(detail).toStartWith(`${place} what looks like a credential (rule github_token).`);
      expect(detail).toContain("privacy.allow");
      expect(refused.headers.get("content-type")).toBe("application/json");
      expect(refused.headers.get("x-should-retry")).toBe("false");
      expect(refused.headers.get("retry-after")).toBeNull();
      expect(text + JSON.stringify([...refused.headers])).not.toContain(secret);
    }
  }
  expect(gateway.upstream.received()).toBe(0);
  expect(await gateway.ledger()).toEqual({ spent: 0, held: 0 });
  const rejected = gateway.log.filter(({ event }) => event === "request_rejected");
  expect(rejected.map(({ fields }) => fields["status"])).toEqual(places.flatMap(() => [422, 422]));
  expect(JSON.stringify(gateway.log)).not.toContain(secret);
  expect(await (await gateway.get("/metrics")).text()).not.toContain(secret);
});

test("if the operator's policy allows it, it is forwarded unchanged", async () => {
  await using gateway = await start({ policy: { privacy: { allow: [secret] } } });
  const metadata = { [secret]: "x" };
  expect((await gateway.chat({ metadata })).status).toBe(200);
  expect(gateway.upstream.requests.map(({ body }) => body?.["metadata"])).toEqual([metadata]);
});

const usesSecret = { type: "object", properties: { key: { type: "string", description: `such as ${secret}` } } };
const declared: [place: string, body: JsonObject][] = [
  ["tools", { tools: [{ type: "function", function: { name: "f", parameters: usesSecret } }] }],
  ["functions", { functions: [{ name: "f", parameters: usesSecret }] }],
  ["response_format", { response_format: { type: "json_schema", json_schema: { name: "f", schema: usesSecret } } }],
];

test.each(declared)(
  "a credential in %s, which is forwarded unchanged, keeps the request from free models",
  async (place, body) => {
    // Every score is in the gray zone, where the scout is asked if it may see the request.
    await using gateway = await start({ policy: { routing: { flash_below: 0, pro_from: 100 } } });
    const open = { sensitive: false, repo_free_opt_in: true };
    const free = await gateway.chat({ ...body, model: "smart-router-free", metadata: open });
    expect(free.status).toBe(403);
    expect((await free.json()).detail).toContain("github_token");
    expect((await gateway.chat({ ...body, metadata: open }, { "X-Scout": "true" })).status).toBe(403);
    expect(gateway.upstream.received()).toBe(0);
    const answered = await gateway.chat({ ...body, model: "smart-router", metadata: open });
    expect(answered.headers.get("x-smart-gateway-cause")).toMatch(/^gray_zone_(flash|pro)$/);
    expect(gateway.upstream.requests.map((request) => request.body?.[place])).toEqual([body[place]]);
  },
);
