import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { version } from "../../package.json";

const root = join(import.meta.dir, "..", "..");
const folder = join(root, ".github", "workflows");
const workflows = readdirSync(folder);
// It comes with `go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.8`.
const linter = Bun.which("actionlint") ?? Bun.which("actionlint", { PATH: `${process.env["HOME"]}/go/bin` });
if (linter === null) console.warn("The workflows are not linted: actionlint is not installed.");

test.skipIf(linter === null)("the workflows are valid", () => {
  const { exitCode, stdout } = Bun.spawnSync([linter ?? "", ...workflows.map((name) => join(folder, name))]);
  expect(exitCode, stdout.toString()).toBe(0);
});

test.each(workflows)("%s names every action by its commit", (name) => {
  const actions = readFileSync(join(folder, name), "utf8").match(/uses: .*/g) ?? [];
  for (const action of actions) expect(action).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d/);
});

test("program, chart and changelog have one version", () => {
  const chart = parse(readFileSync(join(root, "deploy/chart/Chart.yaml"), "utf8"));
  expect([chart.version, chart.appVersion]).toEqual([version, version]);
  expect(readFileSync(join(root, "CHANGELOG.md"), "utf8")).toContain(`\n## ${version} (`);
});
