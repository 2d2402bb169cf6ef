import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, step } from "#pipeline/assess/fixtures.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";

const ask = { role: "user", content: "Make the retry test pass." };
const assistant = (content: string): JsonObject => ({ role: "assistant", content });
const user = (content: string): JsonObject => ({ role: "user", content });
const runtime = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).runtime;
const evidence = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).evidence;
const bash = (result: string, command = "npm test") => step("bash", { command }, result);
const edit = (path = "src/a.ts") => step("edit_file", { path, old: "x", new: "y" }, "Edit applied.");
const failing = (line = "TypeError: x is undefined") => bash(`at /srv/app/a.ts:10\n${line}\nexit code: 1`);
const threeTimes = (check: () => JsonObject[], change: JsonObject[]) =>
  [check(), change, check(), change, check()].flat();

describe("calls without progress", () => {
  test("a long run that goes well has none", () => {
    const turns = Array.from({ length: 10 }, (_, n) => [
      ...step("read_file", { path: `src/${n}.ts` }, `export const n = ${n};`),
      ...edit(`src/${n}.ts`),
      ...bash("12 passed"),
      ...bash("exit code: 1", `grep -rn name${n} src`),
    ]).flat();
    expect(runtime(...turns).tool_depth).toBe(0);
  });

  test("reading something new does not count, reading the same again does", () => {
    const read = (path: string) => step("read_file", { path }, `text of ${path}`);
    const fresh = Array.from({ length: 30 }, (_, n) => read(`a${n}.ts`)).flat();
    expect(runtime(...fresh).tool_depth).toBe(0);
    expect(runtime(...fresh, ...read("a1.ts"), ...read("a1.ts")).tool_depth).toBe(2);
  });

  test("failed calls and calls that cannot be parsed add up until a check passes, and stay counted for the run", () => {
    const fails = Array.from({ length: 8 }, (_, n) => failing(`RangeError: ${"y".repeat(n)}`)).flat();
    const malformed = step("bash", '{"command": ', "That is no JSON.");
    expect(runtime(...fails, ...malformed)).toMatchObject({ tool_depth: 9, same_error_count: 0 });
    expect(runtime(...fails, ...bash("5 passed"), ...failing()).tool_depth).toBe(8);
  });

  test("a check that passes again is progress only where something was changed since", () => {
    const passed = bash("5 passed");
    expect(runtime(...passed, ...edit(), ...passed, ...edit("b.ts"), ...passed).tool_depth).toBe(0);
    expect(runtime(...passed, ...passed, ...passed).tool_depth).toBe(2);
  });

  test("a new ask resets the counts", () => {
    const turns = [...threeTimes(failing, edit()), assistant("y".repeat(30_000))];
    const found = assessed({ messages: [ask, ...turns, user("Now write docs.")] });
    expect(found.runtime).toMatchObject({ tool_depth: 0, same_error_count: 0 });
    expect(found.prose).toBe(0);
  });
});

describe("failed repairs", () => {
  test("the same error after each of two changes is two failed repairs", () => {
    expect(runtime(...failing()).same_error_count).toBe(0);
    expect(runtime(...failing(), ...edit(), ...failing()).same_error_count).toBe(1);
    expect(runtime(...threeTimes(failing, edit())).same_error_count).toBe(2);
  });

  test("an error is recognized though lines, folders, addresses and times differ", () => {
    const first = bash("at 10:01:02 /srv/a.ts:10\nTypeError: no x at 0xdeadbeef01 (12 ms)\nExit code 1");
    const again = bash("at 10:07:55 /tmp/b.ts:99\nTypeError: no x at 0xcafebabe02 (340 ms)\nExit code 1");
    const { same_error_count, error_signature } = runtime(...first, ...edit(), ...again);
    expect(same_error_count).toBe(1);
    expect(error_signature).toMatch(/^[0-9a-f]{16}$/);
  });

  test("another failure without a change is not a repair, unless call and result are the same", () => {
    const once = (n: number) => bash(`attempt ${n}\nTypeError: a is not a function\nexit code: 1`);
    expect(runtime(...once(1), ...once(2), ...once(3)).same_error_count).toBe(0);
    expect(runtime(...failing(), ...failing(), ...failing()).same_error_count).toBe(2);
  });

  test("different errors, and the same error in different checks, are counted separately", () => {
    expect(runtime(...failing("TypeError: a"), ...edit(), ...failing("SyntaxError: b")).same_error_count).toBe(0);
    const line = "AssertionError\nexit code: 1";
    expect(runtime(...bash(line, "pytest a.py"), ...edit(), ...bash(line, "pytest b.py")).same_error_count).toBe(0);
  });

  test.each<[string, string, (name: string) => string]>([
    ["pytest", "pytest", (name) => `FAILED t/${name}.py::test_x - AssertionError\n1 failed, 3 passed in 0.3s`],
    ["Go", "go test ./...", (name) => `--- FAIL: Test${name} (0.01s)\nFAIL\nFAIL\tshop\t0.003s\nFAIL`],
    ["cargo", "cargo test", (name) => `test ${name}::adds ... FAILED\ntest result: FAILED. 3 passed; 1 failed`],
    ["tsc", "npx tsc", (name) => `src/${name}.ts(3,5): error TS2345: Argument of type 'a' is not assignable.`],
  ])("a check that fails at another place each time is no failed repair: %s", (_, command, output) => {
    const places = ["cart", "order", "price", "stock"];
    const others = places.flatMap((place) => [...bash(output(place), command), ...edit()]);
    expect(runtime(...others).same_error_count).toBe(0);
    const same = places.flatMap(() => [...bash(output("cart"), command), ...edit()]);
    expect(runtime(...same).same_error_count).toBe(3);
  });

  test("a repair after which fewer fail has helped", () => {
    const failed = (count: number) => bash(`AssertionError: no\n${count} failed, 9 passed in 0.3s`, "pytest");
    const fewer = [4, 3, 2, 1].flatMap((count) => [...failed(count), ...edit()]);
    expect(runtime(...fewer).same_error_count).toBe(0);
    const asMany = [2, 2, 2].flatMap((count) => [...failed(count), ...edit()]);
    expect(runtime(...asMany)).toMatchObject({ same_error_count: 2, tests_failed: 2 });
  });

  test("a check that passes resolves its error, which is still remembered if it returned too often", () => {
    expect(runtime(...failing(), ...edit(), ...bash("3 passed")).error_signature).toBeNull();
    expect(runtime(...threeTimes(failing, edit()), ...bash("3 passed"))).toMatchObject({
      same_error_count: 2,
      error_signature: null,
      tests_failed: 0,
    });
  });

  test("the evidence shows type, hash and counts, never the error's text", () => {
    const wrong = () => failing("ModuleNotFoundError: No module named 'secret_name'");
    const [first = ""] = evidence(...threeTimes(wrong, edit()));
    expect(first).toMatch(/^same_error=ModuleNotFoundError#[0-9a-f]{8} ×3 after 2 edits$/);
    expect(JSON.stringify(evidence(...threeTimes(wrong, edit())))).not.toContain("secret_name");
  });

  test.each<[string, () => JsonObject[], JsonObject[]]>([
    [
      "edited by a shell",
      () => bash("error[E0382]: borrow of moved value: `o`", "cargo build"),
      bash("", "sed -i s/a/b/ a.rs"),
    ],
    ["edited into a file", () => bash("main.c:3:1: Fehler: unbekannt", "make"), bash("", "cat > a.c <<'E'\nx\nE")],
    ["an MCP tool", () => step("mcp__ci__start", { job: 1 }, '{"content":"E1","isError":true}'), edit()],
    ["an edit that is refused", () => step("edit_file", { path: "a" }, "Error: old_string not found"), []],
    ["git", () => bash("CONFLICT (content): Merge conflict in a.py", "git merge main"), edit()],
    [
      "Cline's XML",
      () => [
        assistant("<execute_command>\n<command>npm test</command>\n</execute_command>"),
        user("[execute_command for 'npm test'] Result:\nTypeError: x\nexit code: 1"),
      ],
      edit(),
    ],
    [
      "a fenced command",
      () => [
        assistant("Run it:\n\n```bash\nnpm test\n```"),
        user("<returncode>1</returncode>\n<output>\nE\n</output>"),
      ],
      [assistant("```bash\nsed -i s/a/b/ a.ts\n```"), user("<returncode>0</returncode>")],
    ],
    [
      "an observation",
      () => [
        assistant("Thought: run it\nAction: bash\nAction Input: npm test"),
        user("Observation: TypeError: x\nexit code: 1"),
      ],
      edit(),
    ],
    [
      "Aider, whose edits stand in the text",
      () => [
        assistant("```\nnpm test\n```"),
        user("I ran this command:\n\nnpm test\n\nTypeError: cart is empty\n1 failed"),
      ],
      [assistant("cart.ts\n```ts\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```")],
    ],
    [
      "gptme, in the system's role",
      () => [
        assistant("```shell\npytest -q\n```"),
        { role: "system", content: "Ran command: `pytest -q`\n\nTypeError: x" },
      ],
      [assistant("```save calc.py\nx\n```"), { role: "system", content: "Saved to calc.py" }],
    ],
    [
      "functions of older clients",
      () => [
        { role: "assistant", content: null, function_call: { name: "shell", arguments: '{"command":"make"}' } },
        { role: "function", name: "shell", content: "export.c:9:5: error: undeclared\nmake: *** [export.o] Error 1" },
      ],
      edit(),
    ],
  ])("are counted wherever calls, results and edits stand: %s", (_, check, change) => {
    expect(runtime(...check()).same_error_count).toBe(0);
    expect(runtime(...threeTimes(check, change)).same_error_count).toBe(2);
    expect(assessed({ messages: [ask, ...threeTimes(check, change)] }).task.instruction).toBe(ask.content);
  });
});

describe("what a result was", () => {
  const wrong = (result: string, name = "bash", args: JsonObject = { command: "npm test" }) =>
    runtime(...step(name, args, result)).error_signature !== null;

  test("an exit status takes precedence over any text, in any of the usual spellings", () => {
    const spellings = (
      "Exit Code: 0|<returncode>0</returncode>|exit=0|Process exited with code 0|[exit code: 0]|exitCode: 0|Exit status: 0|" +
      'exit 0|$? = 0|ERRORLEVEL=0|rc = 0|return_code 0|Exit Value: 0|"exit_code":0|✓ exit code 0'
    ).split("|");
    for (const status of spellings) {
      expect([status, wrong(`${status}\nTypeError: boom\nFAILED tests/a.py\n1 failed`)]).toEqual([status, false]);
    }
    for (const status of ["Exit Code: 1", '{"returncode": 127}', "exited with status 1", "(exit 1)", "returncode=-9"]) {
      expect([status, wrong(`all is well\n${status}`)]).toEqual([status, true]);
    }
  });

  test.each(jsonLines<[string, boolean, string?]>(import.meta.dir, "fixtures/command-outputs.jsonl"))(
    "without a status the command's own words decide: %p",
    (result, failed) => {
      expect(wrong(result)).toBe(failed);
    },
  );

  test.each(["cat a.py", "grep -rn 'raise ValueError' src", "sed -n '1,20p' a.py", "git log -p", "cd x && cat b"])(
    "output of %s was only read, and is no failure",
    (command) => {
      expect(wrong("raise ValueError('x')\nValueError: boom\nTraceback", "bash", { command })).toBe(false);
      expect(wrong("exit code: 1", "bash", { command })).toBe(false);
    },
  );

  test.each(["read_file", "get_issue", "think", "todo_write"])("what %s gives back is no failure", (name) => {
    expect(wrong("class ParseError extends Error {}\nTypeError: boom", name, { path: "a.ts" })).toBe(false);
  });
});

describe("the model's own prose", () => {
  const prose = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).prose;

  test("is text outside fences and calls, and reasoning that the caller sends back", () => {
    expect(prose(assistant("I look.\n\n```bash\nls -l\n```\nThen more."))).toBe("I look.Then more.".length);
    expect(prose(assistant("I look.\n<read_file>\n<path>a.ts</path>\n</read_file>"))).toBe("I look.".length);
    expect(prose({ role: "assistant", content: "x", reasoning: "because" })).toBe(8);
    expect(prose({ role: "assistant", content: null, reasoning_content: "because" })).toBe(7);
    expect(prose({ role: "assistant", content: [{ type: "text", text: "a" }], tool_calls: [] })).toBe(1);
    expect(prose(...bash("long output"))).toBe(0);
  });

  test("counts over the eight calls that had most, and stays for the rest of the run", () => {
    const said = (length: number) => [...bash("ok", "make"), assistant("z".repeat(length))];
    const loud = Array.from({ length: 6 }, () => said(4_000)).flat();
    const calm = Array.from({ length: 20 }, (_, n) => said(n % 3)).flat();
    expect(prose(...loud)).toBe(16_000);
    expect(prose(...loud, ...calm)).toBe(prose(...loud, ...calm, ...calm));
  });
});
