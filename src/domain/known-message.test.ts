import { expect, test } from "bun:test";
import type { ChatMessage } from "./chat.ts";
import { attachFacts, type Facts, knownMessage, memoizeByMessage, wholeMessage } from "./known-message.ts";

test("computes something of a known message once, and of any other each time", () => {
  let computed = 0;
  const roleLength = memoizeByMessage(({ role }) => {
    computed += 1;
    return role.length;
  });
  const isUser = memoizeByMessage(({ role }) => role === "user");
  const facts: Facts = [];
  const plain: ChatMessage = { role: "user", content: "Hello" };
  const known = () => {
    const message = { ...plain };
    attachFacts(message, facts);
    return message;
  };
  expect([roleLength(known()), isUser(known()), roleLength(known()), isUser(known())]).toEqual([4, true, 4, true]);
  expect(computed).toBe(1);
  expect([roleLength(plain), roleLength({ ...known() })]).toEqual([4, 4]);
  expect(computed).toBe(3);
});

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
