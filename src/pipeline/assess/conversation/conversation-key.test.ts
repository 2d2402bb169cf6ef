import { expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";

const user = (content: string): JsonObject => ({ role: "user", content });
const assistant = (content: string): JsonObject => ({ role: "assistant", content });
const keyOf = (...messages: JsonObject[]) => assessed({ messages }).conversationKey;

const prepared: readonly (readonly [string, JsonObject[]])[] = [
  [
    "Codex",
    [
      user("# AGENTS.md instructions for /srv/shop\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
      user("<environment_context>\n<cwd>/srv/shop</cwd>\n</environment_context>"),
    ],
  ],
  ["a block of an unknown name", [user("<session_state>\nfolder: /srv/shop\n</session_state>")]],
];

test.each(prepared)("two conversations that begin with what the agent adds are two: %s", (_, before) => {
  const first = keyOf(...before, user("Rename foo."));
  expect(keyOf(...before, user("Write docs."))).not.toBe(first);
  expect(keyOf(...before, user("Rename foo."), assistant("Done."), user("Write docs."))).toBe(first);
});

test("an ask is one in tags, too: what is said later does not change the conversation's name", () => {
  for (const ask of [
    "<task>\nRename foo.\n</task>",
    "<user_query>Rename foo.</user_query>",
    "<p>Centre this</p> and that",
  ]) {
    expect(keyOf(user(ask), assistant("Done."), user("Write docs."))).toBe(keyOf(user(ask)));
  }
});
