import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatMessage, ChatRequest, Json, JsonObject } from "#domain/chat.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import { Policy } from "#policy/schema.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { CredentialNotReplaceable, type RedactedBody } from "#privacy/redaction.ts";

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const other = `glpat-${"x7Gk2mQ9vB4nT1zR8wYc"}`;
const filler = "The quarterly report is generated from the orders table and then sent to the finance list. ";
const policyOf = (scan_memory_bytes: number) =>
  Policy.parse({ privacy: { scan_memory_bytes, restore: "text" } }).privacy;
const without = privacyEngine(policyOf(0));

function received(body: JsonObject): ChatRequest {
  const text = JSON.stringify({ model: "smart-router", ...body });
  const bytes = Buffer.from(text);
  const input = { text, bytes: bytes.length, received: bytes, maxValues: 100_000, headers: new Headers() };
  const parsed = parseChatRequest({ ...input, requestId: "r", receivedAtMs: 0 });
  if (parsed.kind !== "ok" || parsed.request.received === undefined)
    throw new Error("not a body to be known by its bytes");
  return parsed.request;
}

/** A comparable result, or where and why there is none. */
async function outcomeOf(redact: () => RedactedBody | undefined | Promise<RedactedBody>) {
  try {
    const redacted = await redact();
    if (redacted === undefined) return "beyond the limit";
    const { restore, ...rest } = redacted;
    return { ...rest, restored: restore?.text("[REDACTED:github_token:1] [REDACTED:gitlab_token:2]") };
  } catch (error) {
    if (error instanceof CredentialNotReplaceable) return { rule: error.rule, path: error.path };
    throw error;
  }
}

const content: fc.Arbitrary<Json> = fc
  .tuple(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 1, max: 200 }),
    fc.constantFrom("", "", "", "", token, other, token.slice(0, 20), "—"),
    fc.boolean(),
  )
  .map(([seed, times, end, inParts]) => {
    const text = `${seed} ${filler.repeat(times)}${end}`;
    return inParts
      ? [
          { type: "text", text },
          { type: "text", text: token.slice(20) },
        ]
      : text;
  });
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  { weight: 8, arbitrary: content.map((each) => ({ role: "user" as const, content: each })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("call_1", token)
      .map((id) => ({ role: "tool" as const, tool_call_id: id, content: "ok" })),
  },
);

const toolsOf = (description: string) => [
  { type: "function", function: { name: "f", description: `${filler.repeat(8)}${description}` } },
];
const forwarded = fc.constantFrom<JsonObject>(
  { tools: toolsOf("") },
  { tools: toolsOf(token), response_format: { type: "text" } },
  { response_format: { type: "json_schema", json_schema: { name: other, description: filler } } },
);

describe("known runs of messages", () => {
  test("do not change the result while a conversation grows, at once or in turns", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 8, maxLength: 24 }), forwarded, async (messages, members) => {
        const counts = { hits: 0, misses: 0 };
        const engine = privacyEngine(policyOf(1_000_000), [], counts);
        for (let length = Math.max(1, messages.length - 4); length <= messages.length; length++) {
          const body = { ...members, messages: messages.slice(0, length), padding: filler.repeat(200) };
          const request = received(body);
          const expected = await outcomeOf(() => without.redactBody(request.body));
          for (const redact of [engine.redactBody, engine.redactBodyAsync]) {
            expect(await outcomeOf(() => redact(request.body, request.received))).toEqual(expected);
          }
          const known = await outcomeOf(() => engine.redactKnownBody(request.body, request.received));
          if (known !== "beyond the limit") expect<unknown>(known).toEqual(expected);
        }
        runs += counts.hits;
      }),
      { numRuns: 40 },
    );
    expect(runs).toBeGreaterThan(500);
  });

  test("are not clean because of names that the rest of a body has allowed", () => {
    const engine = privacyEngine(policyOf(1_000_000));
    const call = { id: "call_1", type: "function", function: { name: token, arguments: "{}" } };
    const messages = [
      { role: "assistant", content: filler.repeat(500), tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "ok" },
    ];
    // The name of a declared function counts at its declaration.
    const declared = received({ messages, tools: [{ type: "function", function: { name: token } }] });
    for (let turn = 0; turn < 2; turn++) {
      expect(engine.redactBody(declared.body, declared.received).unredactable).toHaveLength(1);
    }
    const undeclared = received({ messages });
    expect(() => engine.redactBody(undeclared.body, undeclared.received)).toThrow(CredentialNotReplaceable);
  });

  test("are not clean if the limit has left texts out", () => {
    const engine = privacyEngine(policyOf(1_000_000));
    const messages = Array.from({ length: 60 }, (_, index) => ({
      role: "user",
      content: `${index} ${filler.repeat(100)} ${token}`,
    }));
    const request = received({ messages });
    expect(engine.redactKnownBody(request.body, request.received)).toBeUndefined();
    expect(engine.redactBody(request.body, request.received).total).toBe(60);
  });

  test("are looked up instead of their texts", () => {
    const counts = { hits: 0, misses: 0 };
    const engine = privacyEngine(policyOf(1_000_000), [], counts);
    const messages = Array.from({ length: 40 }, (_, index) => ({
      role: "user",
      content: `${index} ${filler.repeat(40)}`,
    }));
    const request = received({ messages });
    engine.redactBody(request.body, request.received);
    expect(counts).toEqual({ hits: 0, misses: 40 });
    const grown = received({ messages: [...messages, { role: "user", content: `new ${filler.repeat(40)}` }] });
    expect(engine.redactBody(grown.body, grown.received).body).toBe(grown.body);
    // Eight runs of five messages, then the new one.
    expect(counts).toEqual({ hits: 8, misses: 41 });
  });

  test("include tools and response formats: these are read again only if something was found in them", () => {
    const counts = { hits: 0, misses: 0 };
    const scanned = (members: JsonObject) => {
      const before = counts.hits;
      const request = received({
        messages: [{ role: "user", content: "go on" }],
        padding: filler.repeat(200),
        ...members,
      });
      const { unredactable } = engine.redactBody(request.body, request.received);
      return { hits: counts.hits - before, found: unredactable.length };
    };
    const engine = privacyEngine(policyOf(1_000_000), [], counts);
    const first = scanned({ tools: toolsOf("") });
    // The padding is known too.
    expect(scanned({ tools: toolsOf("") }).hits).toBe(first.hits + 2);
    for (let turn = 0; turn < 3; turn++) expect(scanned({ tools: toolsOf(` ${token}`) }).found).toBe(1);
    // The same bytes under another name are another member.
    expect(scanned({ functions: toolsOf("") })).toEqual({ hits: 2, found: 0 });
  });
});
