import { type CommandSpec, readInput } from "#cli/options.ts";
import { failed, type OutputOptions, print, textTable } from "#cli/output.ts";
import { Policy } from "#config/policy.ts";
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

function scan(file: string, options: OutputOptions & { readonly personalData?: true }): void {
  const policy = Policy.parse({ privacy: { personal_data: options.personalData ?? false } });
  const { text, findings } = privacyEngine(policy.privacy).redactText(readInput(file, failed));
  const total = findings.reduce((sum, { count }) => sum + count, 0);
  const shown = findings.map(({ rule, count }) => ({ rule, count }));
  const found = total === 0 ? "nothing found" : textTable(shown);
  print({ text, findings: shown, total }, options, `${found}\n\n${text.replace(/\n$/, "")}`);
}
