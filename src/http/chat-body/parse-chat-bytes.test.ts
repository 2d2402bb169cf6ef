import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BodyMemory } from "./memory/body-memory.ts";
import { type ParsedChat, parseChatRequest } from "./parse-chat.ts";
import { parseChatBytes } from "./parse-chat-bytes.ts";

const input = { headers: new Headers(), requestId: "r", receivedAtMs: 0, maxValues: 100_000 };

function inParts(bytes: Buffer): ParsedChat {
  const result = parseChatBytes({ ...input, bytes }, new BodyMemory());
  if (result instanceof Promise) throw new Error("unreachable: the bodies of this file are not large");
  return result;
}

function asAWhole(bytes: Buffer): ParsedChat {
  return parseChatRequest({ ...input, text: bytes.toString(), bytes: bytes.length, received: bytes });
}

/** All parts of a request, as a comparable value. */
function comparable(result: ParsedChat): unknown {
  if (result.kind !== "ok") return result;
  const { body, received, ...rest } = result.request;
  const places = received && {
    members: [...received.members],
    messages: received.messages,
    isOf: received.parsed === body,
  };
  return { ...rest, body: JSON.stringify(body), bytes: received?.bytes.length, places };
}

const line = 'if (a < 3) {\n\treturn "é\\\\n";\n}\n';
const longText = fc
  .tuple(fc.constantFrom("", "—", "\ud800", "\u{1f600}"), fc.integer({ min: 1, max: 900 }))
  .map(([end, lines]) => `${line.repeat(lines)}${end}`);
const message = fc.oneof(
  longText.map((content) => ({ role: "user", content })),
  longText.map((text) => ({
    role: "assistant",
    content: [
      { type: "text", text: "a" },
      { type: "text", text },
    ],
  })),
  longText.map((refusal) => ({ role: "assistant", content: [{ type: "refusal", refusal }] })),
  longText.map((text) => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ text }) } }],
  })),
  longText.map((name) => ({ role: "user", name, [name]: name })),
  fc.constant({ role: "nobody", content: "x" }),
);
const others = fc.constantFrom<object>(
  {},
  { temperature: 0.5 },
  { tools: [{ type: "function", function: { name: "f", description: line.repeat(500), parameters: {} } }] },
  { metadata: { task_id: "t" } },
  { metadata: { note: line.repeat(300) } },
  { metadata: { goal_id: "g".repeat(5_000), session_id: "s" } },
  { model: line.repeat(300) },
  { seed: "LONG" },
);

describe("a body with long texts", () => {
  test("is parsed as one without, whatever it holds and wherever they stand", () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 5 }),
        others,
        fc.nat(2),
        fc.boolean(),
        (messages, other, spaces, last) => {
          const body = { model: "smart-router-flash", ...(last ? {} : other), messages, ...(last ? other : {}) };
          const json = JSON.stringify(body, undefined, spaces).replaceAll('"LONG"', "12345678901234567890");
          const bytes = Buffer.from(json);
          expect(comparable(inParts(bytes))).toEqual(comparable(asAWhole(bytes)));
        },
      ),
      { numRuns: 150 },
    );
  });

  const withText = (text: string, before = "") =>
    Buffer.from(`{${before}"model":"smart-router-flash","messages":[{"role":"user","content":"${text}"}]}`);

  test.each([
    ["a control character in the text", withText(`${"x".repeat(20_000)}\n`)],
    ["an unknown escape sequence", withText(`${"x".repeat(20_000)}\\x`)],
    ["a number that is written differently", withText("x".repeat(20_000), '"temperature":1.0,')],
    ["a member twice", withText("x".repeat(20_000), `"messages":[{"role":"user","content":"${"y".repeat(9_000)}"}],`)],
    ["a long key", withText("x".repeat(20_000), `"${"k".repeat(9_000)}":1,`)],
    ["text behind the body", Buffer.concat([withText("x".repeat(20_000)), Buffer.from("}")])],
  ])("%s makes no difference to what is said of it", (_, bytes) => {
    expect(comparable(inParts(bytes))).toEqual(comparable(asAWhole(bytes)));
  });

  test("that is not UTF-8 is refused", () => {
    const bytes = withText(`${"x".repeat(20_000)}é`);
    bytes[bytes.length - 5] = 0x22;
    bytes[bytes.indexOf(0xc3) + 1] = 0x41;
    expect(inParts(bytes)).toMatchObject({ kind: "refused", status: 400 });
  });
});
