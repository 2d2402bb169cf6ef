import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, step } from "#pipeline/assess/fixtures.ts";
import { observationOf } from "./observation.ts";

const used = (name: string, args: JsonObject, text: string) =>
  observationOf({ call: { name, args: JSON.stringify(args) }, text }).observation;
const sh = { command: "npm test" };

describe("results of tools as agents write them: failed", () => {
  test.each<[string, string, JsonObject, string]>([
    [
      "Roo Code, a command",
      "execute_command",
      sh,
      "Command executed in terminal within working directory '/srv/shop'. Command execution was not successful, look at the cause.\nExit code: 1\nOutput:\nboom",
    ],
    ["Roo Code, a signal", "execute_command", sh, "Process terminated by signal SIGKILL\nOutput:\nhalf a line"],
    [
      "Roo Code, a tool",
      "apply_diff",
      { path: "a.ts" },
      '{"status":"error","message":"The tool execution failed","error":"No match for the search block"}',
    ],
    [
      "OpenHands, a command",
      "execute_bash",
      sh,
      "cart is empty\n[The command completed with exit code 1.]\n[Current working directory: /workspace]\n[Command finished with exit code 1]",
    ],
    [
      "OpenHands, an edit",
      "str_replace_editor",
      { path: "a.py" },
      "ERROR:\nNo replacement was performed, old text did not appear verbatim in a.py.",
    ],
    [
      "Codex, a shell",
      "shell",
      { command: ["bash", "-lc", "npm test"] },
      '{"output":"boom\\n","metadata":{"exit_code":1,"duration_seconds":0.4}}',
    ],
    [
      "Codex, a terminal",
      "exec_command",
      { cmd: "npm test" },
      "Chunk ID: 3f2a\nWall time: 0.4 seconds\nProcess exited with code 1\nOriginal token count: 4\nOutput:\nboom",
    ],
    [
      "Codex, a patch",
      "apply_patch",
      { input: "*** Begin Patch" },
      "apply_patch verification failed: Failed to find expected lines in a.ts",
    ],
    ["Crush, a command", "bash", sh, "\nboom\nExit code 1\n\n<cwd>/srv/shop</cwd>"],
    [
      "Claude Code, an edit of a file that was not read",
      "Edit",
      { file_path: "a.ts" },
      "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
    ],
    [
      "Roo Code, a patch",
      "apply_diff",
      { path: "a.ts" },
      "<error_details>\nNo sufficiently similar match found at line: 3 (82% similar, needs 100%)\n</error_details>",
    ],
    [
      "Goose, an edit",
      "developer__text_editor",
      { command: "str_replace", path: "a.ts" },
      "'old_str' must appear exactly once in the file, but it appears 3 times",
    ],
    [
      "SWE-agent, an edit",
      "edit",
      { start: 1 },
      "Your proposed edit has introduced new syntax error(s). Please read this error message carefully.\n\nERRORS:\n- E999 IndentationError",
    ],
    ["Crush, several edits", "multiedit", { file_path: "a.ts" }, "no changes made - all 2 edit(s) failed"],
    [
      "Zed, a command",
      "terminal",
      { command: "npm test", cd: "shop" },
      'Command "npm test" failed with exit code 1.\n\n```\nboom\n```',
    ],
    [
      "Zed, no more time",
      "terminal",
      { command: "npm test" },
      'Command "npm test" timed out. Output captured before the timeout:\n\n```\n1 of 9\n```',
    ],
    [
      "Zed, an edit",
      "edit_file",
      { path: "a.ts" },
      "Some edits were produced but none of them could be applied. Read the file again.",
    ],
    ["Gemini CLI, a command", "run_shell_command", sh, "Output: boom\nExit Code: 1\nProcess Group PGID: 41"],
    ["Gemini CLI, a signal", "run_shell_command", sh, "Output: 1 of 9\nSignal: 9\nProcess Group PGID: 41"],
    ["Copilot, a command", "run_in_terminal", sh, "boom\n\nCommand exited with code 1"],
    [
      "Cursor, a command",
      "run_terminal_cmd",
      sh,
      "Exit code: 1\n\nCommand output:\n\n```\nboom\n```\n\nCommand completed.",
    ],
    ["Amp, a command", "Bash", { cmd: "npm test" }, '{"output":"boom","exitCode":1}'],
    ["a shell that gives three fields", "run_command", sh, '{"stdout":"","stderr":"boom","code":1}'],
    [
      "a tool that says it had no success",
      "deploy_preview",
      { job: 1 },
      '{"success": false, "message": "no runner is free"}',
    ],
    [
      "LangGraph, an exception",
      "price_order",
      { id: 1 },
      "Error: ValueError('no such order')\n Please fix your mistakes.",
    ],
    ["CrewAI, an exception", "price_order", { id: 1 }, "Error executing tool: no such order"],
    ["MCP, a protocol error", "mcp__shop__price", { id: 1 }, "MCP error -32603: no such order"],
    [
      "MCP filesystem, an edit",
      "edit_file",
      { path: "a.ts" },
      "Error: Could not find exact match for edit:\nlet a = 1",
    ],
    [
      "MCP Playwright, a click",
      "browser_click",
      { ref: "e3" },
      "### Error\nTimeoutError: locator.click: Timeout 5000ms exceeded.",
    ],
    [
      "MCP GitHub, a push",
      "push_files",
      { branch: "a" },
      "failed to update reference: 422 Update is not a fast forward",
    ],
  ])("%s", (_, name, args, text) => {
    expect(used(name, args, text).kind).toBe("failed");
  });
});

describe("results of tools as agents write them: no failure", () => {
  test.each<[string, string, JsonObject, string]>([
    [
      "Roo Code, a command",
      "execute_command",
      sh,
      "Command executed in terminal within working directory '/srv/shop'. Exit code: 0\nOutput:\nError: none of them",
    ],
    [
      "Roo Code, a write",
      "write_to_file",
      { path: "a.ts" },
      '{"path":"a.ts","operation":"modified","notice":"You do not need to read the file again; fix errors if there are any"}',
    ],
    [
      "OpenHands, an edit",
      "str_replace_editor",
      { path: "a.py" },
      "The file a.py has been edited. Here's the result of running `cat -n` on a snippet:\n  3\traise ValueError('error: bad')",
    ],
    [
      "Codex, a shell",
      "shell",
      { command: ["bash", "-lc", "npm test"] },
      '{"output":"error: ignored\\n","metadata":{"exit_code":0,"duration_seconds":0.4}}',
    ],
    [
      "Codex, a patch",
      "apply_patch",
      { input: "*** Begin Patch" },
      "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM errors.ts",
    ],
    [
      "Zed, an edit",
      "edit_file",
      { path: "a.ts" },
      "Edited a.ts:\n\n```diff\n-  throw new Error('failed')\n+  return 0\n```",
    ],
    ["Gemini CLI, nothing printed", "run_shell_command", sh, "Output: (empty)\nProcess Group PGID: 41"],
    ["Qwen Code, no signal", "run_shell_command", sh, "Output: ok\nError: (none)\nExit Code: 0\nSignal: (none)"],
    [
      "MCP Playwright, a page with an error message",
      "browser_snapshot",
      {},
      '### Page state\n- Page URL: http://127.0.0.1/cart\n- heading "Error: payment failed"\n### New console messages\n- [ERROR] Failed to load resource: 404',
    ],
    [
      "MCP Playwright, a page that logs errors",
      "browser_navigate",
      { url: "http://127.0.0.1" },
      "### Ran Playwright code\nawait page.goto('http://127.0.0.1');\n### Page state\n- Console: 2 errors, 0 warnings\n- [ERROR] TypeError: x is undefined",
    ],
    [
      "MCP GitHub, an issue",
      "get_issue",
      { number: 3 },
      '{"title":"TypeError: x is undefined","state":"open","body":"FAILED tests/a.py"}',
    ],
    ["MCP postgres, rows", "query", { sql: "select * from errors" }, '[{"id":1,"message":"Error: boom"}]'],
    [
      "MCP git, a diff",
      "git_diff",
      { repo_path: "." },
      "diff --git a/a.py b/a.py\n-raise ValueError('x')\n+raise TypeError('x')",
    ],
    ["a shell that gives three fields", "run_command", sh, '{"stdout":"5 passed","stderr":"error: ignored","code":0}'],
    ["a tool with success", "deploy_preview", { job: 1 }, '{"success": true, "message": "error pages are up"}'],
  ])("%s", (_, name, args, text) => {
    expect(used(name, args, text).kind).not.toBe("failed");
  });
});

describe("edits of agents as they make them", () => {
  const path = "/srv/cart.ts";
  test.each<[string, string, JsonObject, string]>([
    [
      "Gemini CLI",
      "replace",
      { file_path: path, old_string: "a" },
      "Successfully modified file: /srv/cart.ts (1 replacements).",
    ],
    ["OpenHands", "str_replace_editor", { command: "str_replace", path }, "The file /srv/cart.ts has been edited."],
    ["SWE-agent", "insert", { path, line: 3 }, "Text inserted"],
    ["SWE-agent, taken back", "str_replace_editor", { command: "undo_edit", path }, "Last edit undone successfully."],
  ])("%s: changes a file", (_, name, args, text) => {
    expect(used(name, args, text)).toMatchObject({ kind: "succeeded", changes: true, runs: false });
  });

  test.each(["str_replace_editor", "str_replace_based_edit_tool", "developer__text_editor"])(
    "%s: a file that is only looked at is not touched, however many of them",
    (name) => {
      const looked = Array.from({ length: 30 }, (_, n) =>
        step(name, { command: "view", path: `/srv/${n}.ts` }, "raise"),
      ).flat();
      const { runtime } = assessed({ messages: [user(want), ...looked] });
      expect(runtime).toMatchObject({ files_touched: 0, tool_depth: 0 });
      const touched = step(name, { command: "create", path: "/srv/1.ts", file_text: '{"command":"view"}' }, "ok");
      expect(assessed({ messages: [user(want), ...touched] }).runtime.files_touched).toBe(1);
    },
  );

  const red = user("I ran this command:\n\nnpm test\n\nAnd got this output:\n\nTypeError: cart is empty\n1 failed");
  test.each([
    ["blocks", "cart.ts\n```ts\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```"],
    ["a patch", "```diff\n--- cart.ts\n+++ cart.ts\n@@ ... @@\n-a\n+b\n```"],
    ["a whole file", "Here it is.\n\ncart.ts\n```\nb\n```"],
  ])("Aider writes %s, and a check that fails again behind it is a failed repair", (_, text) => {
    const { task, runtime } = assessed({
      messages: [user(want), assistant(text), red, assistant(text), red, assistant(text), red],
    });
    expect({ ask: task.instruction, repairs: runtime.same_error_count }).toEqual({ ask: want, repairs: 2 });
    const explained = assistant("It is the cart: `total` sums prices.");
    const asked = [user(want), assistant(text), red, explained, user(`${red["content"]}.`), explained, red];
    expect(assessed({ messages: asked }).runtime.same_error_count).toBe(0);
  });
});

const user = (content: string): JsonObject => ({ role: "user", content });
const assistant = (content: string): JsonObject => ({ role: "assistant", content });

/** A run whose calls stand in the assistant's text: the ask, a failing check, and two repairs after which it fails again. */
interface Written {
  readonly ask: string;
  readonly check: string;
  readonly edit: string;
  readonly failed: string;
  readonly passed: string;
  readonly edited: string;
}

const want = "Make the cart tests pass.";
const python = (code: string) => `Thought: I run it.\n<code>\n${code}\n</code>`;
const fenced = (code: string) => `I run it.\n\`\`\`python\n${code}\n\`\`\``;
const editCode = "open('cart.py', 'w').write('x = 1')";

describe("runs of agents that write their calls and results as text", () => {
  const agents: readonly (readonly [string, Written])[] = [
    [
      "smolagents",
      {
        ask: `New task:\n${want}`,
        check: python("print(run_tests('cart'))"),
        edit: python(editCode),
        failed:
          "Call id: call_3\nError:\nCode execution failed at line 'run_tests' due to: InterpreterError: cart is empty\nNow let's retry: take care not to repeat errors.",
        passed: "Observation:\nExecution logs:\n5 passed\nLast output from code snippet:\nNone",
        edited: "Observation:\nExecution logs:\nLast output from code snippet:\n7",
      },
    ],
    [
      "AutoGen",
      {
        ask: want,
        check: fenced("run_tests('cart')"),
        edit: fenced(editCode),
        failed:
          "The script ran, then exited with an error (POSIX exit code: 1)\nIts output was:\nTraceback (most recent call last)\nValueError: cart is empty",
        passed: "The script ran but produced no output to console. The POSIX exit code was: 0.",
        edited: "The script ran but produced no output to console. The POSIX exit code was: 0.",
      },
    ],
    [
      "AutoGen 0.2",
      {
        ask: want,
        check: fenced("run_tests('cart')"),
        edit: fenced(editCode),
        failed: "exitcode: 1 (execution failed)\nCode output: ValueError: cart is empty",
        passed: "exitcode: 0 (execution succeeded)\nCode output: 5 passed",
        edited: "exitcode: 0 (execution succeeded)\nCode output: ",
      },
    ],
    [
      "OpenHands without tools",
      {
        ask: `<uploaded_files>\n/workspace\n</uploaded_files>\n${want}`,
        check: "<function=execute_bash>\n<parameter=command>pytest cart</parameter>\n</function>",
        edit: "<function=execute_bash>\n<parameter=command>sed -i s/a/b/ cart.py</parameter>\n</function>",
        failed:
          "EXECUTION RESULT of [execute_bash]:\nValueError: cart is empty\n[The command completed with exit code 1.]",
        passed: "EXECUTION RESULT of [execute_bash]:\n5 passed in 0.2s\n[The command completed with exit code 0.]",
        edited: "EXECUTION RESULT of [execute_bash]:\n[The command completed with exit code 0.]",
      },
    ],
  ];

  const turns = ({ check, edit, failed, edited }: Written, repairs: number) => {
    const messages = [assistant(check), user(failed)];
    for (let n = 0; n < repairs; n++) {
      messages.push(assistant(edit), user(edited), assistant(check), user(failed));
    }
    return messages;
  };

  test.each(agents)("%s: the ask stays the user's, and failed repairs are counted", (_, written) => {
    const { task, runtime, continuation } = assessed({ messages: [user(written.ask), ...turns(written, 2)] });
    expect(task.instruction).toBe(want);
    expect(continuation).toBe(true);
    expect(runtime.same_error_count).toBe(2);
  });

  test.each(agents)("%s: a healthy run shows no trouble", (_, { ask, check, edit, passed, edited }) => {
    const messages = [user(ask)];
    for (let n = 0; n < 12; n++) {
      messages.push(assistant(edit.replace("1", String(n))), user(edited), assistant(check), user(passed));
    }
    const { task, runtime } = assessed({ messages });
    expect(task.instruction).toBe(want);
    expect(runtime).toMatchObject({ same_error_count: 0, tool_depth: 0, error_signature: null });
  });

  test("CrewAI: what a tool gave back stands behind the call, in the assistant's message", () => {
    const ask = user(
      `Current Task: ${want}\n\nThis is the expected criteria for your final answer: green tests\nyou MUST return the whole answer.\n\nBegin! This is VERY important to you, use the tools available!\n\nThought:`,
    );
    const act = (action: string, input: string, observed: string) =>
      assistant(`Thought: next.\nAction: ${action}\nAction Input: ${input}\nObservation: ${observed}`);
    const check = act("run_tests", '{"name": "cart"}', "Error executing tool: ValueError: cart is empty");
    const edit = act("write_file", '{"path": "cart.py"}', "done");
    const { task, runtime, continuation } = assessed({ messages: [ask, check, edit, check, edit, check] });
    expect(task.instruction).toBe(want);
    expect(continuation).toBe(true);
    expect(runtime.same_error_count).toBe(2);
    const fine = act("run_tests", '{"name": "cart"}', "5 passed");
    expect(assessed({ messages: [ask, edit, fine, edit, fine] }).runtime).toMatchObject({
      tool_depth: 0,
      same_error_count: 0,
    });
  });

  test.each([
    "Now proceed and carry out this plan.",
    "Please continue working on the task on whatever approach you think is suitable.",
    "Error: frob is not a valid tool, try one of [run_tests, write_file].",
  ])("what the framework says to go on is no new ask: %s", (said) => {
    expect(assessed({ messages: [user(want), assistant("1. Look. 2. Mend."), user(said)] }).task.instruction).toBe(
      want,
    );
  });
});
