import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import { finishAnswer } from "./whole-answer.ts";

const finished = (raw: string, restorer?: Parameters<typeof finishAnswer>[3]): string =>
  finishAnswer(JSON.parse(raw) as JsonObject, raw, "vendor/model", restorer); // written by hand below

const raw = (message: string, rest = '"model": "vendor/model", "object": "chat.completion"') =>
  `{ ${rest}, "choices": [{"index":0,"message":${message},"finish_reason":"stop"}], "x": 1.0 }`;

describe("a whole answer", () => {
  test("is sent as the received text if nothing has to change", () => {
    const text = raw('{"role":"assistant","content":"hi"}');
    expect(finished(text)).toBe(text);
  });
  test("is sent as the received text but for the name of the model if nothing else has to change", () => {
    const named = (name: string) =>
      raw('{"content":"a \\"model\\": b"}', `"id":"x", "model" : "${name}","object":"chat.completion"`);
    expect(finished(named("vendor/model-20260115"))).toBe(named("vendor/model"));
  });
  test("is the answer that was received under another name, wherever else it says model", () => {
    const key = fc.constantFrom('"model"', '"mod\\u0065l"', '"\\u006Dodel"', '"a\\"model"', '"x"');
    const plain = fc.constantFrom(
      '"vendor/model-20260115"',
      '"{"',
      '"[,"',
      '","',
      '"\\"model\\":"',
      '"model"',
      "1",
      "null",
    );
    const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        plain,
        tie("object"),
        tie("object").map((text) => `[ ${text} ]`),
      ),
      object: fc
        .array(fc.tuple(key, tie("value")), { maxLength: 4 })
        .map((members) => `{${members.map(([name, text]) => `${name}: ${text}`).join(" ,")}}`),
    }));
    const members = fc.array(fc.tuple(key, value), { maxLength: 4 });
    let kept = 0;
    fc.assert(
      fc.property(members, members, fc.boolean(), (before, behind, named) => {
        const own = named ? '"model":"vendor/model-20260115"' : '"z":0';
        const text = (list: [string, string][]) => list.map(([name, each]) => `${name}:${each}, `).join("");
        const received = `{${text(before)}${own}, ${text(behind)}"object":"chat.completion"}`;
        const expected = { ...JSON.parse(received), model: "vendor/model" };
        const sent = finished(received);
        if (sent === received.replace("vendor/model-20260115", "vendor/model")) kept += 1;
        expect(JSON.parse(sent)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
    // About fifty of them are: far from none, whatever the seed.
    expect(kept).toBeGreaterThan(10);
  });
  test.each([
    [
      "another name of the model",
      raw('{"content":"hi"}', '"model": "vendor/model-20260115", "object": "chat.completion"'),
    ],
    ["no model", raw('{"content":"hi"}', '"object": "chat.completion"')],
    ["another object", raw('{"content":"hi"}', '"model": "vendor/model", "object": "text_completion"')],
  ])("is corrected: %s", (_, text) => {
    expect(JSON.parse(finished(text))).toEqual({
      ...JSON.parse(text),
      model: "vendor/model",
      object: "chat.completion",
    });
  });
  test.each(["reasoning", "reasoning_content"])("without content gives its %s as content", (name) => {
    const text = raw(`{"role":"assistant","content":null,"${name}":"because"}`);
    expect(JSON.parse(finished(text)).choices[0].message.content).toBe("because");
  });
  test("restores redacted values", () => {
    const restorer = { stream: () => ({ push: (text: string) => text.replace("<1>", "value"), flush: () => "" }) };
    expect(JSON.parse(finished(raw('{"content":"<1>"}'), restorer)).choices[0].message.content).toBe("value");
  });
});
