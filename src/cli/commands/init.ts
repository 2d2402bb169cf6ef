import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { exitCodes, exitWith, printJson } from "#cli/exit.ts";
import { settingsTable } from "#settings/settings.ts";

/** `smart-gateway init`: writes a settings file and a policy file to start from; never overwrites. */
export function initCommand(): Command {
  return new Command("init")
    .description("write a settings file (.env) and a policy file to start from; existing files are kept")
    .argument("[directory]", "where to write", ".")
    .option("--json", "print {written, kept}")
    .action((directory: string, options: { readonly json?: true }) => {
      const written: string[] = [];
      const kept: string[] = [];
      for (const { name, text, mode } of [
        // The key of the aggregator will stand in it.
        { name: ".env", text: envFile(), mode: 0o600 },
        { name: "policy.yaml", text: policyFile, mode: 0o644 },
      ]) {
        const path = join(directory, name);
        try {
          mkdirSync(directory, { recursive: true });
          writeFileSync(path, text, { flag: "wx", mode });
          written.push(path);
        } catch (error) {
          const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
          if (code !== "EEXIST") {
            console.error(`cannot write ${path}: ${code}`);
            return exitWith(exitCodes.failed);
          }
          kept.push(path);
        }
      }
      if (options.json) return printJson({ written, kept });
      for (const path of written) console.log(`written  ${path}`);
      for (const path of kept) console.log(`kept     ${path} (it exists already)`);
      console.log(
        "\nNext: put your aggregator's key into .env, then run `smart-gateway doctor` and `smart-gateway serve`.",
      );
    });
}

function envFile(): string {
  const settings = Object.entries(settingsTable).flatMap(([name, { fallback, about }]) => {
    const example = name === "ROUTING_POLICY_PATH" ? `${name}=./policy.yaml` : `#${name}=${fallback}`;
    return ["", `# ${about.replaceAll("`", "")}`, example];
  });
  return [
    "# Settings of Smart Gateway, read at start from the working directory. Keep this file out of version control.",
    ...settings,
    "",
  ].join("\n");
}

const policyFile = `# Your routing policy: only what differs from the defaults has to stand here, for example:
# smart-gateway policy show    prints all keys with what is in force
# smart-gateway policy check   says what is wrong with this file
# Changes are taken over while the gateway runs.

# US dollars. Above a soft cap, requests that need not have the pro tier step down; above a hard cap they are denied.
budget:
  per_goal_soft_usd: 2
  per_goal_hard_usd: 5
  per_day_soft_usd: 20
  per_day_hard_usd: 50
`;
