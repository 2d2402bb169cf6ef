import { expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import { type ChatMessage, type ChatRequest, isObject, type Json } from "#domain/chat.ts";
import { MessageCache } from "#http/chat-body/message-cache.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { inMemoryTaskMemory } from "#pipeline/task/task-memory.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { CredentialNotReplaceable, type PrivacyEngine } from "#privacy/redaction.ts";

/** An agent sends its history with every call. What is known of a message must not change what is found, sent or decided. */

const policy = Policy.parse({ privacy: { restore: "text" } });
const engine = privacyEngine(policy.privacy);
const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const other = `glpat-${"x7Gk2mQ9vB4nT1zR8wYc"}`;
const filler = "The quarterly report is generated from the orders table and then sent to the finance list. ".repeat(5);

/** Texts with a secret, a part of one, or none. */
const pieces = [
  filler,
  token,
  other,
  token.slice(0, 20),
  token.slice(20),
  "\n",
  "“é”",
  "\\n",
  "password: kT9!xw42Qz$v",
  "[REDACTED:github_token:3]",
  "Process exited with code 1\nTypeError: x is not a function",
];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((all) => all.join(""));
const part = text.map((each): Json => ({ type: "text", text: each }));
const call = (path: string) => ({ name: "edit_file", arguments: JSON.stringify({ path }) });
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record({ role: fc.constant("user" as const), content: fc.oneof(text, fc.array(part, { maxLength: 3 })) }),
  fc.record({ role: fc.constant("tool" as const), tool_call_id: fc.constantFrom("call_1", token), content: text }),
  text.map((each) => ({
    role: "assistant" as const,
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: call(each) }],
  })),
);
const body = fc.record({
  model: fc.constant("smart-router"),
  tools: fc.array(text.map((description): Json => ({ type: "function", function: { name: "f", description } }))),
  messages: fc.array(message, { minLength: 1, maxLength: 8 }),
  metadata: fc.record({ password: text }),
  filler: fc.constant(filler.repeat(5)),
});

/** All that a request leads to, or where and why there is no answer; without the restoring function, which differs in each. */
async function outcomeOf({ body: sent, ...request }: ChatRequest, privacy: PrivacyEngine, isLarge: boolean) {
  try {
    const redacting = isLarge ? privacy.redactLargeBody(sent) : privacy.redactBody(sent);
    const { restore, body: redacted, ...rest } = await redacting;
    const memory = inMemoryTaskMemory();
    const context = { now: 0, policy, redactions: rest.total };
    const { received: _, ...read } = request;
    return {
      ...rest,
      read,
      restored: restore?.text("[REDACTED:github_token:1] [REDACTED:github_token:4]"),
      body: JSON.stringify(redacted),
      assessment: assess({ ...request, body: sent }, redacted, memory, context),
    };
  } catch (error) {
    if (error instanceof CredentialNotReplaceable) return { rule: error.rule, path: error.path };
    throw error;
  }
}

function parse(sent: object, cache: MessageCache | undefined): ChatRequest {
  const parsed = parseChatRequest({
    bytes: Buffer.from(JSON.stringify(sent)),
    headers: new Headers(),
    requestId: "r",
    receivedAtMs: 0,
    ...(cache === undefined ? {} : { cache }),
  });
  if (parsed.kind === "refused") throw new Error(parsed.detail);
  return parsed.request;
}

test("a request leads to the same with known messages as with new ones, at once and in ticks, also under another policy", async () => {
  const cache = new MessageCache(200_000);
  const strict = privacyEngine({ ...policy.privacy, custom_rules: [{ id: "report", pattern: "quarterly report" }] });
  let known = 0;
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      for (const privacy of [engine, strict]) {
        const expected = await outcomeOf(parse(sent, undefined), privacy, false);
        for (const isLarge of [false, true, false])
          expect(await outcomeOf(parse(sent, cache), privacy, isLarge)).toEqual(expected);
      }
      known += parse(sent, cache).body.messages.filter((each) => !Object.hasOwn(each, "content")).length;
    }),
    { numRuns: 150 },
  );
  expect(known).toBeGreaterThan(100);
});

test("finds a token that is split over two parts, each of them known to be clean", () => {
  const cache = new MessageCache(1_000_000);
  const parts = [`${filler.repeat(5)} ${token.slice(0, 20)}`, `${token.slice(20)} ${filler.repeat(5)}`];
  const redact = (content: Json) =>
    engine.redactBody(parse({ model: "smart-router", messages: [{ role: "user", content }] }, cache).body);
  for (const each of parts) expect(redact(each).total).toBe(0);
  for (let run = 0; run < 2; run++) {
    const redacted = redact(parts.map((each) => ({ type: "text", text: each })));
    expect(redacted.total).toBe(1);
    expect(JSON.stringify(redacted.body)).not.toContain(token.slice(24));
  }
});

test("numbers placeholders by the current body, also those of known messages", () => {
  const cache = new MessageCache(1_000_000);
  const first = `${filler.repeat(5)} ${token}`;
  const second = `${filler.repeat(5)} ${other}`;
  const redact = (...contents: string[]) => {
    const messages = contents.map((content) => ({ role: "user", content }));
    return engine.redactBody(parse({ model: "smart-router", messages }, cache).body).body.messages;
  };
  redact(first);
  expect(redact(second, first, second).map(({ content }) => String(content).match(/\[REDACTED[^\]]*\]/)?.[0])).toEqual([
    "[REDACTED:gitlab_token:1]",
    "[REDACTED:github_token:2]",
    "[REDACTED:gitlab_token:1]",
  ]);
});

test("a file whose name holds a secret is the same file, whichever number its placeholder has", async () => {
  const cache = new MessageCache(200_000);
  const edit = (path: string) => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: call(path) }],
  });
  const first = edit(`${token}/${filler}`);
  for (const messages of [[first], [edit(`${other}/${filler}`), first, edit(`${token}/${filler.slice(0, 300)}`)]]) {
    const whole = { model: "smart-router", messages, filler: filler.repeat(5) };
    expect(await outcomeOf(parse(whole, cache), engine, false)).toEqual(
      await outcomeOf(parse(whole, undefined), engine, false),
    );
  }
});

test("a large body of known messages is redacted at once; one with much new text is not", async () => {
  const cache = new MessageCache(1_000_000);
  const requestOf = (...contents: string[]) =>
    parse({ model: "smart-router", messages: contents.map((content) => ({ role: "user", content })) }, cache).body;
  const contents = Array.from({ length: 200 }, (_, index) => `${index} ${filler.repeat(8)}`);
  await engine.redactLargeBody(requestOf(...contents));
  const redacted = engine.redactLargeBody(requestOf(...contents, `${filler} ${token}`));
  expect(isObject(redacted) && (redacted as { total?: number }).total).toBe(1);
  expect(engine.redactLargeBody(requestOf(...contents.map((each) => `${each} new`)))).toBeInstanceOf(Promise);
});

test("a large body of new names is redacted in several ticks too", () => {
  const names = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`name_${index}`, 0]));
  const messages = [{ role: "user", content: "hello" }];
  expect(engine.redactLargeBody(parse({ model: "smart-router", messages, names }, undefined).body)).toBeInstanceOf(
    Promise,
  );
});
