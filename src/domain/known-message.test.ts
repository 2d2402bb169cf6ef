import { expect, test } from "bun:test";
import type { ChatMessage } from "./chat.ts";
import { knownMessage, wholeMessage } from "./known-message.ts";

test("a known message is parsed once, and only when it is read", () => {
  let parsed = 0;
  const plain: ChatMessage = { role: "tool", tool_call_id: "c1", content: "done", other: 1 };
  const parse = () => {
    parsed += 1;
    return plain;
  };
  const message = knownMessage("tool", [], { parse });
  expect([message.role, parsed]).toEqual(["tool", 0]);
  expect([message["content"], message["tool_call_id"], message["name"], parsed]).toEqual(["done", "c1", undefined, 1]);
  expect([JSON.stringify(message), wholeMessage(message), parsed]).toEqual([JSON.stringify(plain), plain, 1]);
});
