import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { programWith } from "#cli/program.ts";
import { type CommandOptions, runCommand } from "../harness/command-line.ts";
import type { Answer } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], options: Omit<CommandOptions, "cwd"> = {}) =>
  runCommand(args, { cwd: folder, ...options });
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const program = await programWith(() => true);
/** Every command that does something, by what is typed. */
const leaves = [...leavesOf(program, "")];

function* leavesOf(command: Command, path: string): Generator<readonly [string, Command]> {
  for (const child of command.commands) {
    const name = `${path} ${child.name()}`.trim();
    if (child.commands.length === 0) yield [name, child];
    else yield* leavesOf(child, name);
  }
}

function helpOf(command: Command): string {
  let text = "";
  const writeOut = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut }).outputHelp();
  return text;
}

describe("every command", () => {
  test.each(leaves)("%s takes --json, says what it does, and has an example in its help", (_, command) => {
    expect(command.options.map(({ long }) => long)).toContain("--json");
    expect(command.description()).toMatch(/^\S.{10,}/);
    expect(helpOf(command)).toMatch(/\nExample: .*smart-gateway/);
  });
});

describe("smart-gateway policy diff", () => {
  const old = file("old.yaml", "limits:\n  max_attempts: 3\n");
  const fresh = file("new.yaml", "limits:\n  max_attempts: 4\nbudget:\n  per_day_hard_usd: 80\n");

  test("shows every key that differs from the active policy or from another file", async () => {
    const [two, one] = await Promise.all([
      run(["policy", "diff", old, fresh, "--json"]),
      run(["policy", "diff", fresh, "--json"]),
    ]);
    expect(two.json()).toEqual({
      from: old,
      to: fresh,
      changes: [
        { key: "budget.per_day_hard_usd", from: 50, to: 80 },
        { key: "limits.max_attempts", from: 3, to: 4 },
      ],
    });
    expect(one.json().changes.map(({ key, from }: Answer) => [key, from])).toEqual([
      ["budget.per_day_hard_usd", 50],
      ["limits.max_attempts", 8],
    ]);
    const text = await run(["policy", "diff", old], { env: { ROUTING_POLICY_PATH: fresh } });
    expect(text.out).toMatch(/limits\.max_attempts +4 +3/);
    expect((await run(["policy", "diff", old, old])).out).toContain("changes nothing");
  });
});
