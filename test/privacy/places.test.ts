import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import type { Json, JsonObject } from "#domain/chat.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type ChatBody, CredentialNotReplaceable, type RedactedBody } from "#privacy/redaction.ts";

/** Every place of a body that can contain a credential, and the effect there. */

const token = ["ghp", "_", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("");
const engine = privacyEngine(Policy.parse({}).privacy);

const body = (more: JsonObject, ...messages: ChatBody["messages"]): ChatBody => ({
  model: "smart-router",
  messages: messages.length > 0 ? messages : [{ role: "user", content: "hello" }],
  ...more,
});

const withToken = (sent: ChatBody): ChatBody => JSON.parse(JSON.stringify(sent).replaceAll("TOKEN", token));

function refusalOf(sent: ChatBody): { path: string; isKey: boolean; rule: string } | undefined {
  try {
    engine.redactBody(sent);
    return undefined;
  } catch (error) {
    if (!(error instanceof CredentialNotReplaceable)) throw error;
    expect(JSON.stringify([error.path, error.message, error.stack])).not.toContain(token.slice(4, 20));
    return { path: error.path, isKey: error.isKey, rule: error.rule };
  }
}

const call = (more: JsonObject) => ({
  id: "call_1",
  type: "function",
  function: { name: "f", arguments: "{}" },
  ...more,
});
const assistant = (more: JsonObject) => ({ role: "assistant" as const, content: null, ...more });

describe("a credential that cannot be replaced", () => {
  /** Each place with a body that has the token there. */
  const places = (file: string) =>
    jsonLines<[path: string, more: JsonObject, ...messages: ChatBody["messages"]]>(import.meta.dir, file).map(
      ([path, more, ...messages]) => [path, withToken(body(more, ...messages))] as const,
    );
  test.each(places("fixtures/fixed-places.jsonl"))("at %s is refused, naming the place", (path, sent) => {
    expect(refusalOf(sent)).toEqual({ path, isKey: false, rule: "github_token" });
  });

  test.each(places("fixtures/keys.jsonl"))("as a key of %p is refused, naming the object", (path, sent) => {
    expect(refusalOf(sent)).toEqual({ path, isKey: true, rule: "github_token" });
  });

  test("is refused in a large body too", async () => {
    const rejected = await (async () => engine.redactLargeBody(body({ unknown: [{ id: token }] })))().catch(
      (error: unknown) => error,
    );
    expect(rejected).toBeInstanceOf(CredentialNotReplaceable);
    expect((rejected as CredentialNotReplaceable).path).toBe("unknown[0].id");
  });

  test("is named by a path of bounded length", () => {
    let deep: Json = { id: token };
    for (let level = 0; level < 60; level++) deep = { [`member_number_${level}`]: deep };
    expect(refusalOf(body({ unknown: deep }))?.path.length).toBeLessThan(210);
  });

  test("is forwarded if the operator allows the value or disables the rule", () => {
    const sent = body({ metadata: { [token]: 1 } }, assistant({ tool_calls: [call({ id: token })] }));
    for (const privacy of [{ allow: [token] }, { disabled_rules: ["github_token"] }, { redact: false }]) {
      expect(privacyEngine(Policy.parse({ privacy }).privacy).redactBody(sent).body).toBe(sent);
    }
  });
});

describe("ids", () => {
  const drawn = (characters: string, length: number) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength: length, maxLength: length });
  const lower = "abcdefghijklmnopqrstuvwxyz0123456789";
  const mixed = `${lower}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;
  const hex = "0123456789abcdef";
  const ids = fc.oneof(
    drawn(mixed, 24).map((id) => `call_${id}`),
    drawn(mixed, 22).map((id) => `toolu_01${id}`),
    drawn(mixed, 22).map((id) => `toolu_vrtx_01${id}`),
    drawn(mixed, 22).map((id) => `toolu_bdrk_01${id}`),
    drawn(mixed, 22).map((id) => `tooluse_${id}`),
    drawn(hex, 32).map((id) => `chatcmpl-tool-${id}`),
    drawn(hex, 48).map((id) => `fc_${id}`),
    drawn(hex, 50).map((id) => `rs_${id}`),
    drawn(hex, 50).map((id) => `msg_${id}`),
    drawn(mixed, 24).map((id) => `call_00_${id}`),
    drawn("0123456789", 19).map((id) => `function-call-${id}`),
    drawn("0123456789", 13).map((id) => `tool_0_get_weather_${id}`),
    drawn("0123456789", 16).map((id) => `call_${id}`),
    drawn(mixed, 9),
    drawn(mixed, 29).map((id) => `chatcmpl-${id}`),
    drawn(mixed, 20).map((id) => `gen-1767225600-${id}`),
    drawn(mixed, 40).map((id) => `audio_${id}`),
    drawn(hex, 24).map((id) => `functions.get_weather:${id}`),
    fc.uuid(),
    fc.uuid().map((id) => `call_${id}`),
    fc.uuid().map((id) => `call_0_${id}`),
  );

  test("that providers and agents generate are neither credentials nor personal data", () => {
    const strict = privacyEngine(Policy.parse({ privacy: { personal_data: true } }).privacy);
    fc.assert(
      fc.property(ids, (id) => {
        const sent = body({}, assistant({ tool_calls: [call({ id })] }), {
          role: "tool",
          tool_call_id: id,
          content: "done",
        });
        expect(strict.redactBody(sent).body).toBe(sent);
      }),
      { numRuns: 3_000 },
    );
  });

  test("in metadata are labels, and replaced", () => {
    const sent = body({ metadata: { id: `a ${token}`, type: token, model: token } });
    const placeholder = "[REDACTED:github_token:1]";
    const { metadata } = engine.redactBody(sent).body;
    expect(metadata).toEqual({ id: `a ${placeholder}`, type: placeholder, model: placeholder });
  });

  test("that name a declared function are forwarded like its declaration, and the request is sensitive", () => {
    const sent = body(
      { tools: [{ type: "function", function: { name: token } }] },
      assistant({ tool_calls: [call({ function: { name: token, arguments: "{}" } })] }),
    );
    sent["tool_choice"] = { type: "function", function: { name: token } };
    const redacted = engine.redactBody(sent);
    expect(redacted.body).toBe(sent);
    expect(redacted.unredactable).toEqual([{ rule: "github_token", count: 1, messageIndex: -1 }]);
  });
});

describe("a tool's definition", () => {
  test.each<[string, JsonObject]>([
    ["a key", { parameters: { properties: { [token]: { type: "string" } } } }],
    ["an id", { parameters: { properties: { id: { description: token } }, id: token } }],
    ["a type", { parameters: { type: token } }],
    ["the name of a schema or function", { name: token }],
  ])("with a credential in %s is forwarded as it is, counted, and makes the request sensitive", (_, declared) => {
    for (const sent of [
      body({ tools: [{ type: "function", function: { name: "f", ...declared } }] }),
      body({ response_format: { type: "json_schema", json_schema: declared } }),
    ]) {
      const redacted = engine.redactBody(sent);
      expect(redacted.body).toBe(sent);
      expect(redacted.unredactable[0]?.rule).toBe("github_token");
    }
  });
});

describe("a token over several text parts", () => {
  const sent = (texts: readonly string[], field = "text") =>
    engine.redactBody(body({}, { role: "user", content: texts.map((text) => ({ type: field, [field]: text })) }));
  const contents = ({ body: { messages } }: RedactedBody) =>
    (messages[0]!["content"] as JsonObject[]).map((part) => String(part["text"] ?? part["refusal"]));
  const placeholder = "[REDACTED:github_token:1]";

  /** Up to seven characters after a complete token are taken for other text. */
  const survives = (texts: readonly string[]) =>
    Array.from(token.slice(7), (_, at) => token.slice(at, at + 8)).some((piece) => texts.join("").includes(piece));

  test("is replaced if three parts, an empty one or a refusal split it", () => {
    for (let first = 1; first < token.length - 1; first += 3) {
      for (let second = first; second < token.length; second += 3) {
        const parts = [`say ${token.slice(0, first)}`, token.slice(first, second), `${token.slice(second)} end`];
        const redacted = sent(parts);
        expect(redacted.total).toBe(1);
        expect(contents(redacted)[0]).toBe(`say ${placeholder}`);
        expect(contents(redacted)[2]).toEndWith(" end");
        expect(survives(contents(redacted))).toBe(false);
        expect(contents(sent(parts, "refusal"))).toEqual(contents(redacted));
      }
    }
  });

  test("is replaced if every character is a part", () => {
    const redacted = sent([...token]);
    expect(survives(contents(redacted))).toBe(false);
    expect(contents(redacted).slice(0, 30)).toEqual([...token.slice(0, 30)].map(() => placeholder));
    expect(redacted.total).toBe(1);
  });

  test("is replaced after a long part and before one", () => {
    const long = "The quarterly report is generated from the orders table. ".repeat(400);
    const redacted = sent([long + token.slice(0, 10), token.slice(10, 20), `${token.slice(20)} ${long}`]);
    expect(contents(redacted)).toEqual([long + placeholder, placeholder, ` ${long}`]);
  });

  test("is replaced in parts of any one length", () => {
    for (let length = 1; length < 12; length++) {
      const parts = token.match(new RegExp(`.{1,${length}}`, "g")) ?? [];
      const out = contents(sent(parts));
      expect(out.join("").replaceAll(placeholder, "")).toBe("");
      // Text after a space stays, and so does a word.
      expect(contents(sent([...parts, " C"])).at(-1)).toBe(" C");
      expect(contents(sent([...parts, "Continue"])).at(-1)).toBe("Continue");
    }
  });

  test("keeps the text of a part that only follows it, and the other text of its own parts", () => {
    expect(contents(sent([`a ${token.slice(0, 9)}`, token.slice(9), "Continue", "here"]))).toEqual([
      `a ${placeholder}`,
      placeholder,
      "Continue",
      "here",
    ]);
    const part = { type: "text", text: token.slice(0, 9), note: token, cache_control: { type: "ephemeral" } };
    const redacted = engine.redactBody(
      body({}, { role: "user", content: [part, { type: "text", text: token.slice(9) }] }),
    );
    expect(JSON.stringify(redacted.body)).not.toContain(token.slice(9));
    expect(redacted.total).toBe(2);
  });
});

describe("for any body", () => {
  const name = fc.oneof(
    fc.constantFrom("id", "type", "role", "model", "tool_call_id", "name", "text", "content", "arguments", "function"),
    fc.constantFrom("metadata", "audio", "tools", "input", "refusal", "password", "__proto__", "constructor"),
    fc.string({ unit: fc.constantFrom("a", "b", "_", "c"), minLength: 1, maxLength: 5 }),
  );
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<Json>("word", "a few words", "", 7, true, null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 4 }) as fc.Arbitrary<Json>,
    ),
  }));
  const members = fc.dictionary(name, value, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>;
  const bodies = fc
    .tuple(members, fc.array(members, { minLength: 1, maxLength: 3 }), value, value, value, members)
    .map(([more, messages, tools, format, calls, metadata]): ChatBody => {
      const base: JsonObject = { ...more, tools, response_format: format, metadata };
      const list = messages.map((message) => ({ ...message, role: "assistant" as const, tool_calls: calls }));
      return { ...base, model: "smart-router", messages: list };
    });

  /** Copies of a body, each with the token in one of its strings or keys. */
  function* planted(body: ChatBody): Generator<{ sent: ChatBody; inSchema: boolean }> {
    const places = countOf(body);
    for (let place = 0; place < places; place++) {
      let left = place;
      let inSchema = false;
      const copy = (given: Json, schema: boolean, top: boolean): Json => {
        if (typeof given === "string") {
          if (left-- !== 0) return given;
          inSchema = schema;
          return `${given} ${token}`;
        }
        if (Array.isArray(given)) return given.map((item) => copy(item, schema, false));
        if (given === null || typeof given !== "object") return given;
        const entries = Object.entries(given).map(([key, item]): [string, Json] => {
          const within = schema || (top && ["tools", "response_format"].includes(key));
          // the body passed the validation of the HTTP layer
          if (top && key === "model") return [key, item];
          const fixed = top && ["messages", "tools", "response_format", "metadata"].includes(key);
          const isPlace = !fixed && left-- === 0;
          if (isPlace) inSchema = schema;
          return [isPlace ? `${key}${token}` : key, copy(item, within, false)];
        });
        return Object.fromEntries(entries);
      };
      const sent = copy(body, false, true) as ChatBody;
      if (JSON.stringify(sent).includes(token)) yield { sent, inSchema };
    }
  }

  function countOf(given: Json): number {
    if (typeof given === "string") return 1;
    if (Array.isArray(given)) return given.reduce<number>((sum, item) => sum + countOf(item), 0);
    if (given === null || typeof given !== "object") return 0;
    return Object.values(given).reduce<number>((sum, item) => sum + 1 + countOf(item), 0);
  }

  test("a token in any string or key is replaced, or the request is refused, or it is in a schema and the request is sensitive", async () => {
    let [gone, refused, sensitive] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        for (const { sent, inSchema } of planted(body)) {
          const large = await (async () => engine.redactLargeBody(sent))().catch((error: unknown) => error);
          let redacted: RedactedBody;
          try {
            redacted = engine.redactBody(sent);
          } catch (error) {
            expect(error).toBeInstanceOf(CredentialNotReplaceable);
            expect(large).toBeInstanceOf(CredentialNotReplaceable);
            expect((error as CredentialNotReplaceable).path).toBe((large as CredentialNotReplaceable).path);
            expect((error as CredentialNotReplaceable).path).not.toContain(token);
            expect(inSchema).toBe(false);
            refused++;
            continue;
          }
          expect(large).toEqual(redacted);
          if (inSchema) {
            expect(redacted.unredactable.length).toBeGreaterThan(0);
            sensitive++;
          } else {
            expect(JSON.stringify(redacted.body)).not.toContain(token);
            expect(redacted.total).toBe(1);
            gone++;
          }
        }
      }),
      { numRuns: 150 },
    );
    // Each of the three results has occurred.
    for (const met of [gone, refused, sensitive]) expect(met).toBeGreaterThan(20);
  });
});
