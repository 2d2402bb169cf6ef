import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { finishAnswer, finishLargeAnswer } from "./finish-answer.ts";

const finished = (raw: string, restorer?: Parameters<typeof finishAnswer>[3]): string =>
  finishAnswer(JSON.parse(raw) as JsonObject, raw, "vendor/model", restorer); // written by hand below

const raw = (message: string, rest = '"model": "vendor/model", "object": "chat.completion"') =>
  `{ ${rest}, "choices": [{"index":0,"message":${message},"finish_reason":"stop"}], "x": 1.0 }`;

describe("a whole answer", () => {
  test("is sent as the received text if nothing has to change", () => {
    const text = raw('{"role":"assistant","content":"hi"}');
    expect(finished(text)).toBe(text);
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
  test.each([
    '{"role":"assistant","content":"hi"}',
    '{"content":null,"reasoning":"\\u00e9"}',
    `{"content":"${'\\"'.repeat(1_200_000)}"}`,
  ])("is the same in turns of the event loop (%#)", async (message) => {
    for (const text of [raw(message), raw(message, '"model": "vendor/model-20260115"')]) {
      const large = await finishLargeAnswer(JSON.parse(text) as JsonObject, text, "vendor/model");
      expect(Buffer.from(large as string).toString()).toBe(finished(text));
    }
    const anew = await finishLargeAnswer({ ...JSON.parse(raw(message)), y: 1 }, undefined, "vendor/model");
    expect(JSON.parse(Buffer.from(anew as string).toString()).y).toBe(1);
  });
  test("restores redacted values", () => {
    const restorer = () => ({ push: (text: string) => text.replace("<1>", "value"), flush: () => "" });
    expect(JSON.parse(finished(raw('{"content":"<1>"}'), restorer)).choices[0].message.content).toBe("value");
  });
});
