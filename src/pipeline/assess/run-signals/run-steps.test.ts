import { expect, test } from "bun:test";
import type { ChatMessage } from "#domain/chat.ts";
import { runStepsFrom } from "./run-steps.ts";

const system: ChatMessage = { role: "system", content: "You are a careful programmer." };
const ask: ChatMessage = { role: "user", content: "Make the retry test pass." };

test("messages of the system in a row are read in a time that grows with their number, not with its square", () => {
  const length = 3_000;
  let reads = 0;
  const all = [
    ask,
    { role: "assistant", content: "I look." },
    ...Array.from({ length }, () => system),
  ] as ChatMessage[];
  const messages = new Proxy(all, {
    get(target, name, receiver) {
      if (typeof name === "string" && /^\d+$/.test(name)) reads++;
      return Reflect.get(target, name, receiver);
    },
  });
  runStepsFrom(messages, 1);
  expect(reads).toBeLessThan(110 * length);
});
