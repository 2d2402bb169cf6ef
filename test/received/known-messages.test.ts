import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import { replaceMessages } from "#domain/received/known-messages.ts";
import { spliceBody } from "#domain/received/splice-body.ts";
import { BodyMemory } from "#http/chat-body/memory/body-memory.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { policy } from "#pipeline/assess/fixtures.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { forwardedBody } from "#pipeline/execute/forwarded-body.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { start } from "../harness/gateway.ts";
import { comparable, line, model, parsed, requestIn, token } from "./bodies.ts";

/** How many messages were recognized without being parsed. */
function knownIn(json: string | Uint8Array, memory: BodyMemory): number {
  return memory.messages.beginningOf(Buffer.from(json))?.runs.at(-1)?.to ?? 0;
}

const content = fc
  .tuple(
    fc.integer({ min: 0, max: 99 }),
    fc.integer({ min: 1, max: 160 }),
    fc.constantFrom("", "", "", "", token, "—", "\ud800"),
  )
  .map(([seed, lines, end]) => `${seed}\n${line.repeat(lines)}${end}`);
const result = fc.constantFrom(
  "12 passed",
  "TypeError: x is undefined\nexit code: 1",
  "Edit applied.",
  line.repeat(90),
);
const tool = fc.constantFrom("read_file", "edit_file", "bash");
let calls = 0;

/** Some consecutive messages of an agent's conversation. */
const exchange: fc.Arbitrary<JsonObject[]> = fc.oneof(
  content.map((text) => [{ role: "user", content: text }]),
  {
    weight: 6,
    arbitrary: fc.tuple(tool, content, result, fc.boolean()).map(([name, text, output, hasId]) => {
      const id = `call_${calls++ % 40}`;
      const path = `src/${text.slice(0, 2)}.ts`;
      const call = { name, arguments: JSON.stringify(name === "bash" ? { command: "npm test" } : { path, new: text }) };
      const message = { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: call }] };
      return [message, { role: "tool", ...(hasId ? { tool_call_id: id } : {}), content: output }];
    }),
  },
  fc.tuple(content, result).map(([text, output]) => [
    { role: "assistant", content: `${text}\n\`\`\`bash\nnpm test\n\`\`\`` },
    { role: "user", content: `Observation: ${output}` },
  ]),
  fc.constant<JsonObject[]>([
    { role: "user", content: [{ type: "text", text: "more", cache_control: { type: "ephemeral" } }] },
    { role: "assistant", content: "", tool_calls: [] },
  ]),
);
const conversation = fc.array(exchange, { minLength: 16, maxLength: 40 }).map((all): JsonObject[] => all.flat());
const first = { role: "system", content: line.repeat(20) };
const ask = { role: "user", content: "Rename the function parseDate and run the tests." };

const bodyOf = (messages: readonly JsonObject[], before = "", after = "", space = "") =>
  `{"model":"smart-router"${before},${space}"messages"${space}:${space}[${space}${messages.map((each) => JSON.stringify(each)).join(`,${space}`)}]${after}}`;

/** What may be before or after the messages, or be wrong in a body. */
const around = fc.constantFrom(
  ["", ""],
  ["", ""],
  ["", ',"tools":[{"type":"function","function":{"name":"f","parameters":{"messages":[1]}}}]'],
  [',"tools":[{"type":"function","function":{"name":"f","parameters":{"messages":[{"x":1}]}}}]', ',"x":"—"'],
  [',"metadata":{"task_id":"t"}', ',"max_tokens":17,"stop":["\\"messages\\":["]'],
  ["", ',"a":1,"a":1'],
  ["", ',"messages":[{"role":"user","content":"twice"}]'],
  [',"messages":[{"role":"user","content":"twice"}]', ""],
  ["", ',"\\u0061":1'],
  ["", ',"x":1.0'],
  ["", ',"x":12345678901234567890'],
  ["", ',"n":1e0'],
  ["", ',"x":1e999'],
  ["", ',"temperature":"hot"'],
  ["", ',"x":[}'],
  ["", ',"prompt_cache_breakpoint":true'],
);

describe("messages that are known by their bytes", () => {
  test("are known in many conversations with the same beginning, whichever of them was sent last", () => {
    const memory = new BodyMemory();
    const system = { role: "system", content: line.repeat(400) };
    const turn = (conversation: number, index: number) => ({
      role: "user",
      content: `${line.repeat(18 + ((3 * conversation + index) % 5))}${conversation}/${index}`,
    });
    const bodyAt = (conversation: number, length: number) =>
      bodyOf([system, ...Array.from({ length }, (_, index) => turn(conversation, index))]);
    const conversations = Array.from({ length: 60 }, (_, index) => index);
    for (let length = 40; length < 44; length++) {
      const sizes = conversations.map((each) => knownIn(bodyAt(each, length), memory));
      if (length > 40) expect(new Set(sizes)).toEqual(new Set([length]));
      for (const each of conversations) parsed(bodyAt(each, length), memory);
    }
  });

  test("equal those of parsing the whole body, whatever surrounds them", () => {
    let known = 0;
    fc.assert(
      fc.property(conversation, around, fc.constantFrom("", "", " ", "\n "), (messages, [before, after], space) => {
        const memory = new BodyMemory();
        for (const count of [messages.length - 2, messages.length - 1, messages.length]) {
          const json = bodyOf([first, ask, ...messages.slice(0, count)], before, after, space);
          known += knownIn(json, memory);
          expect(comparable(parsed(json, memory))).toEqual(comparable(parsed(json, new BodyMemory())));
          if (count < messages.length - 1)
            parsed(bodyOf([first, ask, ...messages.slice(0, count)], "", "", space), memory);
        }
      }),
      { numRuns: 150 },
    );
    expect(known).toBeGreaterThan(1_000);
  }, 60_000);

  test("are all those of the turn before", () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 1, max: 3 }), (messages, step) => {
        const memory = new BodyMemory();
        const turns = [{ ...first, content: line.repeat(250) }, ask, ...messages];
        const length = turns.length - 3 * step;
        for (let count = length; count <= turns.length; count += step) {
          const json = bodyOf(turns.slice(0, count));
          if (count > length) expect(knownIn(json, memory)).toBe(count - step);
          // The same body again, and one with another newest message.
          for (const newest of [turns[count - 1] ?? {}, { role: "user", content: "other" }, turns[count - 1] ?? {}]) {
            const other = bodyOf([...turns.slice(0, count - 1), newest]);
            expect(comparable(parsed(other, memory))).toEqual(comparable(parsed(other, new BodyMemory())));
          }
        }
      }),
      { numRuns: 20 },
    );
  }, 60_000);

  test("are parsed again if a byte of the body differs, also among those behind the last run", () => {
    fc.assert(
      fc.property(
        conversation,
        fc.nat(),
        fc.constantFrom(0x22, 0x5c, 0x5d, 0x7b, 0x2c, 0x20, 0x61, 0xff),
        (messages, at, byte) => {
          const memory = new BodyMemory();
          const bytes = Buffer.from(bodyOf([first, ask, ...messages], "", ',"x":[]'));
          parsed(bytes, memory);
          parsed(bodyOf([first, ask, ...messages.slice(0, -1)]), memory);
          const tail = Buffer.from(bytes);
          tail[tail.length - 8 - (at % 16_384)] = byte;
          expect(comparable(parsed(tail, memory))).toEqual(comparable(parsed(tail, new BodyMemory())));
          const changed = Buffer.from(bytes);
          changed[at % bytes.length] = byte;
          expect(comparable(parsed(changed, memory))).toEqual(comparable(parsed(changed, new BodyMemory())));
          const cut = bytes.subarray(0, at % bytes.length);
          expect(comparable(parsed(cut, memory))).toEqual(comparable(parsed(cut, new BodyMemory())));
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);

  test("count for the limit of values", () => {
    const messages = Array.from({ length: 3_000 }, (_, index) => ({ role: "user", content: `${index}`, x: [[], {}] }));
    const json = bodyOf(messages);
    let least = 1;
    for (let most = 100_000; least < most; ) {
      const middle = (least + most) >> 1;
      if (parsed(json, new BodyMemory(), middle).kind === "ok") most = middle;
      else least = middle + 1;
    }
    const memory = new BodyMemory();
    parsed(json, memory);
    expect(knownIn(json, memory)).toBeGreaterThan(0);
    expect(parsed(json, memory, least).kind).toBe("ok");
    expect(parsed(json, memory, least - 1)).toMatchObject({ kind: "refused", status: 413 });
  });

  test("are assessed as if they were new", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const memory = new BodyMemory();
        const tasks = () => inMemoryTaskMemory(() => policy.tasks);
        const context = { now: 0, policy, redactions: 0 };
        for (let count = messages.length - 9; count <= messages.length; count++) {
          const request = requestIn(bodyOf([first, ask, ...messages.slice(0, count)]), memory);
          const plain = {
            ...request,
            body: { ...request.body, messages: [first, ask, ...messages.slice(0, count)] as ChatMessage[] },
          };
          expect(assess(request, request.body, tasks(), context)).toEqual(assess(plain, plain.body, tasks(), context));
        }
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  test("are assessed as if they were new where conversations go on from the same beginning in different ways", () => {
    const failed = { role: "tool", content: "TypeError: x is undefined\nexit code: 1" };
    const call = (command: string) => ({ name: "bash", arguments: JSON.stringify({ command }) });
    const run = (command: string): JsonObject => ({
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: call(command) }],
    });
    const edit = {
      role: "assistant",
      content: null,
      tool_calls: [{ type: "function", function: { name: "edit_file", arguments: '{"path":"a.ts"}' } }],
    };
    const begin = [first, ask, run("npm test"), failed, edit, { role: "tool", content: line.repeat(300) }];
    const ends = [
      [run("npm test"), failed],
      [edit, { role: "tool", content: "ok" }, run("npm test"), failed, run("npm test"), failed],
      [run("npm test"), { role: "tool", content: "12 passed" }],
    ];
    const memory = new BodyMemory();
    const context = { now: 0, policy, redactions: 0 };
    const tasks = () => inMemoryTaskMemory(() => policy.tasks);
    const signals = new Set<string>();
    for (const end of [...ends, ...ends.toReversed(), ...ends]) {
      const messages = [...begin, ...end];
      const request = requestIn(bodyOf(messages), memory);
      const assessed = assess(request, request.body, tasks(), context);
      const anew = { ...request, body: { ...request.body, messages: messages as ChatMessage[] } };
      expect(assessed).toEqual(assess(anew, anew.body, tasks(), context));
      signals.add(JSON.stringify(assessed.evidence));
    }
    expect(signals.size).toBe(3);
  });

  test("are assessed as if they were new where some are replaced, whatever is replaced in others with the same beginning", () => {
    const engine = privacyEngine(policy.privacy);
    const context = { now: 0, policy, redactions: 0 };
    const tasks = () => inMemoryTaskMemory(() => policy.tasks);
    let replaced = 0;
    fc.assert(
      fc.property(conversation, (messages) => {
        const memory = new BodyMemory();
        for (let count = messages.length - 7; count <= messages.length; count++) {
          const sent = [first, ask, ...messages.slice(0, count)];
          const request = requestIn(bodyOf(sent), memory);
          const { body } = engine.redactBody(request.body, request.received);
          if (body.messages !== request.body.messages) replaced++;
          const plain = { ...request, body: { ...body, messages: JSON.parse(JSON.stringify(body.messages)) } };
          expect(assess(request, body, tasks(), context)).toEqual(assess(plain, plain.body, tasks(), context));
          // As another policy might replace it, or the same one where other numbers of placeholders come before it.
          const index = 2 + (count % 11);
          const other = { ...sent[index], content: `Error: number ${count} is missing\nexit code: 1` } as ChatMessage;
          const copy = { ...body, messages: replaceMessages(request.body.messages, new Map([[index, other]])) };
          const plainCopy = { ...copy, messages: JSON.parse(JSON.stringify(copy.messages)) };
          expect(assess(request, copy, tasks(), context)).toEqual(assess(request, plainCopy, tasks(), context));
        }
      }),
      { numRuns: 60 },
    );
    expect(replaced).toBeGreaterThan(100);
  }, 60_000);

  test("are forwarded without their redacted values, at every turn", () => {
    fc.assert(
      fc.property(conversation, fc.constantFrom("off", "text"), (messages, restore) => {
        const memory = new BodyMemory();
        const engine = privacyEngine({ ...policy.privacy, restore: restore as "off" | "text" });
        const anew = privacyEngine({ ...policy.privacy, scan_memory_bytes: 0 });
        for (let count = messages.length - 6; count <= messages.length; count++) {
          const json = bodyOf([first, ask, ...messages.slice(0, count)]);
          const { body, received } = requestIn(json, memory);
          if (received === undefined) throw new Error("unreachable: nothing in it is unusual");
          const redacted = engine.redactKnownBody(body, received) ?? engine.redactBody(body, received);
          const expected = anew.redactBody(JSON.parse(json));
          expect(redacted.total).toBe(expected.total);
          expect(redacted.findings).toEqual(expected.findings);
          const target = forwardedBody(requestIn(json, new BodyMemory()), redacted.body, model, 4_096);
          const sent = Buffer.concat(spliceBody(target, received)).toString();
          const { max_tokens: _, ...rest } = JSON.parse(sent);
          expect(rest).toEqual({ ...JSON.parse(JSON.stringify(expected.body)), model: model.upstreamId });
          expect(sent).not.toContain(token);
        }
      }),
      { numRuns: 80 },
    );
  }, 60_000);
});

test("of known messages only those are scanned again in which something was found", () => {
  const counts = { hits: 0, misses: 0 };
  const engine = privacyEngine(policy.privacy, [], counts);
  const memory = new BodyMemory();
  const messages: JsonObject[] = [first, ask];
  for (let index = 0; index < 100; index++) {
    const end = index === 5 || index === 97 ? token : "";
    messages.push({ role: "user", content: `${index} ${line.repeat(8)}${end}` });
  }
  const read = (more: number) => {
    const before = counts.hits + counts.misses;
    const json = bodyOf([
      ...messages,
      ...Array.from({ length: more }, () => ({ role: "user", content: line.repeat(6) })),
    ]);
    const { body, received } = requestIn(json, memory);
    expect(engine.redactBody(body, received).total).toBe(2);
    return counts.hits + counts.misses - before;
  };
  expect(read(0)).toBeGreaterThan(100);
  // The runs together and what follows them, the two messages with something in them, and the new one.
  expect(read(1)).toBe(5);
  expect(read(2)).toBe(5);
});

test("each turn of a long conversation reaches the upstream complete and redacted", async () => {
  await using gateway = await start();
  const messages: JsonObject[] = [first, { role: "user", content: `Deploy with ${token}.` }];
  for (let turn = 0; turn < 30; turn++) {
    const id = `call_${turn}`;
    const call = { name: "read_file", arguments: JSON.stringify({ path: `src/${turn}.ts` }) };
    messages.push({ role: "assistant", content: "Next file.", tool_calls: [{ id, type: "function", function: call }] });
    messages.push({ role: "tool", tool_call_id: id, content: `${turn}\n${line.repeat(60)}` });
    const reply = await gateway.chat({}, {}, { body: bodyOf(messages) });
    expect(reply.status).toBe(200);
    const sent = gateway.upstream.requests.at(-1)?.body as JsonObject;
    const redacted = messages.with(1, { role: "user", content: "Deploy with [REDACTED:github_token:1]." });
    expect(sent["messages"]).toEqual(redacted);
  }
});
