import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import type { ChatMessage, Json } from "#domain/chat.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type ChatBody, CredentialNotReplaceable, type RedactedBody } from "#privacy/redaction.ts";

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const other = `glpat-${"x7Gk2mQ9vB4nT1zR8wYc"}`;
const policyOf = (scan_memory_bytes: number, more: object = {}) =>
  Policy.parse({ privacy: { scan_memory_bytes, restore: "text", ...more } }).privacy;
const filler = "The quarterly report is generated from the orders table and then sent to the finance list. ".repeat(5);

const without = privacyEngine(policyOf(0));
const own = [{ rule: "gateway_key", value: "own-key-of-this-gateway-7Qx", sentUpstream: true as const }];

/** Texts with a secret, a part of one, or none; most of them long enough to be remembered. */
const text = fc
  .array(
    fc.constantFrom(
      filler,
      token,
      other,
      token.slice(0, 20),
      token.slice(20),
      " ",
      "\n",
      "“é”",
      "\\n",
      "password: kT9!xw42Qz$v",
      "[REDACTED:github_token:3]",
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(""));
const part = text.map((each): Json => ({ type: "text", text: each }));
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record({ role: fc.constant("user" as const), content: fc.oneof(text, fc.array(part, { maxLength: 3 })) }),
  fc.record({ role: fc.constant("tool" as const), tool_call_id: fc.constantFrom("call_1", token), content: text }),
  text.map((each) => ({
    role: "assistant" as const,
    content: null,
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "f", arguments: JSON.stringify({ path: each }) } },
    ],
  })),
);
const body: fc.Arbitrary<ChatBody> = fc.record({
  model: fc.constant("smart-router"),
  messages: fc.array(message, { maxLength: 5 }),
  tools: fc.array(
    text.map((description): Json => ({ type: "function", function: { name: "f", description } })),
    { maxLength: 1 },
  ),
  metadata: fc.record({ password: text }),
});

/** A comparable result, or where and why there is none; without the restoring function, which differs in each result. */
async function outcomeOf(redact: () => RedactedBody | undefined | Promise<RedactedBody>) {
  try {
    const redacted = await redact();
    if (redacted === undefined) return undefined;
    const { restore, ...rest } = redacted;
    return { ...rest, restored: restore?.text("[REDACTED:github_token:1] [REDACTED:github_token:4]") };
  } catch (error) {
    if (error instanceof CredentialNotReplaceable) return { rule: error.rule, path: error.path };
    throw error;
  }
}

describe("the memory of scans", () => {
  test("changes no result: for new texts and known ones, at once or in turns", async () => {
    const engine = privacyEngine(policyOf(8_000));
    await fc.assert(
      fc.asyncProperty(body, async (sent) => {
        const expected = await outcomeOf(() => without.redactBody(sent));
        for (let run = 0; run < 2; run++) {
          expect(await outcomeOf(() => engine.redactBody(sent))).toEqual(expected);
          expect(await outcomeOf(() => engine.redactBodyAsync(sent))).toEqual(expected);
          expect(await outcomeOf(() => engine.redactKnownBody(sent))).toEqual(expected);
        }
        expect(engine.memoryBytes()).toBeLessThanOrEqual(8_000);
      }),
      { numRuns: 150 },
    );
  });

  test("finds a token that is split over two parts, each of them known to be clean", () => {
    const engine = privacyEngine(policyOf(1_000_000));
    const parts = [`${filler} ${token.slice(0, 20)}`, `${token.slice(20)} ${filler}`];
    for (const each of parts) expect(engine.redactBody(bodyOf(each)).total).toBe(0);
    const content = parts.map((each) => ({ type: "text", text: each }));
    for (let run = 0; run < 2; run++) {
      const redacted = engine.redactBody({ model: "m", messages: [{ role: "user", content }] });
      expect(redacted.total).toBe(1);
      expect(JSON.stringify(redacted.body)).not.toContain(token.slice(24));
    }
  });

  test("numbers placeholders by the current body, also those of known texts", () => {
    const engine = privacyEngine(policyOf(1_000_000));
    const first = `${filler} ${token}`;
    const second = `${filler} ${other}`;
    engine.redactBody(bodyOf(first));
    const { body: redacted } = engine.redactBody(bodyOf(second, first, second));
    expect(JSON.stringify(redacted.messages.map(({ content }) => String(content).slice(filler.length + 1)))).toBe(
      '["[REDACTED:gitlab_token:1]","[REDACTED:github_token:2]","[REDACTED:gitlab_token:1]"]',
    );
  });

  test("counts hits and misses across policies, and the engine of a new policy starts empty", () => {
    const counts = { hits: 0, misses: 0 };
    const text = `${filler} own-key-of-this-gateway-7Qx`;
    const engine = privacyEngine(policyOf(1_000_000), [], counts);
    for (let run = 0; run < 3; run++) expect(engine.redactBody(bodyOf(text)).total).toBe(0);
    expect(counts).toEqual({ hits: 2, misses: 1 });
    const next = privacyEngine(policyOf(1_000_000), own, counts);
    for (let run = 0; run < 3; run++) expect(next.redactBody(bodyOf(text)).total).toBe(1);
    expect(counts).toEqual({ hits: 4, misses: 2 });
  });

  test("a large body of known texts is scanned in one turn; one with much new text is not", async () => {
    const engine = privacyEngine(policyOf(1_000_000));
    const contents = Array.from({ length: 200 }, (_, index) => `${index} ${filler.repeat(8)}`);
    expect(engine.redactKnownBody(bodyOf(...contents))).toBeUndefined();
    await engine.redactBodyAsync(bodyOf(...contents));
    const grown = bodyOf(...contents, `${filler} ${token}`);
    expect(engine.redactKnownBody(grown)?.total).toBe(1);
  });

  test("a large body of new names is scanned in several turns too", () => {
    const engine = privacyEngine(policyOf(1_000_000));
    const names = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`name_${index}`, 0]));
    expect(engine.redactKnownBody({ ...bodyOf("hello"), names })).toBeUndefined();
  });

  test("stores a text that is longer than a slice by the results of its slices", async () => {
    const counts = { hits: 0, misses: 0 };
    const engine = privacyEngine(policyOf(1_000_000), [], counts);
    const sent = bodyOf(`${filler.repeat(800)} ${token} ${filler.repeat(800)}`);
    const first = await outcomeOf(() => engine.redactBodyAsync(sent));
    expect(await outcomeOf(() => engine.redactBodyAsync(sent))).toEqual(first);
    expect(first).toMatchObject({ total: 1 });
    expect(counts).toEqual({ hits: 1, misses: 1 });
  });
});

function bodyOf(...contents: string[]): ChatBody {
  return { model: "m", messages: contents.map((content) => ({ role: "user", content })) };
}
