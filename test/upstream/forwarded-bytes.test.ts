import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import type { ChatRequest, JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { MessageCache } from "#http/chat-body/message-cache.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import { forwardedBody } from "#pipeline/execute/forwarded-body.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { spliceBody } from "#upstream/received-body.ts";

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const engine = privacyEngine(Policy.parse({}).privacy);
const model = { key: "vendor_v4_flash", upstreamId: "vendor/v4-flash" } as Model; // the fields that are read
const filler = "The quarterly report is generated from the orders table. ".repeat(300);

/** JSON text of a value that may be written in unusual ways: white space, escapes, repeated keys. */
type Written = fc.Arbitrary<string>;
const space = fc.constantFrom("", "", "", " ", "\n", "\t\r\n");
const plainString: Written = fc
  .oneof(
    fc.string({ maxLength: 8 }),
    fc.string({ unit: "grapheme", maxLength: 4 }),
    fc.constantFrom("__proto__", "messages", "\ud800", "—", `${filler}${token}`, token),
  )
  .map((text) => JSON.stringify(text));
/** Every character as an escape sequence. */
const escapedString: Written = fc
  .constantFrom("text", "id", "model", "role")
  .map((text) => `"${[...text].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join("")}"`);
const number: Written = fc.constantFrom(
  "0",
  "-0",
  "1",
  "1.0",
  "0.5",
  "1e2",
  "12345678901234567890",
  "0.1000000000000000055",
  "-7",
  "1E-7",
  "123456789012345",
);
const key: Written = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('"a"', '"b"', '"c"', '"text"', '"__proto_"', '"ключ"', '""', '"x,y]"') },
  { weight: 1, arbitrary: escapedString },
  { weight: 1, arbitrary: fc.constant('"__proto__"') },
);

function objectOf(members: fc.Arbitrary<[string, string][]>): Written {
  return fc
    .tuple(members, space, space)
    .map(([all, a, b]) => `{${a}${all.map(([name, value]) => `${name}${b}:${a}${value}`).join(`${b},${a}`)}${b}}`);
}

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    { weight: 4, arbitrary: fc.constantFrom("1", "true", "null", '"x"', '"\\n"') },
    { weight: 1, arbitrary: plainString },
    { weight: 1, arbitrary: number },
    // There are few different keys, so that repeated keys are frequent.
    { weight: 3, arbitrary: objectOf(fc.array(fc.tuple(key, tie("value")), { maxLength: 3 })) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.array(tie("value"), { maxLength: 3 }), space)
        .map(([items, a]) => `[${a}${items.join(`${a},${a}`)}${a}]`),
    },
  ),
}));

const text: Written = fc.oneof(plainString, fc.constant('"hello"'));
const message: Written = objectOf(
  fc
    .tuple(fc.constantFrom('"user"', '"assistant"', '"system"'), text, fc.array(fc.tuple(key, value), { maxLength: 2 }))
    .map(([role, content, more]): [string, string][] => [['"role"', role], ['"content"', content], ...more]),
);
const member: fc.Arbitrary<[string, string]> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(key, value) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<[string, string]>(
      ['"stream"', "true"],
      ['"stream"', "false"],
      ['"max_tokens"', "0"],
      ['"max_tokens"', "17"],
      ['"usage"', "{}"],
      ['"model"', '"smart-router-pro"'],
      ['"messages"', '[{"role":"user","content":"twice"}]'],
      ['"metadata"', '{"task_id":"t","mine":"1"}'],
      ['"metadata"', '{"task_id":"t"}'],
    ),
  },
);
const body: Written = fc
  .tuple(
    fc.array(message, { minLength: 1, maxLength: 5 }),
    fc.array(member, { maxLength: 4 }),
    fc.array(member, { maxLength: 4 }),
    space,
  )
  .chain(([messages, before, after, a]) =>
    objectOf(
      fc.constant<[string, string][]>([
        ...before,
        ['"model"', '"smart-router"'],
        ['"messages"', `[${a}${messages.join(`${a},${a}`)}${a}]`],
        // Makes each body large enough to be forwarded by its bytes.
        ['"filler"', JSON.stringify(filler)],
        ...after,
      ]),
    ),
  );

/** What earlier bodies have left behind: the same messages come again and again. */
const cache = new MessageCache(1_000_000);

function parsed(json: string, bytes: Uint8Array = Buffer.from(json)): ChatRequest | undefined {
  const result = parseChatRequest({
    bytes,
    cache,
    headers: new Headers(),
    requestId: "r",
    receivedAtMs: 0,
  });
  return result.kind === "ok" ? result.request : undefined;
}

/** A parser that refuses a repeated key; `JSON.parse` uses the last value and others the first. */
function hasKeyTwice(json: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  for (const [piece, , colon] of json.matchAll(/"((?:[^"\\]|\\.)*)"\s*(:)?|[{}[\]]/gs)) {
    if (piece === "{") open.push(new Set());
    else if (piece === "[") open.push(undefined);
    else if (piece === "}" || piece === "]") open.pop();
    else if (colon !== undefined) {
      const keys = open.at(-1);
      const name: string = JSON.parse(piece.slice(0, piece.lastIndexOf('"') + 1));
      if (keys === undefined || keys.has(name)) return true;
      keys.add(name);
    }
  }
  return false;
}

describe("the bytes sent upstream", () => {
  test("have the meaning of the scanned and of the serialized body, and no key twice, whatever was received", () => {
    let spliced = 0;
    let refused = 0;
    let keysTwice = 0;
    fc.assert(
      fc.property(body, fc.boolean(), (json, isNarrow) => {
        const request = parsed(json);
        if (request === undefined) {
          refused += 1;
          return;
        }
        const { received } = request;
        if (hasKeyTwice(json)) keysTwice += 1;
        if (received === undefined) return;
        let redacted: JsonObject;
        try {
          redacted = engine.redactBody(request.body).body;
        } catch {
          return; // a credential in a key or an id
        }
        const limit = isNarrow ? { prompt: 1, completion: 2, request: 0 } : undefined;
        const target = forwardedBody(request, redacted, model, 4_096, limit);
        const sent = Buffer.concat(spliceBody(target, received)).toString();
        const written = JSON.stringify(target);
        expect(JSON.stringify(JSON.parse(sent))).toBe(JSON.stringify(JSON.parse(written)));
        expect(hasKeyTwice(sent)).toBe(false);
        expect(sent).not.toContain(token);
        spliced += 1;
      }),
      { numRuns: 3_000 },
    );
    // Each kind has occurred often.
    expect(spliced).toBeGreaterThan(300);
    expect(keysTwice).toBeGreaterThan(300);
    expect(refused).toBeLessThan(2_500);
  });

  const large = (members: string) =>
    `{"model":"smart-router","messages":[{"role":"user","content":${JSON.stringify(filler)}}]${members}}`;

  test("are the caller's own, white space included, between the members that change", () => {
    const json = `{ "seed" : 7, "messages": [ {"role":"user","content":${JSON.stringify(filler)}} ,\n {"role":"user","content":"${token}"},{"content":"go \\u006fn","role":"user"}\t],"model":"smart-router" , "x":[1, 2] }`;
    const request = parsed(json);
    if (request?.received === undefined) throw new Error("unreachable: nothing in it is unusual");
    const target = forwardedBody(request, engine.redactBody(request.body).body, model, 4_096);
    expect(Buffer.concat(spliceBody(target, request.received)).toString()).toBe(
      `{"seed" : 7,"messages":[{"role":"user","content":${JSON.stringify(filler)}},{"role":"user","content":"[REDACTED:github_token:1]"},{"content":"go \\u006fn","role":"user"}],"model":"vendor/v4-flash","x":[1, 2],"max_tokens":4096}`,
    );
  });

  test.each([',"x":1.0', ',"x":12345678901234567890', ',"x":[1e2]', ',"x":-0', ',"x":{"__proto__":1}'])(
    "hold numbers as they were written: %s",
    (members) => {
      const request = parsed(large(members));
      if (request?.received === undefined) throw new Error("written anew");
      expect(Buffer.concat(spliceBody(request.body, request.received)).toString()).toBe(large(members));
    },
  );
});
