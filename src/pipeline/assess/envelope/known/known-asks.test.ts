import { expect, test } from "bun:test";
import type { ChatMessage } from "#domain/chat.ts";
import { type KnownRun, setKnownRuns } from "#domain/received/known-messages.ts";
import { conversationOf } from "#pipeline/assess/envelope/conversation.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const answer: ChatMessage = { role: "assistant", content: "Done." };

/** What users and harnesses send, in all the ways that decide where the ask stands. */
const texts = [
  "Rename parseDate to parseIsoDate.",
  "  Fix the login.\n",
  "continue",
  "yes, please do that",
  "",
  "[execute_command for 'npm test'] Result:\n12 passed",
  "Continue if you have next steps",
  "<task>\nAdd a test.\n</task>\n<environment_details>\nsrc/a.ts\n</environment_details>",
  "<system-reminder>Be careful.</system-reminder>Fix it.<system-reminder>Really.</system-reminder> Then test it.",
  "Please summarize this conversation so far, with all open tasks.",
  `Look at this:\n${"a long line of text\n".repeat(1_500)}What does it do?`,
  '{"role":"user","message":"What is the capital of France?"}',
  "Context: the file is long.\nQuestion: what does it do?\nAnswer:",
];

const knownRun = (messages: readonly ChatMessage[]): KnownRun => ({ roles: messages.map(({ role }) => role) });

test("a known message says the same when it is read again, also with further messages behind it", () => {
  for (const earlier of texts) {
    for (const newest of texts) {
      const messages = [user(earlier), answer, user(newest)];
      const known = knownRun(messages);
      const longer = knownRun([...messages, answer]);
      for (let turn = 0; turn < 3; turn++) {
        const short = [...messages];
        const long = [...messages, answer, answer];
        const begin = { from: 0, to: 3, known };
        setKnownRuns(short, [begin]);
        setKnownRuns(long, turn === 2 ? [{ from: 0, to: 4, known: longer, begin }] : [begin]);
        for (const conversation of [short, long]) {
          expect(conversationOf({ messages: conversation })).toEqual(conversationOf({ messages: [...conversation] }));
        }
      }
    }
  }
});

test("a request to compact counts only at the end of a long conversation, also where its message is known from a short one", () => {
  const compacting = user("Please summarize this conversation so far.");
  const known = knownRun([compacting]);
  for (const before of [[], [user("Fix it."), answer], []]) {
    const messages = [...before, compacting];
    setKnownRuns(messages, [{ from: before.length, to: messages.length, known }]);
    const { ask } = conversationOf({ messages });
    expect(ask).toBe(before.length === 0 ? String(compacting["content"]) : "Fix it.");
  }
});
