import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { finishAnswer } from "./whole-answer.ts";

const finished = (raw: string): string => finishAnswer(JSON.parse(raw) as JsonObject, raw, "vendor/model", undefined); // written by hand below

const raw = (message: string, rest = '"model": "vendor/model", "object": "chat.completion"') =>
  `{ ${rest}, "choices": [{"index":0,"message":${message},"finish_reason":"stop"}], "x": 1.0 }`;

describe("a whole answer", () => {
  test("is sent as the received text if nothing has to change", () => {
    const text = raw('{"role":"assistant","content":"hi"}');
    expect(finished(text)).toBe(text);
  });
  test.each([
    ["another name of the model", '"model": "vendor/model-20260115", "object": "chat.completion"'],
    ["no model", '"object": "chat.completion"'],
    ["another object", '"model": "vendor/model", "object": "text_completion"'],
  ])("is corrected: %s", (_, members) => {
    const text = raw('{"content":"hi"}', members);
    const expected = { ...JSON.parse(text), model: "vendor/model", object: "chat.completion" };
    expect(JSON.parse(finished(text))).toEqual(expected);
  });
});
