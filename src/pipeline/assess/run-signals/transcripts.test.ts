import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, step } from "#pipeline/assess/fixtures.ts";

const ask = { role: "user", content: "Make the build work again." };
const runtime = (...messages: JsonObject[]) => assessed({ messages: [ask, ...messages] }).runtime;
const shell = (command: string, result: string) => step("run_shell_command", { command }, result);
const edit = step("edit_file", { path: "a", old: "x", new: "y" }, "");
let seconds = 0;
const threeTimes = (fail: () => JsonObject[], change: JsonObject[]) => [
  ...fail(),
  ...change,
  ...fail(),
  ...change,
  ...fail(),
];

describe("failed repairs are counted in any environment", () => {
  test.each<[string, () => JsonObject[], JsonObject[]]>([
    [
      "Gradle in PowerShell, edited by a cmdlet",
      () => shell(".\\gradlew.bat test", `> Task :test FAILED\n\nBUILD FAILED in ${++seconds}s`),
      shell("Set-Content src\\A.java 'class A {}'", ""),
    ],
    [
      "cargo, edited by a script",
      () => shell("cargo build", "error[E0382]: borrow of moved value: `o`\nerror: could not compile `shop`"),
      shell("python3 - <<'EOF'\nopen('a.rs', 'w').write('x')\nEOF", ""),
    ],
    [
      "go test",
      () => shell("go test ./...", "--- FAIL: TestPay (0.01s)\n    pay_test.go:9: Error: want 3\nFAIL"),
      edit,
    ],
    [
      "docker build",
      () =>
        shell("docker build -t a .", 'ERROR: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1'),
      edit,
    ],
    [
      "a build in German",
      () => shell("make", "main.c:3:1: Fehler: unbekannter Typname\nmake: *** [all] Fehler 1"),
      edit,
    ],
    ["a build in Chinese", () => shell("javac A.java", "A.java:3: 错误: 找不到符号"), edit],
    [
      "an MCP tool",
      () => step("mcp__ci__start", { job: 1 }, '{"content":[{"type":"text","text":"E1"}],"isError":true}'),
      edit,
    ],
  ])("%s", (_, fail, change) => {
    expect(runtime(...fail(), ...fail().slice(0, 1)).same_error_count).toBe(0);
    expect(runtime(...threeTimes(fail, change)).same_error_count).toBe(2);
  });

  test("but not if an exit status of 0 is beside the same words", () => {
    const fine = () => shell("make", "main.c:3:1: error: ignored\nexit code: 0");
    expect(runtime(...threeTimes(fine, edit))).toMatchObject({ same_error_count: 0, error_signature: null });
  });
});

describe("failed repairs are counted where calls and results are text", () => {
  const said = (content: string): JsonObject => ({ role: "assistant", content });
  const fence = "```";
  const failure = "E       assert 3 == 2.5\nFAILED test_calc.py::test_even - assert 3 == 2.5\n1 failed in 0.05s";
  const newText = "def median(xs):\n    return xs[(len(xs) - 1) // 2]";
  const inPython = (text: string) =>
    `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
  const listed = (name: string, args: string) =>
    `Calling tools:\n[{'id': 'call_1', 'type': 'function', 'function': {'name': '${name}', 'arguments': ${args}}}]`;

  /** How a library writes down that a command printed something. */
  type Wrote = (command: string, printed: string) => JsonObject[];
  const gptme: Wrote = (command, printed) => {
    const [first = "", ...more] = command.split("\n");
    const shown = more.length === 0 ? command : `${first}... (${more.length + 1} lines)`;
    return [
      { role: "assistant", content: [{ type: "text", text: `Next.\n\n${fence}shell\n${command}\n${fence}` }] },
      { role: "system", content: [{ type: "text", text: `Ran command: \`${shown}\`\n\n${printed}` }] },
    ];
  };
  const smolagents: Wrote = (command, printed) => [
    said(listed("bash", `{'command': ${inPython(command)}}`)),
    { role: "user", content: `Observation:\n${printed}` },
  ];
  const smolagentsCode: Wrote = (command, printed) => {
    const code = `import subprocess\nr = subprocess.run(${JSON.stringify(command)}, shell=True)\nprint(r.stdout)`;
    return [
      said(`<code>\n${code}\n</code>\n${listed("python_interpreter", inPython(code))}`),
      { role: "user", content: `Observation:\nExecution logs:\n${printed}\nLast output from code snippet:\nNone` },
    ];
  };
  const llamaIndex: Wrote = (command, printed) => [
    said(`Thought: next.\nAction: bash\nAction Input: {'command': ${inPython(command)}}`),
    { role: "user", content: `Observation: ${printed}` },
  ];

  test.each<[string, Wrote]>([
    ["gptme, in the system's role", gptme],
    ["smolagents, tools", smolagents],
    ["smolagents, code", smolagentsCode],
    ["LlamaIndex, ReAct", llamaIndex],
  ])("%s", (_, wrote) => {
    const check = () => wrote("python -m pytest -q", failure);
    const change = wrote(`cat > calc.py <<'PY'\n${newText}\nPY`, "");
    const look = wrote("cat calc.py", newText);
    expect(runtime(...check(), ...look, ...change, ...check())).toMatchObject({ same_error_count: 1, tool_depth: 4 });
    expect(runtime(...look, ...threeTimes(check, change))).toMatchObject({ same_error_count: 2, tool_depth: 6 });
  });

  test("gptme: a file that is saved is a change, in a fence and by its tool", () => {
    const check = () => gptme("pytest -q", failure);
    const fenced = [
      said(`${fence}save calc.py\n${newText}\n${fence}`),
      { role: "system", content: "Saved to calc.py" },
    ];
    const called = step("save", { path: "calc.py", content: newText }, "Saved to calc.py (overwritten)");
    expect(runtime(...threeTimes(check, fenced)).same_error_count).toBe(2);
    expect(runtime(...threeTimes(check, called))).toMatchObject({ same_error_count: 2, files_touched: 1 });
  });

  test("several results in a row belong to the calls of one message", () => {
    const [, linted] = gptme("ruff check", "Found 1 error.\n\nReturn code: 1");
    expect(runtime(...gptme("pytest -q", failure), linted ?? {}).tool_depth).toBe(4);
  });

  test("but an instruction of the system is no result, wherever it stands", () => {
    const like = { role: "system", content: "Ran command: `pytest`\n\n1 failed" };
    expect(assessed({ messages: [like, ask] }).runtime.tool_depth).toBe(0);
    expect(runtime(like).tool_depth).toBe(0);
    expect(runtime(said("Hello"), { role: "system", content: "Answer in German. 1 failed" }).tool_depth).toBe(0);
  });

  test("and what a command prints is no prompt of the program that ran it", () => {
    const printed = gptme("cat prompt.md", "Generate a title for this conversation. Reply with the title only.");
    const found = assessed({ messages: [ask, ...printed] });
    expect(found.continuation).toBe(true);
    expect(found.housekeeping).toBeUndefined();
  });
});

describe("results and their calls", () => {
  const calls = (...of: [id: string, command: string][]): JsonObject => ({
    role: "assistant",
    content: null,
    tool_calls: of.map(([id, command]) => ({
      id,
      type: "function",
      function: { name: "bash", arguments: JSON.stringify({ command }) },
    })),
  });
  const result = (id: string, content: string | JsonObject[]): JsonObject => ({
    role: "tool",
    tool_call_id: id,
    content,
  });
  const boom = "TypeError: boom";

  test("parallel calls: each result belongs to its call, whatever their order", () => {
    const both = calls(["a", "cat app.log"], ["b", "npm test"]);
    expect(runtime(both, result("b", "5 passed"), result("a", boom))).toMatchObject({
      tool_depth: 0,
      error_signature: null,
    });
    expect(runtime(both, result("b", boom), result("a", "5 passed")).error_signature).not.toBeNull();
  });

  test("ids that are reused in every turn refer to the newest call", () => {
    const turns = [calls(["0", "npm test"]), result("0", "5 passed"), calls(["0", "cat app.log"]), result("0", boom)];
    expect(runtime(...turns)).toMatchObject({ tool_depth: 0, error_signature: null });
  });

  test("a result without its call is text that no command printed", () => {
    expect(runtime(result("gone", boom), result("gone", boom))).toMatchObject({
      same_error_count: 0,
      error_signature: null,
    });
  });

  test("a result in parts is read as one", () => {
    const parts = [
      { type: "text", text: boom },
      { type: "text", text: "exit code: 1" },
    ];
    expect(runtime(calls(["a", "npm test"]), result("a", parts)).error_signature).not.toBeNull();
  });

  test("empty results are neither failures nor calls without progress", () => {
    const turns = Array.from({ length: 20 }, (_, n) => [...shell(`make ${n}`, ""), ...edit]).flat();
    expect(runtime(...turns)).toMatchObject({ tool_depth: 0, same_error_count: 0, error_signature: null });
  });

  test("a huge output counts by its status at the end, not by its other text", () => {
    const log = `ERROR: retrying\n${"connection refused, trying again\n".repeat(20_000)}`;
    expect(runtime(...shell("make", `${log}exit code: 0`)).error_signature).toBeNull();
    expect(runtime(...shell("make", `${log}exit code: 2`)).error_signature).not.toBeNull();
  });
});

describe("progress", () => {
  test("the same search with the same result is a call without progress, each time after the first", () => {
    const search = () => shell("grep -rn total src", "src/a.ts:3: total");
    expect(runtime(...search(), ...search(), ...search()).tool_depth).toBe(2);
    expect(runtime(...Array.from({ length: 17 }, search).flat()).tool_depth).toBe(16);
  });

  test("a check that passes again, with nothing changed, is one too; after a change it is progress", () => {
    const passes = () => shell("npm test", "5 passed");
    const fails = (n: number) => shell("npm run e2e", `RangeError: ${"z".repeat(n)}\nexit code: 1`);
    expect(runtime(...passes(), ...passes(), ...passes()).tool_depth).toBe(2);
    expect(runtime(...passes(), ...fails(1), ...passes(), ...fails(2)).tool_depth).toBe(5);
    expect(runtime(...passes(), ...fails(1), ...edit, ...passes(), ...fails(2)).tool_depth).toBe(2);
  });

  test("stashing changes, looking at the old state and restoring the changes reverts nothing", () => {
    expect(runtime(...edit, ...shell("git stash && npm test; git stash pop", "5 passed")).tool_depth).toBe(0);
    expect(runtime(...edit, ...shell("git checkout main", "Switched to branch 'main'")).tool_depth).toBe(0);
    expect(runtime(...edit, ...shell("git checkout -- a", "")).tool_depth).toBe(4);
  });
});
