import { afterEach, beforeEach, expect, test } from "bun:test";
import type { ScriptedRequest } from "./testing/scripted-worker.ts";
import { ThreadCalls } from "./thread-calls.ts";

let thread: ThreadCalls<ScriptedRequest>;
beforeEach(() => {
  thread = new ThreadCalls(new Worker(new URL("./testing/scripted-worker.ts", import.meta.url)));
});
afterEach(() => thread.terminate("the test is over"));

test("each call gets its own reply, however many are pending", async () => {
  const texts = Array.from({ length: 50 }, (_, n) => `call ${n}`);
  expect(await Promise.all(texts.map((text) => thread.call<string>({ call: "echo", text })))).toEqual(texts);
});

test("a call whose work throws rejects with its message, and later calls are answered", async () => {
  await expect(thread.call({ call: "throw", text: "no such table" })).rejects.toThrow("no such table");
  expect(await thread.call<string>({ call: "echo", text: "still here" })).toBe("still here");
});

test("pending and later calls reject with the reason of a termination", async () => {
  const underWay = thread.call({ call: "echo", text: "" });
  thread.terminate("the store is closed");
  await expect(underWay).rejects.toThrow("the store is closed");
  await expect(thread.call({ call: "echo", text: "" })).rejects.toThrow("the store is closed");
});
