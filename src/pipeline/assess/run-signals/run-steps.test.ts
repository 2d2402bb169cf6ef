import { describe, expect, test } from "bun:test";
import type { ChatMessage } from "#domain/chat.ts";
import { type KnownRun, lazyMessages } from "#domain/received/known-messages.ts";
import { conversationOf } from "#pipeline/assess/envelope/conversation.ts";
import { step } from "#pipeline/assess/fixtures.ts";
import { runStepsFrom } from "./run-steps.ts";

const system: ChatMessage = { role: "system", content: "You are a careful programmer." };
const ask: ChatMessage = { role: "user", content: "Make the retry test pass." };

/** A run of tool calls, and runs in which calls and results are written as text. */
const called = (turn: number) =>
  step("bash", { command: `npm test ${turn}` }, "TypeError: x is undefined\nexit code: 1");
const writtenOut = (turn: number) => [
  { role: "assistant", content: `I run the tests.\n\`\`\`bash\nnpm test ${turn}\n\`\`\`` },
  { role: "user", content: "Observation: TypeError: x is undefined\nexit code: 1" },
];
const ofSystem = (turn: number) =>
  writtenOut(turn).map((message) => (message.role === "user" ? { ...message, role: "system" } : message));

describe("a conversation that was sent before", () => {
  test.each([
    ["tool calls", called],
    ["calls written out", writtenOut],
    ["results in the system's role", ofSystem],
  ])("is not parsed again, except its ask and new messages, and its system prompt when that is read: %s", (_, turn) => {
    const all = [system, ask, ...Array.from({ length: 41 }, (_, index) => turn(index)).flat()] as ChatMessage[]; // shaped by hand
    const runs = Array.from({ length: 8 }, (_, index) => {
      const [from, to] = [10 * index, 10 * index + 10];
      const known: KnownRun = { roles: all.slice(from, to).map(({ role }) => role) };
      return { from, to, known };
    });
    const read = () => {
      const parsed: number[] = [];
      const parse = (index: number) => {
        parsed.push(index);
        return all[index] as ChatMessage;
      };
      const conversation = conversationOf({ messages: lazyMessages(runs, parse, all.slice(80)) });
      return { conversation, parsed };
    };
    const first = read();
    expect(first.conversation).toEqual(conversationOf({ messages: all }));
    expect(first.conversation.results).toHaveLength(41);
    const again = read();
    expect(again.parsed).toEqual([1]);
    expect(again.conversation).toEqual(first.conversation);
    expect(again.parsed).toEqual([1, 0]);
  });
});

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
