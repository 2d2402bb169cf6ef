import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatRequest, Json, JsonObject } from "#domain/chat.ts";
import { lazyMember } from "#domain/received/known-members.ts";
import { spliceBody } from "#domain/received/splice-body.ts";
import { BodyMemory } from "#http/chat-body/memory/body-memory.ts";
import { assess } from "#pipeline/assess/assess.ts";
import { policy } from "#pipeline/assess/fixtures.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { forwardedBody } from "#pipeline/execute/forwarded-body.ts";
import { fieldRulesOf, guardFields } from "#pipeline/field-rules.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { start } from "../harness/gateway.ts";
import { comparable, line, model, parsed, requestIn, token } from "./bodies.ts";

const areKnownIn = (json: string | Uint8Array, memory: BodyMemory) =>
  memory.partsOf(Buffer.from(json))?.tools !== undefined;

const messages: JsonObject[] = [
  { role: "system", content: line.repeat(250) },
  { role: "user", content: "Rename the function parseDate and run the tests." },
  ...Array.from({ length: 12 }, (_, index) => ({ role: "assistant", content: `${index} ${line.repeat(20)}` })),
];
const added = (turn: number): JsonObject => ({
  role: "user",
  content: `turn ${turn} "tools" ${line.repeat(turn % 5)}`,
});

/** An object of a request with these members, written as they are. */
const bodyOf = (turn: number, before: string, after: string, space = "") => {
  const sent = [...messages, ...Array.from({ length: turn }, (_, index) => added(index))];
  return `{"model":"smart-router-flash",${before}${space}"messages":[${sent.map((each) => JSON.stringify(each)).join(",")}]${after}}`;
};

const toolsOf = (...names: string[]) =>
  names.map((name) => ({
    type: "function",
    function: { name, description: `${name} ${line.repeat(20)}`, parameters: { type: "object", required: ["path"] } },
  }));
const agentTools = toolsOf("read_file", "edit_file");

const text = fc.constantFrom("a", "cache_control", "é", '"', "]", "\\", token, "\ud800", line.repeat(9));
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.constantFrom<Json>(null, true, 0, 17, -1.5),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("name", "tools", "messages", "cache_control", "x", token), tie("value"), {
      maxKeys: 3,
    }),
  ),
})).value;
/** Tools, some of which no policy forwards. */
const tools: fc.Arbitrary<Json[]> = fc.oneof(
  fc.constantFrom<Json[]>(agentTools, toolsOf("get_weather"), toolsOf("read_file", token), []),
  fc.array(
    fc
      .tuple(json, fc.constantFrom("function", "web_search", ""))
      .map(([value, type]) => ({ type, function: { name: "f", value } })),
    { maxLength: 3 },
  ),
);
const spelled = fc.tuple(tools, fc.constantFrom(undefined, 1), fc.boolean()).map(([value, spaces, isLong]) => {
  const long = isLong ? [...value, ...toolsOf("get_weather")] : value;
  return `"tools": ${JSON.stringify(long, undefined, spaces)} `;
});
/** What else a body may have, and what is unusual in it. */
const other = fc.constantFrom(
  "",
  "",
  '"temperature":0.5,',
  '"stop":["\\"tools\\":["],',
  '"metadata":{"tools":[1]},',
  '"tools":[],',
  '"tools":null,',
  '"tool\\u0073":[],',
  '"\\u0074ools":[],',
  '"a":1,"a":1,',
  '"x":1.0,',
  '"x":12345678901234567890,',
  '"x":1e999,',
  '"x":[},',
  '"é":"—",',
  '"prompt_cache_breakpoint":true,',
);

describe("tools that are known by their bytes", () => {
  test("equal those of parsing the whole body, wherever they stand and whatever else is in it", () => {
    let known = 0;
    fc.assert(
      fc.property(spelled, other, fc.boolean(), fc.boolean(), (member, more, isBehind, isFirst) => {
        const around = (extra: string): [string, string] => {
          const members = isFirst ? `${extra}${member},` : `${member},${extra}`;
          return isBehind ? ["", `,${members.replace(/,$/, "")}`] : [members, ""];
        };
        const memory = new BodyMemory();
        parsed(bodyOf(0, ...around("")), memory);
        for (const extra of ["", more, ""]) {
          const sent = bodyOf(1, ...around(extra));
          if (areKnownIn(sent, memory)) known++;
          expect(comparable(parsed(sent, memory))).toEqual(comparable(parsed(sent, new BodyMemory())));
        }
      }),
      { numRuns: 300 },
    );
    expect(known).toBeGreaterThan(100);
  }, 60_000);

  test("are not taken for tools where they stand in another member or in a text", () => {
    const memory = new BodyMemory();
    const member = `"tools":${JSON.stringify(agentTools)}`;
    parsed(bodyOf(0, `${member},`, ""), memory);
    for (const before of [
      `"metadata":{${member}},`,
      `"metadata":{${member},"x":1},`,
      `"x":[{${member}}],`,
      `"x":${JSON.stringify(`{${member}}`)},`,
      `"tools":[{${member}}],`,
      `"tools":[],"x":{${member}},`,
      `"x":{${member}},${member},`,
      `${member},${member},`,
      `"x":${member},`,
      `x${member},`,
      `"x\\${member},`,
    ]) {
      const sent = bodyOf(1, before, "");
      expect(comparable(parsed(sent, memory))).toEqual(comparable(parsed(sent, new BodyMemory())));
    }
  });

  test("are parsed again if one byte of the body differs", () => {
    const memory = new BodyMemory();
    const member = `"tools":${JSON.stringify(agentTools)},`;
    const start = bodyOf(1, "", "").indexOf('"messages"');
    const sent = Buffer.from(bodyOf(1, member, ""));
    parsed(bodyOf(0, member, ""), memory);
    expect(areKnownIn(sent, memory)).toBe(true);
    fc.assert(
      fc.property(
        fc.nat(member.length + 4),
        fc.constantFrom(0x22, 0x5c, 0x5d, 0x7b, 0x2c, 0x20, 0x61, 0xff),
        (at, byte) => {
          const changed = Buffer.from(sent);
          changed[start - 2 + at] = byte;
          expect(comparable(parsed(changed, memory))).toEqual(comparable(parsed(changed, new BodyMemory())));
        },
      ),
      { numRuns: 400 },
    );
  }, 60_000);

  test("count for the limit of values", () => {
    const member = `"tools":${JSON.stringify(Array.from({ length: 400 }, () => ({ x: [[], {}, [1, 2]] })))},`;
    const sent = bodyOf(1, member, "");
    let least = 1;
    for (let most = 100_000; least < most; ) {
      const middle = (least + most) >> 1;
      if (parsed(sent, new BodyMemory(), middle).kind === "ok") most = middle;
      else least = middle + 1;
    }
    const memory = new BodyMemory();
    parsed(bodyOf(0, member, ""), memory);
    expect(areKnownIn(sent, memory)).toBe(true);
    expect(parsed(sent, memory, least).kind).toBe("ok");
    expect(parsed(sent, memory, least - 1)).toMatchObject({ kind: "refused", status: 413 });
  });

  test("get the verdicts of any others from each policy, turn by turn, and are forwarded as they came", () => {
    const rules = fieldRulesOf(policy);
    const context = { now: 0, policy, redactions: 0 };
    const tasks = () => inMemoryTaskMemory(() => policy.tasks);
    let found = 0;
    fc.assert(
      fc.property(spelled, (member) => {
        const memory = new BodyMemory();
        const engines = [policy.privacy, { ...policy.privacy, disabled_rules: ["github_token"] }].map((privacy) => ({
          engine: privacyEngine(privacy),
          anew: privacyEngine({ ...privacy, scan_memory_bytes: 0 }),
        }));
        for (let turn = 0; turn < 4; turn++) {
          const sent = bodyOf(turn, `${member},`, "");
          const request = requestIn(sent, memory);
          const plain: ChatRequest["body"] = JSON.parse(sent);
          expect(guardFields(request.body, undefined, rules)).toEqual(guardFields(plain, undefined, rules));
          expect(assess(request, request.body, tasks(), context)).toEqual(assess(request, plain, tasks(), context));
          for (const { engine, anew } of engines) {
            const redacted = engine.redactBody(request.body, request.received);
            const expected = anew.redactBody(plain);
            expect({ ...redacted, body: "" }).toEqual({ ...expected, body: "" });
            found += redacted.unredactable.length;
            if (request.received === undefined) continue;
            const target = forwardedBody(request, redacted.body, model, 4_096);
            const { max_tokens: _, ...rest } = JSON.parse(
              Buffer.concat(spliceBody(target, request.received)).toString(),
            );
            expect(rest).toEqual({ ...JSON.parse(JSON.stringify(expected.body)), model: model.upstreamId });
          }
        }
      }),
      { numRuns: 100 },
    );
    expect(found).toBeGreaterThan(20);
  }, 60_000);

  test("are not parsed again by any step of a request", () => {
    const rules = fieldRulesOf(policy);
    const engine = privacyEngine(policy.privacy);
    const member = `"tools":${JSON.stringify(agentTools)},`;
    const memory = new BodyMemory();
    const context = { now: 0, policy, redactions: 0 };
    let reads = 0;
    for (let turn = 0; turn < 3; turn++) {
      const request = requestIn(bodyOf(turn, member, ""), memory);
      const known = memory.partsOf(Buffer.from(bodyOf(turn, member, "")))?.tools?.known;
      if (known === undefined || request.received === undefined) throw new Error("unreachable: nothing is unusual");
      const counted = () => {
        reads++;
        return agentTools as Json[];
      };
      const body: ChatRequest["body"] = { ...request.body };
      body["tools"] = lazyMember(known, counted);
      const received = { ...request.received, parsed: body };
      expect(guardFields(body, undefined, rules)).toBeUndefined();
      const redacted = engine.redactBody(body, received);
      assess(
        { ...request, body, received },
        redacted.body,
        inMemoryTaskMemory(() => policy.tasks),
        context,
      );
      spliceBody(forwardedBody(request, redacted.body, model, 4_096), received);
    }
    // At the first turn only.
    expect(reads).toBe(1);
  });
});

test("each turn of an agent reaches the upstream with its tools, and is refused with those that the policy refuses", async () => {
  await using gateway = await start();
  for (let turn = 0; turn < 6; turn++) {
    const sent = turn < 3 ? agentTools : toolsOf("read_file", "edit_file", "bash");
    const reply = await gateway.chat({}, {}, { body: bodyOf(turn, `"tools":${JSON.stringify(sent)},`, "") });
    expect(reply.status).toBe(200);
    expect(gateway.upstream.requests.at(-1)?.body).toMatchObject({ tools: sent });
  }
  const refused = JSON.stringify([...agentTools, { type: "web_search" }]);
  for (let turn = 6; turn < 9; turn++) {
    const reply = await gateway.chat({}, {}, { body: bodyOf(turn, `"tools":${refused},`, "") });
    expect(reply.status).toBe(422);
  }
});
