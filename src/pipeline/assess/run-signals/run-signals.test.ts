import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, step } from "#pipeline/assess/fixtures.ts";

const ask = { role: "user", content: "Make the retry test pass." };
const runtime = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).runtime;
const bash = (result: string) => step("bash", { command: "npm test" }, result);

describe("tool depth", () => {
  test("counts the tool calls since the newest ask, parallel ones too", () => {
    const old = Array.from({ length: 20 }, () => step("bash", {}, "ok")).flat();
    expect(assessed({ messages: [ask, ...old, ask] }).runtime.tool_depth).toBe(0);
    const parallel = {
      role: "assistant",
      tool_calls: [
        { id: "a", function: { name: "f" } },
        { id: "b", function: { name: "g" } },
      ],
    };
    expect(assessed({ messages: [ask, ...old, ask, parallel, ...bash("ok")] }).runtime.tool_depth).toBe(3);
  });

  test("counts calls that the assistant wrote out, with results handed back as user messages", () => {
    const turn = [
      { role: "assistant", content: "<execute_command>\n<command>npm test</command>\n</execute_command>" },
      {
        role: "user",
        content: "[execute_command for 'npm test'] Result:\nok\n<environment_details>x</environment_details>",
      },
    ];
    expect(runtime(...turn, ...turn).tool_depth).toBe(2);
    expect(assessed({ messages: [ask, ...turn] }).task.instruction).toBe(ask.content);
  });
});

describe("repeated errors", () => {
  test("the same error is recognized though lines, paths, addresses and times differ", () => {
    const { same_error_count, error_signature } = runtime(
      ...bash("at 10:01:02 /srv/app/a.ts:10\nTypeError: cannot read x of undefined at 0xdeadbeef01 (12 ms)"),
      ...bash("at 10:07:55 /tmp/b.ts:99\nTypeError: cannot read x of undefined at 0xcafebabe02 (340 ms)"),
    );
    expect(same_error_count).toBe(2);
    expect(error_signature).toMatch(/^[0-9a-f]{16}$/);
  });

  test("different errors count apart", () => {
    expect(
      runtime(...bash("TypeError: a is not a function"), ...bash("SyntaxError: unexpected end")).same_error_count,
    ).toBe(1);
  });

  test("what is read may speak of errors without being one", () => {
    const source = "class ParseError extends Error {}\nthrow new ParseError('x')\nTypeError: boom";
    const page = "Error handling in Go\nCannot you wrap errors? Failed builds are another story.";
    const messages = [
      ...step("read_file", { path: "a.ts" }, source),
      ...step("grep", {}, source),
      ...step("read_file", { path: "a.md" }, page),
      ...step("read_file", { path: "b.md" }, page),
    ];
    expect(runtime(...messages)).toMatchObject({ same_error_count: 0, error_signature: null });
  });

  test("a command that ended well shows none, whatever it printed", () => {
    expect(runtime(...bash("FAILED to load optional plugin\nexit code: 0")).error_signature).toBeNull();
  });

  test("a command that ended badly shows one, even if it printed nothing", () => {
    expect(runtime(...bash("exit code: 2"), ...bash("exit code: 2")).same_error_count).toBe(2);
  });

  test("an error that newer results have left behind is solved", () => {
    const solved = Array.from({ length: 4 }, () => bash("ok")).flat();
    const error = bash("TypeError: a is not a function");
    expect(runtime(...error, ...error, ...solved)).toMatchObject({ same_error_count: 0, error_signature: null });
  });

  test("results handed back as user messages are read like others", () => {
    const turn = (result: string) => [
      { role: "assistant", content: "<execute_command>\n<command>npm test</command>\n</execute_command>" },
      { role: "user", content: `[execute_command for 'npm test'] ${result}` },
    ];
    expect(
      runtime(...turn("Result:\nTypeError: x is undefined"), ...turn("Result:\nTypeError: x is undefined"))
        .same_error_count,
    ).toBe(2);
    expect(runtime(...turn("Error:\nno shell"), ...turn("Error:\nno shell")).same_error_count).toBe(2);
    expect(runtime(...turn("Result:\nall fine")).error_signature).toBeNull();
  });

  test("a tool's own refusal counts, of any tool", () => {
    const refused = step("edit_file", { path: "a.ts" }, "Error: old_string not found in a.ts");
    expect(runtime(...refused, ...refused).same_error_count).toBe(2);
  });
});

describe("files touched", () => {
  test("counts distinct files that edit-like calls name, however they name them", () => {
    const patch = "*** Begin Patch\n*** Update File: src/c.ts\n@@\n*** Add File: src/d.ts\n*** End Patch";
    expect(
      runtime(
        ...step("edit_file", { path: "src/a.ts", old: "x", new: "y" }, "ok"),
        ...step("edit_file", { path: "src/a.ts" }, "ok"),
        ...step("write_to_file", { content: "x".repeat(5_000), file_path: "src/b.ts" }, "ok"),
        ...step("apply_patch", { input: patch }, "ok"),
        ...step("read_file", { path: "src/e.ts" }, "ok"),
        ...step("todo_write", { path: "plan" }, "ok"),
      ).files_touched,
    ).toBe(4);
  });

  test("20 files reach the trigger of the hard rule", () => {
    const edits = Array.from({ length: 20 }, (_, n) => step("edit", { filePath: `src/${n}.ts` }, "ok")).flat();
    expect(runtime(...edits).files_touched).toBe(20);
  });
});

describe("failed tests", () => {
  test.each([
    ["pytest", "===== 3 failed, 12 passed in 2.1s =====", 3],
    ["Jest", "Tests:       2 failed, 10 passed, 12 total", 2],
    ["Mocha", "  10 passing (2s)\n  4 failing", 4],
    ["Bun", " 7 pass\n 1 fail\n", 1],
    ["cargo", "test result: FAILED. 8 passed; 5 failed; 0 ignored", 5],
    ["unittest", "FAILED (failures=6)", 6],
    ["Go", "--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n", 2],
    ["all passed", "===== 12 passed in 2.1s =====", 0],
    ["no tests", "compiled", 0],
  ])("%s", (_, output, failed) => {
    expect(runtime(...bash(output)).tests_failed).toBe(failed);
  });

  test("the newest summary counts", () => {
    expect(runtime(...bash("3 failed, 2 passed"), ...bash("5 passed")).tests_failed).toBe(0);
  });
});
