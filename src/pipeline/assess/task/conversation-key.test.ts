import { expect, test } from "bun:test";
import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import { lazyMessages } from "#domain/received/known-messages.ts";
import { conversationOf } from "#pipeline/assess/envelope/conversation.ts";
import { housekeepingOf } from "#pipeline/assess/envelope/housekeeping.ts";
import { repoContextIn } from "#pipeline/assess/envelope/repo-context.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { conversationKeyOf } from "./conversation-key.ts";

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
  [
    "Qwen Code",
    [
      user("This is the Qwen Code. We are setting up the context for our chat.\nToday is Monday."),
      assistant("Got it."),
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

/** A conversation whose first messages are known, and which of these were parsed. */
function knownConversation(known: { roles: ChatMessage["role"][] }, messages: readonly JsonObject[]) {
  const parsed: number[] = [];
  const parse = (index: number) => {
    parsed.push(index);
    return messages[index] as ChatMessage;
  };
  const runs = [{ from: 0, to: known.roles.length, known }];
  const all = lazyMessages(runs, parse, messages.slice(known.roles.length) as ChatMessage[]);
  return { parsed, all };
}

const noIds = { forcePro: false, scoutFirst: false, taskFields: {} };
const tools = [{ type: "function", function: { name: "read_file" } }];

test("the system prompt of a known conversation with tools is read once", () => {
  const begun = [{ role: "system", content: "Be careful. ".repeat(2_000) }, user("Rename foo."), assistant("Done.")];
  const known = { roles: begun.map(({ role }) => role as ChatMessage["role"]) };
  const keys = new Set<string>();
  for (const isRead of [true, false, false]) {
    const { parsed, all } = knownConversation(known, [...begun, user("ok")]);
    const conversation = conversationOf({ messages: all, tools });
    expect(housekeepingOf(conversation, 100)).toBeUndefined();
    expect(repoContextIn(conversation, all)).toBe(true);
    keys.add(conversationKeyOf(noIds, all));
    expect(parsed.includes(0)).toBe(isRead);
    expect(conversation.systemLength).toBe(24_000);
  }
  expect([...keys]).toEqual([keyOf(...begun, user("ok"))]);
});

test("a known run that ends before the first ask does not name the conversation", () => {
  const begun = [{ role: "system", content: "Be careful." }, assistant("Hello.")];
  const known = { roles: begun.map(({ role }) => role as ChatMessage["role"]) };
  const keys = ["Rename foo.", "Write docs."].map((ask) =>
    conversationKeyOf(noIds, knownConversation(known, [...begun, user(ask)]).all),
  );
  expect(keys).toEqual([keyOf(...begun, user("Rename foo.")), keyOf(...begun, user("Write docs."))]);
});
