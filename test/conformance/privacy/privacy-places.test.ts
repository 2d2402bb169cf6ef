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
