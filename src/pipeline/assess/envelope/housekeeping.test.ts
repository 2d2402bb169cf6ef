import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, newMemory, policy, step } from "#pipeline/assess/fixtures.ts";
import { hardRules } from "#pipeline/decide/rules/hard-rules.ts";

const system = (content: string): JsonObject => ({ role: "system", content });
const user = (content: string): JsonObject => ({ role: "user", content });
const guarded = "Rotate the signing keys of the login tokens in production and drop the old users table.";
const kindIn = (messages: JsonObject[], tools?: string[]) =>
  assessed({ messages, ...(tools && { tools }) }).housekeeping;

describe("housekeeping is recognised by what it requests", () => {
  test.each([
    ["title", [system("You are a title generator. You output ONLY a thread title. Nothing else."), user(guarded)]],
    ["title", [system("Generate concise conversation titles."), user(`Create a 2-4 word title.\n${guarded}`)]],
    [
      "title",
      [user(`Create a concise title (3-5 words) for the chat below. Reply with only the title.\n\n${guarded}`)],
    ],
    [
      "title",
      [system("Analyze this message and come up with a short name for the session. No quotes."), user(guarded)],
    ],
    [
      "commit_message",
      [
        system("You generate concise, one-line Git commit messages. Reply only with the message."),
        user(`# Diffs:\n${guarded}`),
      ],
    ],
    [
      "summary",
      [system("*Briefly* summarize this partial conversation about programming."), user(`# USER\n${guarded}`)],
    ],
    ["labels", [user(`Generate 1-3 broad tags for this chat. Answer in JSON: {"tags": []}\n${guarded}`)]],
    ["labels", [system("State the relevance of each passage to its question, only as a number."), user(guarded)]],
    ["command_check", [system("Determine the command prefix. ONLY return the prefix."), user("rm -rf /srv/tokens")]],
    [
      "command_check",
      [
        system("This policy says how to determine the prefix of a Bash command."),
        user("ONLY return the prefix.\n\nrm -rf /srv"),
      ],
    ],
    [
      "title",
      [
        system("Reply with a description in four words or less"),
        user(`${guarded}\n\nProvide a short name for this session`),
      ],
    ],
    [
      "title",
      [
        user(guarded),
        { role: "assistant", content: "Done." },
        user(
          "Generate a concise 3-7 word title for this conversation, omitting punctuation. Go straight to the title.",
        ),
      ],
    ],
    [
      "completion",
      [system("You are a HOLE FILLER. Answer with only the code."), user("def rotate():\n  {{FILL_HERE}}")],
    ],
    [
      "rewrite",
      [user(`Write an improved version of the following prompt. Reply with only the improved prompt:\n\n${guarded}`)],
    ],
    [
      "rewrite",
      [
        system("Your task is to enhance the user's prompts. Do not include any explanations."),
        user(`<original_prompt>${guarded}</original_prompt>`),
      ],
    ],
    [
      "labels",
      [
        system("You extract relevant pieces of information from conversations. Return the facts as JSON."),
        user(guarded),
      ],
    ],
    [
      "labels",
      [
        system(
          "Select the files that are relevant to the task from this list. Do not include any other text.\n- src/auth.ts",
        ),
        user(`Question: ${guarded}`),
      ],
    ],
  ] as [string, JsonObject[]][])("%s: %p", (kind, messages) => {
    expect(kindIn(messages)).toBe(kind as never); // a word of the union, from the table
  });

  test.each([
    "Improve the system prompt in prompts.ts, only the part on tools.",
    "Which files are relevant to the login page? Answer with a list only.",
    "Write a function that generates titles for blog posts.",
    "Summarize this article in three sentences.",
    "Give me a title for my essay on chess.",
    "What does a good commit message look like?",
    "How does fill in the middle work?",
    "Add a title generator to the chat page.",
    "The following is a conversation between me and my landlord. Summarize it, no quotes:\nHello",
    "Write down what the memory system does. Return structured output.",
  ])("an ask of the user is not housekeeping: %s", (ask) => {
    expect(kindIn([user(ask)])).toBeUndefined();
  });

  test.each([
    "You analyze memory dumps of crashed servers. Answer in JSON.",
    "You extract the cause of a failure and repair it. Only touch files of the memory system.",
  ])("nor is the work that a system prompt speaks of: %s", (prompt) => {
    expect(kindIn([system(prompt), user(guarded)])).toBeUndefined();
  });

  test("a call that offers tools is not housekeeping, nor is a turn of a longer conversation", () => {
    const messages = [system("Generate concise conversation titles."), user(guarded)];
    expect(kindIn(messages, ["bash"])).toBeUndefined();
    const ask = "Suggest a name for this session. Reply with only the name.";
    expect(kindIn([user("hello"), { role: "assistant", content: "hi" }, user(ask)])).toBeUndefined();
  });
});

describe("housekeeping never escalates", () => {
  const title = [
    system("You are a title generator. You output ONLY a thread title."),
    user(`[reasoning:high] ${guarded}`),
  ];

  test("whatever words are in the text that it names", () => {
    const { task, runtime, evidence } = assessed({ messages: title });
    expect(task).toMatchObject({ kind: "SUMMARIZE", risk_level: "LOW", blast_radius: "LOW", reasoning: "AUTO" });
    expect(hardRules.filter((rule) => rule.sees(task, runtime, policy.hard_rules) !== undefined)).toEqual([]);
    expect(evidence).toContain("housekeeping=title");
  });

  test("and it neither inherits nor adds to a task's trouble", () => {
    const memory = newMemory();
    const routing = { sessionId: "s", taskId: "t" };
    for (let n = 0; n < 3; n++) {
      assessed({ ask: `try ${n}`, routing: { ...routing, failureClass: "STRUCTURAL" } }, memory);
    }
    expect(assessed({ messages: title, routing }, memory).runtime).toMatchObject({
      attempts: 0,
      failure_class: "NONE",
    });
    expect(assessed({ ask: "again", routing }, memory).runtime.attempts).toBe(3);
  });

  test("fields that the caller states still apply", () => {
    const said = { taskFields: { kind: "AUTH", risk_level: "HIGH" }, reasoning: "high" } as const;
    expect(assessed({ messages: title, routing: said }).task).toMatchObject({
      kind: "AUTH",
      risk_level: "HIGH",
      reasoning: "HIGH",
    });
  });
});

test("compaction of a long session continues its task", () => {
  const ask = user("Design a distributed job queue with exactly-once delivery.");
  const run = [
    ask,
    ...step("bash", { command: "ls" }, "a"),
    ...step("bash", { command: "cat a" }, "b"),
    ...step("edit", {}, "ok"),
  ];
  const compact = user(
    "Your task is to create a detailed summary of the conversation so far, paying close attention to the asks.",
  );
  const { kind, reasoning_requirement } = assessed({ messages: run }).task;
  expect(assessed({ messages: [...run, compact] }).task).toMatchObject({
    instruction: ask["content"],
    kind,
    reasoning_requirement,
  });
  expect(assessed({ messages: [compact] }).task.instruction).toContain("detailed summary");
});
