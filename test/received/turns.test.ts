import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatRequest } from "#domain/chat.ts";
import { spliceBody } from "#domain/received/splice-body.ts";
import { BodyMemory } from "#http/chat-body/memory/body-memory.ts";
import { parseChatBytes } from "#http/chat-body/parse-chat-bytes.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { policy } from "#pipeline/assess/fixtures.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { forwardedBody } from "#pipeline/execute/forwarded-body.ts";
import type { Configuration } from "#pipeline/ports.ts";
import { redactRequest } from "#pipeline/redact-request.ts";
import { Policy } from "#policy/schema.ts";
import { privacyEngine } from "#privacy/engine.ts";
import type { PrivacyEngine } from "#privacy/redaction.ts";
import { line, model, requestIn, token } from "./bodies.ts";

const other = `glpat-${"x7Gk2mQ9vB4nT1zR8wYc"}`;
/** The parser takes what stands behind it; another reader might not. */
const hidden = "the first of two";
const quoted = (text: string) => JSON.stringify(text);
const inText = (text: string) => `{"role":"user","content":${quoted(text)}}`;

const message = fc
  .tuple(
    fc.nat(99),
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 60 }) },
      // A run by itself.
      { weight: 1, arbitrary: fc.constant(240) },
    ),
    fc.constantFrom(
      "",
      "",
      "",
      "",
      token,
      other,
      `password: kT9!xw42Qz$v and ${token}`,
      "[REDACTED:github_token:2]",
      "—",
    ),
    fc.constantFrom("text", "text", "text", "parts", "call", "escaped", "id", "number", "key twice"),
  )
  .map(([seed, lines, end, form]) => {
    const text = `${seed}\n${line.repeat(lines)}${end}`;
    switch (form) {
      case "parts":
        return `{"role":"user","content":[{"type":"text","text":${quoted(text)}},{"type":"text","text":${quoted(end)}}]}`;
      case "call":
        return `{"role":"assistant","content":null,"tool_calls":[{"id":"c${seed}","type":"function","function":{"name":"bash","arguments":${quoted(JSON.stringify({ command: text }))}}}]}`;
      case "escaped":
        return `{ "role":"user" ,"content":${quoted(text).replaceAll("x", "\\u0078")}}`;
      // The same text stays where it is an id.
      case "id":
        return `{"role":"tool","tool_call_id":"kT9!xw42Qz$v","content":${quoted(text)}}`;
      // Such a body is written anew.
      case "number":
        return seed < 3 ? `{"role":"user","content":${quoted(text)},"x":1.0}` : inText(text);
      case "key twice":
        return seed < 5 ? `{"role":"user","content":${quoted(hidden)},"content":"${seed}"}` : inText(text);
      default:
        return inText(text);
    }
  });

const tools = (description: string) =>
  `"tools":[{"type":"function","function":{"name":"f","description":${quoted(line.repeat(40) + description)}}}],`;
const members = fc.constantFrom(
  "",
  "",
  tools(""),
  tools(token),
  `"metadata":{"note":"${other}"},`,
  `"user":"${token}",`,
);

/** A request that goes on from an earlier one: with some of its messages, one of them changed, and further ones. */
const turn = fc.record({
  from: fc.constantFrom(0, 0, 0, 1, 2),
  kept: fc.constantFrom(1, 1, 1, 0.6),
  changed: fc.option(fc.nat(), { freq: 4 }),
  added: fc.array(message, { minLength: 1, maxLength: 3 }),
  members,
  engine: fc.constantFrom(0, 0, 0, 0, 1, 2, 3),
});

/** What a policy says of secrets, and how much it remembers. */
const policies = [{}, { restore: "text" }, { disabled_rules: ["gitlab_token"] }, { scan_memory_bytes: 6_000 }].map(
  (privacy) => Policy.parse({ privacy }).privacy,
);
const remembering = () => policies.map((each) => privacyEngine(each));
const anew = policies.map((each) => privacyEngine({ ...each, scan_memory_bytes: 0 }));

async function received(json: string, memory: BodyMemory): Promise<ChatRequest> {
  const input = { bytes: Buffer.from(json), maxValues: 100_000, headers: new Headers() };
  const parsed = await parseChatBytes({ ...input, requestId: "r", receivedAtMs: 0 }, memory);
  if (parsed.kind !== "ok") throw new Error(parsed.detail);
  return parsed.request;
}

/** What the upstream receives, and what is known of the request. */
async function outcomeOf(request: ChatRequest, privacy: PrivacyEngine) {
  const redacted = await redactRequest(request, { privacy } as Configuration); // all that is read of it
  if ("status" in redacted) return redacted;
  const { body, total, findings, unredactable, restore } = redacted;
  const context = { now: 0, policy, redactions: total + unredactable.length };
  const assessment = assess(
    request,
    body,
    inMemoryTaskMemory(() => policy.tasks),
    context,
  );
  const target = forwardedBody(request, body, model, 4_096);
  const json =
    request.received === undefined
      ? JSON.stringify(target)
      : Buffer.concat(spliceBody(target, request.received)).toString();
  expect(json).not.toContain(hidden);
  const sent = JSON.stringify(JSON.parse(json));
  const restored = sent.match(/\[REDACTED:\w+:\d+\]/g)?.map((each) => restore?.text(each));
  return { sent, total, findings, unredactable, assessment, restored };
}

test("a turn is sent as if it were the first, whatever conversations and policies came before it", async () => {
  let known = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 10, maxLength: 20 }),
      fc.array(turn, { minLength: 6, maxLength: 10 }),
      fc.boolean(),
      async (first, turns, isConcurrent) => {
        const memory = new BodyMemory();
        const engines = remembering();
        const conversations = [[inText(line.repeat(240)), ...first]];
        // The newest conversation, or one of the two before it.
        const bodies = turns.map(({ from, kept, changed, added, members: before, engine }) => {
          const earlier = conversations.at(-1 - from) ?? first;
          const messages = earlier.slice(0, Math.ceil(kept * earlier.length));
          if (changed !== null) messages[changed % messages.length] = added[0] ?? "";
          messages.push(...added);
          conversations.push(messages);
          return { json: `{"model":"smart-router",${before}"messages":[${messages.join(",")}]}`, engine };
        });
        const send = async ({ json, engine }: (typeof bodies)[number]) => {
          const request = await received(json, memory);
          if (memory.partsOf(Buffer.from(json)) !== undefined) known++;
          const found = await outcomeOf(request, engines[engine] as PrivacyEngine); // one for each policy
          const whole = { ...requestIn(json, new BodyMemory()), body: JSON.parse(json) };
          const { received: _, ...plain } = whole;
          expect(found).toEqual(await outcomeOf(plain, anew[engine] as PrivacyEngine));
        };
        if (isConcurrent) await Promise.all(bodies.map(send));
        else for (const body of bodies) await send(body);
      },
    ),
    { numRuns: 30 },
  );
  expect(known).toBeGreaterThan(75);
}, 60_000);
