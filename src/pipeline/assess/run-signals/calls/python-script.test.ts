import { describe, expect, test } from "bun:test";
import { effectOf } from "./call-effect.ts";
import { commandsRunBy } from "./python-script.ts";

describe("commands that a Python script runs", () => {
  test.each([
    ["import subprocess\nprint(subprocess.run('pytest -q', shell=True))", "pytest -q"],
    ["import os\nos.system(\"make\")\nos.system('make test')", "make\nmake test"],
    ["from pathlib import Path\nimport subprocess\nsubprocess.check_output(['git', 'status'])", "git status"],
    ["result = subprocess.run(\n    '''cd a\nnpm test''', shell=True)", "cd a\nnpm test"],
  ])("%j", (script, commands) => {
    expect(commandsRunBy(script)).toBe(commands);
  });

  test.each([
    ["a command of a shell", `python -c "import subprocess; subprocess.run('ls')"`],
    ["a script that runs none", "import json\nprint(json.load(open('a.json')))"],
    ["a command that is put together", "import subprocess\nsubprocess.run(command)"],
  ])("not of %s", (_, script) => {
    expect(commandsRunBy(script)).toBeUndefined();
  });

  test("say what the call does, beside the files that the script writes itself", () => {
    const effect = (code: string) => effectOf({ name: "python", args: JSON.stringify({ code }) });
    const run = (command: string) => effect(`import subprocess\nsubprocess.run('${command}', shell=True)`);
    expect(run("cat a.py")).toMatchObject({ runs: false, changes: false });
    expect(run("pytest")).toMatchObject({ runs: true, changes: false, command: "pytest" });
    expect(effect("import os\nopen('a.py', 'w').write('x')\nos.system('pytest')")).toMatchObject({ changes: true });
  });
});
