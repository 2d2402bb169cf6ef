import { describe, expect, test } from "bun:test";
import type { ChatMessage } from "#domain/chat.ts";
import {
  type KnownRun,
  knownBeginningOf,
  knownRunsOf,
  lazyMessages,
  messagesIn,
  replacedIn,
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
    expect(replacedIn(copy, messages)).toEqual([{ index: 3, json: JSON.stringify(user("other")) }]);
    expect(copy[3]).toEqual(user("other"));
    expect(parsed).not.toContain(3);
    expect(copy[0]).toBe(messages[0] as ChatMessage);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(all.with(3, user("other"))));
  });

  test("knows a run with replaced messages as another one, the same for the same messages", () => {
    const runsWith = (...replaced: [number, ChatMessage][]) => {
      const { messages, parsed } = conversation();
      const copy = replaceMessages(messages, new Map(replaced));
      expect(rolesOf(copy)).toEqual(rolesOf(all));
      expect(parsed).toEqual([]);
      return knownRunsOf(copy).map((run) => run.known);
    };
    const [firstRun, secondRun] = runsWith([1, user("other")]);
    expect(secondRun).toBe(laterKnown);
    expect(firstRun).not.toBe(known);
    expect(firstRun?.roles).toEqual(known.roles);
    expect(runsWith([1, user("other")])[0]).toBe(firstRun as KnownRun);
    const others = [
      runsWith([1, user("another")]),
      runsWith([0, user("other")]),
      runsWith([0, user("a")], [1, user("other")]),
    ];
    expect(new Set([known, firstRun, ...others.map(([run]) => run)]).size).toBe(5);
  });

  test("knows its beginning as another one if a message of that is replaced", () => {
    const identity = {};
    const plain = [...all];
    setKnownRuns(plain, runs, { to: 4, identity, roles: [...known.roles, ...laterKnown.roles] });
    const identityWith = (index: number, content: string) =>
      knownBeginningOf(replaceMessages(plain, new Map([[index, user(content)]])))?.identity;
    expect(identityWith(4, "other")).toBe(identity);
    const other = identityWith(3, "other");
    expect(other).not.toBe(identity);
    expect(identityWith(3, "other")).toBe(other as object);
    expect(identityWith(3, "another")).not.toBe(other as object);
    expect(identityWith(2, "other")).not.toBe(other as object);
  });

  test("of messages that are already parsed behaves the same", () => {
    const plain = [...all];
    setKnownRuns(plain, runs);
    const copy = replaceMessages(plain, new Map([[0, user("other")]]));
    expect([...copy]).toEqual(all.with(0, user("other")));
    expect(replacedIn(copy, plain).map(({ index }) => index)).toEqual([0]);
    expect(replacedIn([...all], plain).map(({ index }) => index)).toEqual([]);
    expect(replacedIn(copy, [...all])).toEqual(replacedIn(copy, plain));
  });
});

describe("some of the messages", () => {
  test("are those of the array, and known ones are parsed", () => {
    for (const [from, to] of [
      [0, 2],
      [3, 5],
      [4, 5],
      [4, 9],
    ] as const) {
      const { messages, parsed } = conversation();
      expect(messagesIn(messages, from, to)).toEqual(all.slice(from, to));
      expect(parsed).toEqual([0, 1, 2, 3].filter((index) => index >= from && index < to));
      expect(messagesIn([...all], from, to)).toEqual(all.slice(from, to));
    }
  });
});
