import { describe, expect, test } from "bun:test";
import { effectOfCommand } from "./shell-command.ts";

describe("what a shell command does", () => {
  test.each([
    "cat a.py | head -20",
    "cd /srv/app && grep -rn 'x > y' src | sort | uniq -c",
    "sed -n '1,40p' a.py",
    "git log --oneline | head",
    "git diff HEAD~1 -- a.py",
    "ls -R 2>/dev/null",
    "find . -name '*.py' 2>&1 | wc -l",
    "pip list",
    "awk '{ if ($1 > 3) print }' data.txt",
  ])("%s reads", (command) => {
    expect(effectOfCommand(command)).toEqual({ changes: false, reverts: false, runs: false });
  });

  test.each([
    "sed -i 's/a/b/' a.py",
    "cat <<'EOF' > a.py\nprint(1 > 0)\npytest\nEOF",
    "echo x >> notes.txt",
    "mv a b",
    "git apply fix.patch",
    "mkdir -p build",
    "perl -pi -e 's/a/b/' a.py",
  ])("%s changes", (command) => {
    expect(effectOfCommand(command)).toEqual({ changes: true, reverts: false, runs: false });
  });

  test.each(["git checkout -- a.py", "git restore .", "git stash", "cd x && git reset --hard"])(
    "%s reverts changes",
    (command) => {
      expect(effectOfCommand(command)).toMatchObject({ changes: true, reverts: true });
    },
  );

  test.each([
    "pytest -q 2>&1 | tail -5",
    "cd app && npm test",
    "PYTHONPATH=. python3 check.py",
    "timeout 60 make test",
    "time ./run.sh",
    "python - <<EOF\nprint(1)\nEOF",
  ])("%s runs", (command) => {
    expect(effectOfCommand(command)).toEqual({ changes: false, reverts: false, runs: true });
  });

  test("one line may both change files and run something", () => {
    expect(effectOfCommand("cat > t.py <<EOF\nx\nEOF\npython t.py")).toMatchObject({ changes: true, runs: true });
  });

  test("creating a branch and listing a stash revert nothing", () => {
    expect(effectOfCommand("git checkout -b fix").reverts).toBe(false);
    expect(effectOfCommand("git stash list").reverts).toBe(false);
  });
});
