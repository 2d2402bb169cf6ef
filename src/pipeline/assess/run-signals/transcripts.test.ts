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
