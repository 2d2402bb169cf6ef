import { readFileSync } from "node:fs";
import { Command } from "commander";
import { failWithError } from "#cli/exit.ts";
import { print } from "#cli/output.ts";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";

/** `smart-gateway privacy scan FILE|-`: prints what the privacy gate would replace in a text. Exit codes: 0 done, 1 failed. */
export function privacyCommand(): Command {
  const command = new Command("privacy").description("the privacy gate");
  command
    .command("scan")
    .description("print what the privacy gate finds in a text, and the redacted text")
    .argument("<file>", "a text file, or - for standard input")
    .option("--json", "print one JSON object: {text, findings, total}")
    .option("--personal-data", "also look for personal data")
    .action((file: string, options: { json?: boolean; personalData?: boolean }) => {
      let text: string;
      try {
        text = readFileSync(file === "-" ? 0 : file, "utf8");
      } catch (error) {
        return failWithError(`cannot read ${file}`, error, options);
      }
      const policy = Policy.parse({ privacy: { personal_data: options.personalData ?? false } });
      const { text: redacted, findings } = privacyEngine(policy.privacy).redactText(text);
      const total = findings.reduce((sum, { count }) => sum + count, 0);
      if (options.json) {
        print(
          JSON.stringify({ text: redacted, findings: findings.map(({ rule, count }) => ({ rule, count })), total }),
        );
        return;
      }
      for (const { rule, count } of findings) print(`${count} × ${rule}`);
      print(total === 0 ? "nothing found" : `${total} replaced`);
      print("");
      process.stdout.write(redacted);
    });
  return command;
}
