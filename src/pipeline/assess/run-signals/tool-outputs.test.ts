import { describe, expect, test } from "bun:test";
import { observationOf } from "./observation.ts";

const ran = (command: string, text: string) =>
  observationOf({ call: { name: "bash", args: JSON.stringify({ command }) }, text }).observation;
const used = (name: string, text: string, args = "{}") => observationOf({ call: { name, args }, text }).observation;

describe("a failed check is recognized by the words of its program", () => {
  test.each([
    ["pytest: errors beside passes", "pytest -q", "ERROR tests/test_a.py - ImportError\n3 passed, 1 error in 0.21s", 1],
    ["pytest: a collection that fails", "pytest", "collected 0 items / 1 error\n==== 1 error in 0.10s ====", 1],
    [
      "Maven: errors, no failures",
      "mvn -q test",
      "[ERROR] Tests run: 5, Failures: 0, Errors: 2, Skipped: 0\n[INFO] BUILD FAILURE",
      2,
    ],
    [
      "Gradle: a build without tests",
      "./gradlew build",
      "> Task :compileJava FAILED\n\nFAILURE: Build failed with an exception.\n\nBUILD FAILED in 3s",
      undefined,
    ],
    [
      "Gradle: tests",
      ".\\gradlew.bat test",
      "ParserTest > parses() FAILED\n\n12 tests completed, 3 failed\n\nBUILD FAILED in 8s",
      3,
    ],
    [
      "Go: one package does not build",
      "go test ./...",
      "ok  \tshop/cart\t0.31s\nFAIL\tshop/pay [build failed]\nFAIL",
      1,
    ],
    ["Go: the compiler", "go build ./...", "# shop/pay\npay/pay.go:10:2: undefined: total", undefined],
    [
      "cargo: one binary of two",
      "cargo test --no-fail-fast",
      "test result: FAILED. 8 passed; 5 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed\nerror: 1 target failed:\n    `--lib`",
      5,
    ],
    ["rustc", "cargo check", "error[E0382]: borrow of moved value: `order`\n --> src/main.rs:8:5", undefined],
    ["npm, old", "npm test", "npm ERR! code ELIFECYCLE\nnpm ERR! Test failed.  See above for more details.", undefined],
    ["ESLint", "npx eslint .", "src/a.ts\n  3:1  'x' is unused\n\n✖ 3 problems (2 errors, 1 warning)", undefined],
    ["ruff", "ruff check .", "a.py:1:1: F401 `os` imported but unused\nFound 1 error.", undefined],
    ["psql", "psql -f up.sql", 'ERROR:  relation "orders" does not exist\nLINE 1: select', undefined],
    ["ctest", "ctest", "80% tests passed, 1 tests failed out of 5", 1],
    [".NET", "dotnet test", "Failed!  - Failed:     2, Passed:     5, Skipped:     0, Total:     7", 2],
    ["node:test", "node --test", "ℹ tests 5\nℹ pass 3\nℹ fail 2", 2],
    ["TAP", "bats test", "1..2\nok 1 adds\nnot ok 2 divides\n# (in test file a.bats, line 3)", 1],
    ["PHPUnit: errors, no failures", "vendor/bin/phpunit", "ERRORS!\nTests: 5, Assertions: 9, Errors: 1.", 1],
    ["Go: an unused variable", "go build ./...", "# shop/pay\n./pay.go:9:2: declared and not used: x", undefined],
    ["buf", "buf lint", "a.proto:3:1:Package name should have a version", undefined],
    [
      "Flutter",
      "flutter analyze",
      "error • Undefined name 'x' • lib/a.dart:3:5\n\n1 issue found. (ran in 1.2s)",
      undefined,
    ],
    ["SQLite", "sqlite3 a.db < a.sql", "Parse error near line 3: no such table: x", undefined],
    ["an object with a conclusion", "npm run ci", '{"status":"completed","conclusion":"failure"}', undefined],
    ["a mark before the status", "make", "✗ exit code 101", undefined],
    ["a bare exit", "make", "3 parts\nexit 2", undefined],
    ["RSpec: errors outside", "rspec", "12 examples, 0 failures, 2 errors occurred outside of examples", 2],
    [
      "docker build",
      "docker build .",
      'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
      undefined,
    ],
    ["Windows: an unknown command", "npx tsc", "'npx' is not recognized as an internal or external command", undefined],
    [
      "Windows, German",
      "npx tsc",
      'Der Befehl "npx" ist entweder falsch geschrieben oder\nkonnte nicht gefunden werden.',
      undefined,
    ],
    ["gcc, German", "make", "main.c:3:1: Fehler: unbekannter Typname »foo«", undefined],
    ["javac, Chinese", "javac A.java", "A.java:3: 错误: 找不到符号\n1 个错误", undefined],
    ["a crash in C", "./a.out", "Aborted (core dumped)", undefined],
    ["a large exit status of Windows", "app.exe", "started\nexit code: 3221225786", undefined],
  ])("%s", (_, command, text, failedTests) => {
    expect(ran(command, text)).toMatchObject({ kind: "failed", failedTests });
  });
});

describe("a passed check is recognized, though its output mentions failures", () => {
  test.each([
    [
      "Jest in watch mode: the newest run counts",
      "npx jest --watch",
      "Tests:       2 failed, 10 passed, 12 total\n\nRan all test suites.\n\nTests:       12 passed, 12 total\nSnapshots:   1 passed, 1 total",
    ],
    [
      "Vitest in watch mode",
      "npx vitest",
      " Test Files  1 failed (1)\n      Tests  2 failed | 3 passed (5)\n\n RERUN  src/a.ts\n\n Test Files  1 passed (1)\n      Tests  5 passed (5)",
    ],
    [
      "names of tests with an exit status",
      "npx jest cli",
      "  ✓ ends with exit code 1 when the file is missing (5 ms)\n  ✓ ends with exit code 2 (3 ms)\n\nTests:       2 passed, 2 total",
    ],
    [
      "names of tests with a timeout",
      "npx jest",
      "PASS  src/timed-out.test.ts\n  ✓ a call that timed out is retried\n\nTests: 1 passed, 1 total",
    ],
    ["Maven", "mvn test", "[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS"],
    ["Gradle", "./gradlew test", "> Task :test\nErrorHandlerTest > handlesError() PASSED\n\nBUILD SUCCESSFUL in 2s"],
    ["Go", "go test ./...", "ok  \tshop/errors\t0.31s\n?   \tshop/cmd\t[no test files]"],
    ["cargo", "cargo test", "test errors::parse ... ok\n\ntest result: ok. 5 passed; 0 failed; 0 ignored"],
    [".NET", "dotnet test", "Passed!  - Failed:     0, Passed:     5, Skipped:     0"],
    ["node:test", "node --test", "ℹ tests 5\nℹ pass 5\nℹ fail 0"],
    ["pytest: expected failures", "pytest", "3 passed, 2 xfailed, 1 warning in 0.2s"],
    ["ruff that mends", "ruff check --fix .", "Found 3 errors (3 fixed, 0 remaining)."],
    [
      "rustc warnings",
      "cargo build",
      "warning: unused variable: `error`\n    Finished dev [unoptimized] target(s) in 2.1s",
    ],
    ["TAP", "bats test", "1..2\nok 1 adds\nok 2 rejects with Error: bad"],
    ["a compiler that warns", "make", "a.c:3:5: warning: unused variable 'x'"],
    ["an object that says it passed", "npm run ci", '{"status": "passed", "log": "Error: caught"}'],
    ["no error", "npm test", "Output: ok\nError: null"],
    ["nothing at all", "make", ""],
  ])("%s", (_, command, text) => {
    expect(ran(command, text).kind).toBe("succeeded");
  });
});

describe("output that was only read is not a failure", () => {
  const text = "Error: boom\nTypeError: x is undefined\nFAILED tests/a.py\nisError: true\n3 failed";
  test.each([
    "cat app.log",
    "bash -lc 'cat app.log'",
    'sh -c "grep -rn Error src"',
    "for f in *.log; do head -5 $f; done",
    "ls *.log | while read f; do tail -3 $f; done",
    "if [ -f app.log ]; then cat app.log; else echo none; fi",
    "grep -rl Error src | xargs head -3",
    "docker logs web",
    "docker compose logs --tail 50 web",
    "kubectl logs deploy/web",
    "kubectl -n shop get events",
    "journalctl -u web -n 50",
    "gh run view 17 --log-failed",
    "zcat app.log.gz",
    "type app.log",
    "findstr /n Error app.log",
    "Get-Content app.log -Tail 20",
    "Get-ChildItem -Recurse | Select-String -Pattern Error",
    'powershell -NoProfile -Command "Get-Content app.log"',
    'cmd /c "type app.log"',
    "git.exe log -3",
    "git stash list",
    "git -C /srv/shop diff HEAD~1",
    "git -c core.pager=cat show HEAD",
    "search_dir TypeError src",
    "str_replace_editor view /srv/a.py",
    "npm ls",
    "cargo tree",
  ])("%s", (command) => {
    expect(ran(command, text)).toMatchObject({ kind: "read", changes: false, runs: false });
  });

  test.each([
    ["read_file", "isError: true\nexport const answer = 42;"],
    ["read_file", "Error: connection refused\nat line 3\nError: connection refused"],
    ["view_code_item", "class BootError(Exception): error: none"],
    ["think", "The TypeError: x is undefined comes from the parser. 3 failed before."],
    ["todo_write", "1. fix the TypeError: x is undefined\n2. rerun: 3 failed"],
    ["Task", "I looked at the code. Error: boom is thrown in a.ts."],
    ["ask_followup_question", "<answer>it says Error: boom</answer>"],
    ["web_search", "Error: boom - how to fix it"],
  ])("%s", (name, result) => {
    expect(used(name, result).kind).toBe("read");
  });

  test("a tool whose protocol reports a failure has failed, also a reading one", () => {
    const refused = '{"content":[{"type":"text","text":"no access"}],"isError":true}';
    expect(used("mcp__files__read_file", refused).kind).toBe("failed");
    expect(used("mcp__shop__place_order", refused).kind).toBe("failed");
    expect(used("mcp__shop__place_order", refused.replace("true", "false")).kind).toBe("succeeded");
  });
});

describe("changes of files, and reverts", () => {
  test.each([
    "Set-Content a.txt hello",
    "Remove-Item -Recurse build",
    'powershell -Command "(Get-Content a.txt) -replace 1,2 | Set-Content a.txt"',
    "copy a.txt b.txt",
    "del a.txt",
    'bash -c "sed -i s/a/b/ a.txt"',
    "grep -rl x src | xargs sed -i s/x/y/",
    "git -C /srv/shop checkout -b next",
    "str_replace_editor str_replace /srv/a.py --old_str a --new_str b",
  ])("%s changes and runs nothing", (command) => {
    expect(ran(command, "")).toMatchObject({ changes: true, reverts: false, runs: false });
  });

  test.each([
    "git checkout -- a.py",
    "git checkout src/a.py",
    "git checkout .",
    "git reset --hard HEAD~1",
    "git revert 3f2a1c",
    "git stash",
    "git -C /srv/shop checkout -- a.py",
  ])("%s reverts changes", (command) => {
    expect(ran(command, "").reverts).toBe(true);
  });

  test.each([
    "git checkout main",
    "git switch main",
    "git stash pop",
    "git reset HEAD a.py",
    "git restore --staged a.py",
    "git stash && npm test; git stash pop",
  ])("%s does not", (command) => {
    expect(ran(command, "").reverts).toBe(false);
  });
});
