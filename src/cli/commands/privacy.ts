import { type CommandSpec, readInput } from "#cli/options.ts";
import { type Result, textTable } from "#cli/output.ts";
import { Policy } from "#config/policy.ts";
import { unavailable } from "#operator/problem.ts";
import { privacyEngine } from "#privacy/engine.ts";

export const commands: readonly CommandSpec[] = [
  {
    name: "privacy scan",
    summary: "print what the privacy gate finds in a text, and the redacted text",
    arguments: [["<file>", "a text file, or - for standard input"]],
    options: [["--personal-data", "also look for personal data"]],
    example: "git diff | smart-gateway privacy scan - --json",
    run: scan,
  },
];

function scan(file: string, { personalData = false }: { readonly personalData?: boolean }): Result {
  const policy = Policy.parse({ privacy: { personal_data: personalData } });
  const { text, findings } = privacyEngine(policy.privacy).redactText(readInput(file, unavailable));
  const total = findings.reduce((sum, { count }) => sum + count, 0);
  const shown = findings.map(({ rule, count }) => ({ rule, count }));
  const found = total === 0 ? "nothing found" : textTable(shown);
  return { value: { text, findings: shown, total }, text: `${found}\n\n${text.replace(/\n$/, "")}` };
}
