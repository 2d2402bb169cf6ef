import { describe, expect, test } from "bun:test";
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
