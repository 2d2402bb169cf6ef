import type { Command } from "commander";
import { changesBetween, type KeyChange } from "#cli/changed-keys.ts";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { textTable } from "#cli/table.ts";
import { defaultPolicyName, loadPolicy } from "#config/load-policy.ts";
import type { Policy } from "#config/policy.ts";
import { formatProblems, type Problem } from "#config/problem.ts";

/** Adds `policy diff`: the keys in which two policies differ, each merged over the defaults. */
export function addDiffCommand(policy: Command): void {
  policy
    .command("diff")
    .description("print every key that differs between two policies: the one in force and a file, or two files")
    .argument("<file>", "the new policy file; with a second one: the old")
    .argument("[other-file]", "the new policy file")
    .option("--json", "print {from, to, changes: [{key, from, to}]}")
    .action((first: string, second: string | undefined, options: { readonly json?: true }) => {
      const oldPath = second === undefined ? process.env["ROUTING_POLICY_PATH"] || undefined : first;
      const newPath = second ?? first;
      const [before, after] = [loadPolicy(oldPath), loadPolicy(newPath)];
      const problems = [before, after].flatMap((loaded) => (loaded.kind === "invalid" ? loaded.problems : []));
      if (before.kind === "invalid" || after.kind === "invalid") return refuse(problems, options.json === true);
      const changes = changesBetween(keysOf(before.policy), keysOf(after.policy));
      const [from, to] = [oldPath ?? defaultPolicyName, newPath];
      if (options.json) {
        // What one side does not have is null, so that every change has the same fields.
        const rows = changes.map(({ key, from, to }) => ({ key, from: from ?? null, to: to ?? null }));
        return printJson({ from, to, changes: rows });
      }
      print(changes.length === 0 ? `${to} changes nothing of ${from}.` : diffText(from, to, changes));
    });
}

function diffText(from: string, to: string, changes: readonly KeyChange[]): string {
  const rows = changes.map(({ key, from, to }) => [key, valueText(from), valueText(to)]);
  return textTable(["KEY", from, to], rows);
}

function valueText(value: unknown): string {
  if (value === undefined) return "-";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}

function keysOf({ $schema: _, ...keys }: Policy): object {
  return keys;
}

function refuse(problems: readonly Problem[], json: boolean): void {
  if (json) printJson({ ok: false, problems });
  else console.error(formatProblems(problems));
  exitWith(exitCodes.badUsage);
}
