import { expect, test } from "bun:test";
import { inMemoryConversationMemory } from "./conversation-memory.ts";

test("remembers the model of a conversation for as long as the policy says", () => {
  const memory = inMemoryConversationMemory(() => ({ remembered: 2, remembered_ms: 1_000 }));
  memory.remember("a", { model: "flash", atMs: 0 }, 0);
  expect(memory.recall("a", 1_000)).toEqual({ model: "flash", atMs: 0 });
  expect(memory.recall("a", 1_001)).toBeUndefined();
  expect(memory.recall("a", 0)).toBeUndefined();
});

test("is bounded: the conversation that was answered longest ago is removed first", () => {
  const memory = inMemoryConversationMemory(() => ({ remembered: 2, remembered_ms: 1_000 }));
  memory.remember("a", { model: "flash", atMs: 0 }, 0);
  memory.remember("b", { model: "flash", atMs: 0 }, 0);
  memory.remember("a", { model: "pro", atMs: 1 }, 0);
  memory.remember("c", { model: "flash", atMs: 1 }, 0);
  expect(["a", "b", "c"].map((key) => memory.recall(key, 1)?.model)).toEqual(["pro", undefined, "flash"]);
});
