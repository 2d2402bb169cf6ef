import { describe, expect, test } from "bun:test";
import { assessed, step } from "#pipeline/assess/fixtures.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { ownWordsIn } from "./own-words.ts";

const askIn = (text: string) => ownWordsIn(text).ask;

const ask = "Rename foo to bar.";

describe("the ask without its envelope", () => {
  test.each(jsonLines<[string, string]>(import.meta.dir, "fixtures/enveloped-asks.jsonl"))("%s", (_, text) => {
    expect(askIn(text)).toContain(ask);
    expect(askIn(text)).not.toMatch(/Never|login|logout|a\.ts|Tokens|IMPORTANT|x$/);
  });

  test("markup and code are attached, labels and headings are left out", () => {
    const own = [
      "Why does this not centre?\n<div>\n  <p>x</p>\n</div>",
      "Fix this:\n```python\nprint(1)\n```",
      "Question: what is a monad?",
      "## Requirements\nSort a list.\n## Notes\nKeep it stable.",
    ];
    const [markup, code, label, sections] = own.map(ownWordsIn);
    expect([markup?.ask, markup?.attached]).toEqual(["Why does this not centre?", "\n  <p>x</p>\n"]);
    expect([code?.ask, code?.attached]).toEqual(["Fix this:", "print(1)"]);
    expect(label?.ask).toBe("what is a monad?");
    expect(sections?.ask).toBe("Sort a list.\nKeep it stable.");
  });

  test("other tags, and tags that are never closed, belong to the user's text", () => {
    expect(askIn("Center this <div> and <b>that</b>")).toBe("Center this <div> and <b>that</b>");
    expect(askIn(`${ask} <task>`)).toBe(`${ask} <task>`);
  });
});

describe("the newest ask", () => {
  test("is the newest user message with text of the user", () => {
    const messages = [
      { role: "user", content: ask },
      { role: "user", content: "<environment_context>\ncwd: /srv\n</environment_context>" },
    ];
    expect(assessed({ messages }).task.instruction).toBe(ask);
  });

  test("is not a message of the harness in the user's role", () => {
    const said = ["[ERROR] You did not use a tool in your previous response!", "[Request interrupted by user]"];
    for (const content of said) {
      expect(
        assessed({
          messages: [
            { role: "user", content: ask },
            ...step("bash", {}, "ok"),
            { role: "assistant", content: "```\nls\n```" },
            { role: "user", content },
          ],
        }).task.instruction,
      ).toBe(ask);
    }
  });

  test("inherits kind and dimensions from the previous ask if it only says to continue", () => {
    const hard = "Design a distributed job queue with exactly-once delivery, failover and sharding.";
    const before = assessed({ ask: hard }).task;
    for (const content of jsonLines<string>(import.meta.dir, "fixtures/continuations.jsonl")) {
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
    for (const content of ["Thanks. What is 2 + 2?", "Make the plan shorter", "Is that all?", "ok, now rename foo"]) {
      const other = [
        { role: "user", content: hard },
        { role: "user", content },
      ];
      expect(assessed({ messages: other }).task.reasoning_requirement).toBeLessThan(0.3);
    }
  });

  test("is empty if there is no user message", () => {
    expect(assessed({ messages: [{ role: "system", content: "be kind" }] }).task).toMatchObject({
      instruction: "",
      reasoning_requirement: 0.3,
      ambiguity: 0.3,
      dependency_depth: 0.3,
      verification_difficulty: 0.3,
    });
  });
});
