import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, step } from "#pipeline/assess/fixtures.ts";

const ask = { role: "user", content: "Make the retry test pass." };
const runtime = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).runtime;
const evidence = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).evidence;
const bash = (result: string, command = "npm test") => step("bash", { command }, result);
const edit = (path = "src/a.ts") => step("edit_file", { path, old: "x", new: "y" }, "Edit applied.");
const failing = (line = "TypeError: x is undefined") => bash(`at /srv/app/a.ts:10\n${line}\nexit code: 1`);

describe("calls without progress", () => {
  test("a long run that goes well has none", () => {
    const turns = Array.from({ length: 10 }, (_, n) => [
      ...step("read_file", { path: `src/${n}.ts` }, `export const n = ${n};`),
      ...edit(`src/${n}.ts`),
      ...bash("12 passed"),
      ...step("bash", { command: `grep -rn name${n} src` }, "exit code: 1"),
    ]).flat();
    expect(runtime(...turns).tool_depth).toBe(0);
  });

  test("reading something new does not count, reading the same again does", () => {
    const read = (path: string) => step("read_file", { path }, `text of ${path}`);
    const fresh = Array.from({ length: 30 }, (_, n) => read(`a${n}.ts`)).flat();
    expect(runtime(...fresh).tool_depth).toBe(0);
    expect(runtime(...fresh, ...read("a1.ts"), ...read("a1.ts")).tool_depth).toBe(2);
  });

  test("failed commands add up to the hard rule's trigger, also with different errors", () => {
    const turns = Array.from({ length: 8 }, (_, n) => failing(`TypeError: number${"x".repeat(n)} is wrong`)).flat();
    expect(runtime(...turns).tool_depth).toBe(16);
    expect(runtime(...turns).same_error_count).toBe(0);
  });

  test("a check that passes subtracts some; a rule that has fired fires for the rest of the run", () => {
    const wrong = Array.from({ length: 8 }, (_, n) => failing(`RangeError: ${"y".repeat(n)}`)).flat();
    expect(runtime(...failing(), ...bash("5 passed"), ...failing("Error: another")).tool_depth).toBe(2);
    expect(runtime(...wrong, ...bash("5 passed"), ...bash("5 passed")).tool_depth).toBe(16);
  });

  test("reverted changes and calls that cannot be parsed count", () => {
    const revert = bash("exit code: 0", "git checkout -- src/a.ts");
    const malformed = step("bash", { command: "x" }, "Please always provide EXACTLY ONE action, found 2 actions.");
    expect(runtime(...edit(), ...revert).tool_depth).toBe(4);
    expect(runtime(...malformed, ...malformed).tool_depth).toBe(2);
  });

  test("a new ask resets the count", () => {
    const turns = Array.from({ length: 10 }, (_, n) => failing(`TypeError: ${n}`)).flat();
    expect(assessed({ messages: [ask, ...turns, { role: "user", content: "Now write docs." }] }).runtime).toMatchObject(
      {
        tool_depth: 0,
        same_error_count: 0,
      },
    );
  });
});

describe("failed repairs", () => {
  test("the same error after each of two changes is two failed repairs", () => {
    const turns = [...failing(), ...edit(), ...failing(), ...edit(), ...failing()];
    expect(runtime(...failing()).same_error_count).toBe(0);
    expect(runtime(...failing(), ...edit(), ...failing()).same_error_count).toBe(1);
    expect(runtime(...turns).same_error_count).toBe(2);
  });

  test("an error is recognized though lines, paths, addresses and times differ", () => {
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

  test("fewer errors of one kind, at fewer places, are progress", () => {
    const cargo = (places: number) => {
      const errors = Array.from(
        { length: places },
        (_, at) => `error[E0308]: mismatched types\n --> src/m${at}.rs:7:5`,
      );
      return bash(`${errors.join("\n")}\nerror: could not compile`, "cargo build");
    };
    expect(runtime(...cargo(20), ...edit(), ...cargo(15), ...edit(), ...cargo(1)).same_error_count).toBe(0);
    expect(runtime(...cargo(15), ...edit(), ...cargo(15), ...edit(), ...cargo(15)).same_error_count).toBe(2);
  });

  test("a check that passes resolves its error, which is still remembered if it returns much later", () => {
    const wrong = [...failing(), ...edit(), ...failing(), ...edit(), ...failing()];
    const reading = Array.from({ length: 40 }, (_, n) => step("read_file", { path: `${n}` }, `${n}`)).flat();
    expect(runtime(...failing(), ...edit(), ...bash("3 passed")).error_signature).toBeNull();
    expect(runtime(...wrong, ...reading)).toMatchObject({ same_error_count: 2 });
    expect(runtime(...wrong, ...bash("3 passed"), ...reading)).toMatchObject({
      same_error_count: 2,
      error_signature: null,
    });
  });

  test("the evidence shows type, hash and counts, never the error's text", () => {
    const wrong = failing("ModuleNotFoundError: No module named 'secret_name'");
    const [first] = evidence(...wrong, ...edit(), ...wrong, ...edit(), ...wrong);
    expect(first).toMatch(/^same_error=ModuleNotFoundError#[0-9a-f]{8} ×3 after 2 edits$/);
    expect(JSON.stringify(evidence(...wrong, ...edit(), ...wrong))).not.toContain("secret_name");
  });

  test.each<[string, string, (name: string) => string]>([
    [
      "Jest",
      "npx jest",
      (name) => `  ● ${name} › adds\n\nTest Suites: 1 failed, 1 total\nTests:  1 failed, 3 passed, 4 total`,
    ],
    [
      "Vitest",
      "npx vitest run",
      (name) => ` FAIL  src/${name}.test.ts > adds\nAssertionError: expected 1 to be 2\n Tests  1 failed`,
    ],
    ["Go", "go test ./...", (name) => `--- FAIL: Test${name} (0.01s)\nFAIL\nFAIL\tshop\t0.003s\nFAIL`],
    [
      "cargo",
      "cargo test",
      (name) => `test ${name}::adds ... FAILED\ntest result: FAILED. 3 passed; 1 failed\nerror: test failed`,
    ],
    [
      "tsc",
      "npx tsc",
      (name) => `src/${name}.ts(3,5): error TS2345: Argument of type 'a' is not assignable to type 'b'.`,
    ],
    [
      "ctest",
      "ctest",
      (name) =>
        `75% tests passed, 1 tests failed out of 4\nThe following tests FAILED:\n\t  3 - ${name} (Failed)\nErrors while running CTest`,
    ],
    ["ExUnit", "mix test", (name) => `  1) test adds (${name}Test)\n     Assertion with == failed\n4 tests, 1 failure`],
    [
      "in an object",
      "go test",
      (name) => JSON.stringify({ output: `--- FAIL: Test${name} (0.01s)\nFAIL\n`, metadata: { exit_code: 1 } }),
    ],
  ])("a check that fails at another place each time is no failed repair: %s", (_, command, output) => {
    const places = ["cart", "order", "price", "stock"];
    const others = places.flatMap((place) => [...bash(output(place), command), ...edit()]);
    expect(runtime(...others).same_error_count).toBe(0);
    const same = places.flatMap(() => [...bash(output("cart"), command), ...edit()]);
    expect(runtime(...same).same_error_count).toBe(3);
    const back = ["cart", "order", "cart", "order", "cart"].flatMap((place) => [
      ...bash(output(place), command),
      ...edit(),
    ]);
    expect(runtime(...back).same_error_count).toBe(2);
  });

  test("a repair after which fewer fail has helped, and is neither a failed one nor without progress", () => {
    const failed = (count: number) => {
      const names = ["adds", "divides", "rounds", "sums"].slice(0, count);
      return bash(
        `${names.map((name) => `FAILED t.py::${name}`).join("\n")}\n${count} failed, 9 passed in 0.3s`,
        "pytest",
      );
    };
    const fewer = [4, 3, 2, 1].flatMap((count) => [...failed(count), ...edit()]);
    expect(runtime(...fewer)).toMatchObject({ same_error_count: 0, tool_depth: 2 });
    const asMany = [2, 2, 2].flatMap((count) => [...failed(count), ...edit()]);
    expect(runtime(...asMany)).toMatchObject({ same_error_count: 2, tool_depth: 6 });
  });

  test("an edit that the tool refuses repeatedly counts", () => {
    const refused = step("edit_file", { path: "a.ts", old: "x" }, "Error: old_string not found in a.ts");
    expect(runtime(...refused, ...refused, ...refused).same_error_count).toBe(2);
  });
});

describe("what a result was", () => {
  const wrong = (result: string, name = "bash", args: JsonObject = { command: "npm test" }) =>
    runtime(...step(name, args, result)).error_signature !== null;

  test.each([
    "Exit Code: 0",
    "exit code: 0",
    "<returncode>0</returncode>",
    '{"returncode": 0, "output": "x"}',
    "exit=0",
    "Process exited with code 0",
    "[exit code: 0]",
    '"exit_code":0',
    "exitCode: 0",
    '{"isError": false}',
    "Exit status: 0",
    "exit: 0",
    "exit 0",
    "$? = 0",
    "ERRORLEVEL=0",
    "error_level: 0",
    "rc = 0",
    "Return Code: 0",
    "return_code 0",
    "returned=0",
    "Exit Value: 0",
    "✓ exit code 0",
  ])("%s takes precedence over any text", (status) => {
    expect(wrong(`${status}\nTypeError: boom\nFAILED tests/a.py\n1 failed`)).toBe(false);
  });

  test.each([
    "Exit Code: 1",
    "<returncode>2</returncode>",
    '{"returncode": 127}',
    "exit=1",
    "Command exited with code 3",
    "exited with status 1",
    "(exit 1)",
    "Exit code 124",
    '{"isError": true}',
    "exit status 1",
    "returncode=-9",
  ])("%s is a failure, whatever the output", (status) => {
    expect(wrong(`all is well\n${status}`)).toBe(true);
  });

  test.each(["Error: (none)", "0 failed, 12 passed", "errors: 0", "Found 0 errors.", "no errors", ""])(
    "%p is none",
    (result) => {
      expect(wrong(result)).toBe(false);
    },
  );

  test.each([
    "cat a.py",
    "grep -rn 'raise ValueError' src",
    "sed -n '1,20p' a.py",
    "git log -p",
    "git diff",
    "cd x && cat b",
  ])("output of %s was only read, and is not a failure", (command) => {
    expect(wrong("raise ValueError('x')\nValueError: boom\nTraceback", "bash", { command })).toBe(false);
    expect(wrong("exit code: 1", "bash", { command })).toBe(false);
  });

  test("output of a reading tool is not a failure; its refusal is", () => {
    expect(wrong("class ParseError extends Error {}\nTypeError: boom", "read_file", { path: "a.ts" })).toBe(false);
    expect(wrong("Error: file not found", "read_file", { path: "a.ts" })).toBe(true);
  });

  test("without a status the command's own words decide", () => {
    expect(wrong("Traceback (most recent call last)\nKeyError: 'a'")).toBe(true);
    expect(wrong("FAILED (errors=1)")).toBe(true);
    expect(wrong("compiled in 3 s")).toBe(false);
  });

  test("is found in any text around a status", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "\n", "Error: x", "FAILED", "0", "passed", '"') });
    fc.assert(fc.property(text, (around) => wrong(`<returncode>0</returncode>\n${around}`) === false));
    fc.assert(fc.property(text, (around) => wrong(`<returncode>1</returncode>\n${around}`)));
  });
});

describe("calls written as text", () => {
  const shapes: Record<string, (result: string, status: number) => JsonObject[]> = {
    "Cline's XML": (result, status) => [
      { role: "assistant", content: "<execute_command>\n<command>npm test</command>\n</execute_command>" },
      { role: "user", content: `[execute_command for 'npm test'] Result:\n${result}\nexit code: ${status}` },
    ],
    "a fenced command": (result, status) => [
      { role: "assistant", content: "THOUGHT: run it\n\n```bash\nnpm test\n```" },
      { role: "user", content: `<returncode>${status}</returncode>\n<output>\n${result}\n</output>` },
    ],
    "an observation": (result, status) => [
      { role: "assistant", content: "Thought: run it\nAction: bash\nAction Input: npm test" },
      { role: "user", content: `Observation: ${result}\nexit code: ${status}` },
    ],
    "a command the user is said to have run": (result, status) => [
      { role: "assistant", content: "```bash\nnpm test\n```" },
      { role: "user", content: `I ran this command:\n\nnpm test\n\n${result}\nexit code: ${status}` },
    ],
  };
  const fix = [
    { role: "assistant", content: "```bash\nsed -i s/a/b/ src/a.ts\n```" },
    { role: "user", content: "<returncode>0</returncode>\n<output>\n</output>" },
  ];

  test.each(Object.keys(shapes))("%s continues the task and counts like a tool's result", (name) => {
    const turn = shapes[name] ?? (() => []);
    const messages = [
      ask,
      ...turn("TypeError: x", 1),
      ...fix,
      ...turn("TypeError: x", 1),
      ...fix,
      ...turn("TypeError: x", 1),
    ];
    const { task, runtime } = assessed({ messages });
    expect(task.instruction).toBe(ask.content);
    expect(runtime.same_error_count).toBe(2);
    expect(assessed({ messages: [ask, ...turn("all fine", 0)] }).runtime.error_signature).toBeNull();
  });
});

describe("files touched", () => {
  test("counts distinct files that edit-like calls name, under whatever parameter", () => {
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
