import { describe, expect, test } from "bun:test";
import type { ChatMessage } from "#domain/chat.ts";
import {
  isSharedMessage,
  type KnownRun,
  knownRunsOf,
  lazyMessages,
  replaceMessages,
  rolesOf,
  setKnownRuns,
} from "./known-messages.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const known: KnownRun = { roles: ["system", "user"] };
const laterKnown: KnownRun = { roles: ["assistant", "tool"] };
const runs = [
  { from: 0, to: 2, known },
  { from: 2, to: 4, known: laterKnown },
];
const all: readonly ChatMessage[] = [
  { role: "system", content: "s" },
  user("a"),
  { role: "assistant", content: "b" },
  { role: "tool", content: "c" },
  user("d"),
];

/** The conversation, and which of its known messages have been parsed. */
function conversation() {
  const parsed: number[] = [];
  const parse = (index: number): ChatMessage => {
    parsed.push(index);
    return { ...(all[index] ?? user("")) };
  };
  return { messages: lazyMessages(runs, parse, all.slice(4)), parsed };
}

describe("messages of known runs", () => {
  test("behave like any other array", () => {
    const reads: ((messages: ChatMessage[]) => unknown)[] = [
      (messages) => JSON.stringify({ messages }),
      (messages) => messages.map(({ content }) => content),
      (messages) => [...messages.entries()],
      (messages) => Object.entries(messages),
      (messages) => Object.getOwnPropertyDescriptor(messages, "1"),
      (messages) => [...messages],
      (messages) => messages.slice(1, 3),
      (messages) => messages.at(-2),
      (messages) => messages.findLast(({ role }) => role === "user"),
      (messages) => Array.isArray(messages) && messages.length,
      (messages) => 3 in messages && !(5 in messages),
      (messages) => messages[7],
    ];
    for (const read of reads) expect(read(conversation().messages)).toEqual(read([...all]));
  });

  test("are parsed once, when they are accessed, and no others are", () => {
    const { messages, parsed } = conversation();
    expect(messages.length).toBe(5);
    expect(messages[4]).toBe(all[4] as ChatMessage);
    expect(rolesOf(messages)).toEqual(["system", "user", "assistant", "tool", "user"]);
    expect(parsed).toEqual([]);
    const second = messages[1];
    expect(messages[1]).toBe(second as ChatMessage);
    expect(parsed).toEqual([1]);
  });
});

describe("a copy with replaced messages", () => {
  test("shares the other messages without accessing them", () => {
    const { messages, parsed } = conversation();
    const copy = replaceMessages(messages, new Map([[3, user("other")]]));
    expect(copy.map((_, index) => isSharedMessage(copy, messages, index))).toEqual([true, true, true, false, true]);
    expect(copy[3]).toEqual(user("other"));
    expect(parsed).not.toContain(3);
    expect(copy[0]).toBe(messages[0] as ChatMessage);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(all.with(3, user("other"))));
  });

  test("knows only the runs in which nothing was replaced", () => {
    const { messages, parsed } = conversation();
    const copy = replaceMessages(messages, new Map([[1, user("other")]]));
    expect(knownRunsOf(copy)).toEqual([{ from: 2, to: 4, known: laterKnown }]);
    expect(rolesOf(copy)).toEqual(rolesOf(all));
    expect(parsed).toEqual([0]);
  });

  test("of messages that are already parsed behaves the same", () => {
    const plain = [...all];
    setKnownRuns(plain, runs);
    const copy = replaceMessages(plain, new Map([[0, user("other")]]));
    expect([...copy]).toEqual(all.with(0, user("other")));
    expect(isSharedMessage(copy, plain, 0)).toBe(false);
    expect(isSharedMessage(copy, plain, 1)).toBe(true);
    expect(isSharedMessage([...all], plain, 1)).toBe(true);
    expect(isSharedMessage(copy, [...all], 0)).toBe(false);
  });
});
