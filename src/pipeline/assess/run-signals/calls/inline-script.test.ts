import { describe, expect, test } from "bun:test";
import { observationOf } from "#pipeline/assess/run-signals/observation.ts";

const kindOf = (command: string, text: string) =>
  observationOf({ call: { name: "bash", args: JSON.stringify({ command }) }, text }).observation;

const log = `Traceback (most recent call last):
  File "/srv/app/main.py", line 12, in handle
IndexError: list index out of range
`;

describe("what a script in the command line shows is not its failure", () => {
  test.each([
    ["Python", `python -c "print(open('app.log').read()[-400:])"`, log],
    [
      "a here-document",
      "python3 - <<'EOF'\nfor line in open('build.log'):\n    print(line)\nEOF",
      "make: *** [all] Error 1\n",
    ],
    ["standard input", `cat a.txt | python -c "import sys; print(sys.stdin.read())"`, "FAILED a.py - KeyError: 'x'\n"],
    [
      "Node",
      `node -p "require('fs').readFileSync('ci.log','utf8')"`,
      "Error: Command failed with exit code 1\n    at f (a.js:1)\n",
    ],
    [
      "Ruby",
      `ruby -e 'puts File.readlines("test.log").last(4)'`,
      "NoMethodError (undefined method 'name'):\na.rb:14\n",
    ],
    ["Perl, by lines", "perl -ne 'print if 10..14' errors.js", 'throw new TypeError("Error: bad");\n'],
    ["PHP", `php -r 'echo file_get_contents("a.log");'`, "production.ERROR: QueryException\n"],
    ["in another shell", `bash -lc 'python -c "print(open(1).read())"'`, "ValueError: x\n"],
    ["a summary of tests", `python -c "print(open('out.txt').read())"`, "=== 3 failed, 10 passed in 2.1s ===\n"],
    ["an exit status of 0", `python -c "print(open('out.txt').read())"`, `<returncode>0</returncode>\n${log}`],
  ])("%s", (_, command, text) => {
    expect(kindOf(command, text)).toMatchObject({ kind: "read", failedTests: undefined });
  });
});

describe("but its own failure is", () => {
  const own = (error: string) =>
    `Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n${error}\n`;
  const reads = `python -c "import yaml; print(yaml.safe_load(open('a.yml')))"`;
  test.each([
    ["an error", reads, own("ModuleNotFoundError: No module named 'yaml'"), "ModuleNotFoundError"],
    [
      "in front of what was printed",
      reads,
      `${own("ZeroDivisionError: division by zero")}hello\n`,
      "ZeroDivisionError",
    ],
    ["behind another error", reads, `ValueError: x\n\n${own("app.LoadError: data.csv")}`, "LoadError"],
    ["syntax", reads, '  File "<string>", line 2\n    print(\n         ^\nSyntaxError: never closed\n', "SyntaxError"],
    [
      "Node",
      `node -e "require('fs').readFileSync('no')"`,
      "Error: ENOENT: no such file\n    at [eval]:1:15\n",
      "error",
    ],
    [
      "Ruby",
      `ruby -e 'File.read("a")'`,
      "-e:1:in 'File.read': No such file or directory (Errno::ENOENT)\n",
      "No such file",
    ],
    [
      "Perl",
      `perl -e 'open(F, "a") or die'`,
      "Cannot open a: No such file or directory at -e line 1.\n",
      "No such file",
    ],
    [
      "PHP",
      `php -r 'echo file_get_contents("a")->x();'`,
      "PHP Fatal error:  Uncaught Error: no in Command line code:1\n",
      "error",
    ],
    ["an exit status", reads, "<returncode>1</returncode>\ngiving up\n", "exit 1"],
    ["no interpreter", reads, "bash: python: command not found\n", "command not found"],
  ])("%s", (_, command, text, errorType) => {
    expect(kindOf(command, text)).toMatchObject({ kind: "failed", errorType });
  });
});

test.each([
  ["a check beside it", `python -c "print(open('a').read())" && pytest -q`],
  ["a program that it runs", `python -c "import subprocess; print(open('a').read()); subprocess.run(['make'])"`],
  ["nothing that it reads", `python -c "import shop; shop.check()"`],
])("an error counts where the command has %s", (_, command) => {
  expect(kindOf(command, "E   AssertionError: assert 1 == 2\n").kind).toBe("failed");
});

test("a script that writes files changes something, and its output is read as before", () => {
  const command = `python -c "s = open('a').read(); open('a', 'w').write(s)"`;
  expect(kindOf(command, "ValueError: x\n")).toMatchObject({ kind: "failed", changes: true });
});
