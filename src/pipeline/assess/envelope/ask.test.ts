import { describe, expect, test } from "bun:test";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { askIn } from "./ask.ts";

const ask = "Rename foo to bar.";

describe("the ask without its envelope", () => {
  test.each([
    ["nothing around it", ask],
    [
      "Claude Code reminders",
      `<system-reminder>\nNever mention this.\n</system-reminder>\n${ask}\n<system-reminder>x</system-reminder>`,
    ],
    [
      "Cline task and environment",
      `<task>\n${ask}\n</task>\n\n<environment_details>\n# Files\na.ts\n</environment_details>`,
    ],
    ["Cline feedback", `The user has provided feedback:\n<feedback>\n${ask}\n</feedback>`],
    ["Cline file mention", `<task>${ask}</task>\n<file_content path="a.ts">\nlet foo\n</file_content>`],
    ["noise inside the task", `<task>${ask}<environment_details>x</environment_details></task>`],
    ["Cursor", `<additional_data>open files</additional_data>\n<user_query>\n${ask}\n</user_query>`],
    ["Copilot", `<context>date</context><editorContext>a.ts</editorContext><userRequest>${ask}</userRequest>`],
    ["opencode attachments", `${ask}\n<file path="a.ts">\n1: let foo\n</file>`],
    ["Aider's reminder", `${ask}\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block must use this format`],
  ])("%s", (_, text) => {
    expect(askIn(text)).toBe(ask);
  });

  test("other tags, and tags that never close, are the user's own", () => {
    expect(askIn("Center this <div> and <b>that</b>")).toBe("Center this <div> and <b>that</b>");
    expect(askIn(`${ask} <task>`)).toBe(`${ask} <task>`);
  });
});

describe("the newest ask", () => {
  test("is the newest user message that says something of the user's own", () => {
    const messages = [
      { role: "user", content: ask },
      { role: "user", content: "<environment_context>\ncwd: /srv\n</environment_context>" },
    ];
    expect(assessed({ messages }).task.instruction).toBe(ask);
  });

  test("is not what the harness says in the user's name", () => {
    const said = ["[ERROR] You did not use a tool in your previous response!", "[Request interrupted by user]"];
    for (const content of said) {
      expect(
        assessed({
          messages: [
            { role: "user", content: ask },
            { role: "user", content },
          ],
        }).task.instruction,
      ).toBe(ask);
    }
  });

  test("inherits kind and dimensions from the ask before it when it says only to go on", () => {
    const hard = "Design a distributed job queue with exactly-once delivery, failover and sharding.";
    const before = assessed({ ask: hard }).task;
    for (const content of ["continue", "Yes, go ahead.", "ok", "继续", "weiter"]) {
      const messages = [
        { role: "user", content: hard },
        { role: "assistant", content: "Shall I?" },
        { role: "user", content },
      ];
      const { kind, reasoning_requirement, dependency_depth } = before;
      expect(assessed({ messages }).task).toMatchObject({
        instruction: content,
        kind,
        reasoning_requirement,
        dependency_depth,
      });
    }
    const other = [
      { role: "user", content: hard },
      { role: "user", content: "Thanks. What is 2 + 2?" },
    ];
    expect(assessed({ messages: other }).task.reasoning_requirement).toBeLessThan(0.3);
  });

  test("is what there is when nothing in it is the user's own", () => {
    expect(
      assessed({ messages: [{ role: "user", content: "<context>only this</context>" }] }).task.instruction,
    ).toContain("only this");
  });

  test("is empty when no user has spoken", () => {
    expect(assessed({ messages: [{ role: "system", content: "be kind" }] }).task).toMatchObject({
      instruction: "",
      reasoning_requirement: 0.3,
      ambiguity: 0.3,
      dependency_depth: 0.3,
      verification_difficulty: 0.3,
    });
  });

  test("is bounded, keeping both ends", () => {
    const { instruction } = assessed({ ask: `FIRST ${"word ".repeat(100_000)} LAST` }).task;
    expect(instruction.length).toBeLessThan(17_000);
    expect(instruction).toStartWith("FIRST");
    expect(instruction).toEndWith("LAST");
  });
});
