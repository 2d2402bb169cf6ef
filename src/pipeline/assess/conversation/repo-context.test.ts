import { describe, expect, test } from "bun:test";
import { assessed, type Sent, step } from "#pipeline/assess/fixtures.ts";

const present = (sent: Sent) => assessed(sent).task.repo_context_present;
const user = (content: string) => ({ role: "user", content });

describe("repository context", () => {
  test.each<[string, Sent]>([
    ["file tools are offered", { tools: ["read_file"] }],
    ["an edit tool is offered", { tools: ["search", "str_replace_based_edit_tool"] }],
    ["files were changed by a tool", { messages: [user("go on"), ...step("write_to_file", { path: "a" }, "ok")] }],
    [
      "the system prompt is a coding agent's",
      { messages: [{ role: "system", content: "Act as an expert. Use SEARCH/REPLACE blocks." }, user("hello")] },
    ],
    [
      "the system prompt names a working directory",
      { messages: [{ role: "system", content: "Working directory: /srv/app" }, user("hello")] },
    ],
    ["the ask names a source file by its path", { ask: "What does src/http/server.ts do?" }],
    [
      "a diff is in the conversation",
      { messages: [user("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@"), user("ok?")] },
    ],
  ])("is present when %s", (_, sent) => {
    expect(present(sent)).toBe(true);
  });

  test.each<[string, Sent]>([
    ["a plain question", { ask: "What is the capital of France?" }],
    ["tools that have nothing to do with files", { tools: ["get_weather", "book_flight"] }],
    ["a web address", { ask: "Summarize https://example.org/a/b" }],
    ["and/or", { ask: "Tea and/or coffee? See chapter 1/2." }],
  ])("is absent for %s", (_, sent) => {
    expect(present(sent)).toBe(false);
  });
});
