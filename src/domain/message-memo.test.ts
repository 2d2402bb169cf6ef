import { expect, test } from "bun:test";
import type { ChatMessage } from "./chat.ts";
import { type MessageFacts, memoizeByMessage, messageFacts } from "./message-memo.ts";

test("computes something of a cached message once, and of any other each time", () => {
  let computed = 0;
  const roleLength = memoizeByMessage(({ role }) => {
    computed += 1;
    return role.length;
  });
  const isUser = memoizeByMessage(({ role }) => role === "user");
  const facts: MessageFacts = [];
  const plain: ChatMessage = { role: "user", content: "Hello" };
  const cached = () => ({ ...plain, [messageFacts]: facts });
  expect([roleLength(cached()), isUser(cached()), roleLength(cached()), isUser(cached())]).toEqual([4, true, 4, true]);
  expect(computed).toBe(1);
  expect([roleLength(plain), roleLength(plain)]).toEqual([4, 4]);
  expect(computed).toBe(3);
});
