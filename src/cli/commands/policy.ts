import { Command } from "commander";
import { stringify } from "yaml";
import { changedFrom } from "#cli/changed-keys.ts";
import { exitCodes, exitWith, printJson } from "#cli/exit.ts";
import { formatUsd } from "#domain/money/money.ts";
import { ModelRegistryOverlay } from "#models/schema.ts";
import { type Config, loadConfig } from "#policy/load-config.ts";
import { defaultPolicyName } from "#policy/load-policy.ts";
import { Policy } from "#policy/schema.ts";
import { jsonSchemaOf } from "#settings/json-schema.ts";
import { formatProblems } from "#settings/problem.ts";
import { addDiffCommand } from "./policy/diff.ts";

interface FileOptions {
  readonly models?: string;
  readonly json?: true;
}

/** `smart-gateway policy check|show|schema|diff`. */
export function policyCommand(): Command {
  const command = new Command("policy").description("check and show the routing policy");
  const fileHelp = "policy file; ROUTING_POLICY_PATH, else the defaults, when absent";
  const modelsHelp = "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent";
  command
    .command("check")
    .description("say all that is wrong with a policy file, together with the model registry")
    .argument("[file]", fileHelp)
    .option("--models <file>", modelsHelp)
    .option("--json", "print {ok, problems}")
    .action(async (file: string | undefined, options: FileOptions) => {
      const config = await load(file, options);
      if (config === undefined) return;
      if (options.json) return printJson({ ok: true, problems: [] });
      const { goalSoft, goalHard, daySoft, dayHard } = config.caps;
      console.log(`${file ?? process.env["ROUTING_POLICY_PATH"] ?? defaultPolicyName}: ok`);
      console.log(`  per goal  soft $${formatUsd(goalSoft)}  hard $${formatUsd(goalHard)}`);
      console.log(`  per day   soft $${formatUsd(daySoft)}  hard $${formatUsd(dayHard)}`);
      if (goalHard === 0 || dayHard === 0)
        console.log("  A hard cap is zero: every request that costs anything will be denied.");
    });
  command
    .command("show")
    .description("print the policy in force: the file merged over the defaults")
    .argument("[file]", fileHelp)
    .option("--models <file>", modelsHelp)
    .option("--changed", "only the keys that differ from the defaults")
    .option("--json", "print JSON instead of YAML")
    .action(async (file: string | undefined, options: FileOptions & { readonly changed?: true }) => {
      const config = await load(file, options);
      if (config === undefined) return;
      const { $schema: _, ...policy } = config.policy;
      const shown = options.changed ? (changedFrom(Policy.parse({}), policy) ?? {}) : policy;
      if (options.json) return printJson(shown);
      process.stdout.write(stringify(shown, { flowCollectionPadding: false }));
    });
  command
    .command("schema")
    .description("print the JSON Schema of the policy file, for editors")
    .option("--models", "the schema of the model registry file instead")
    .option("--json", "JSON is what is printed anyway")
    .action((options: { readonly models?: true }) => {
      printJson(
        options.models
          ? jsonSchemaOf(ModelRegistryOverlay, "Smart Gateway model registry")
          : jsonSchemaOf(Policy, "Smart Gateway routing policy"),
      );
    });
  addDiffCommand(command);
  return command;
}

/** The configuration, or nothing once its problems were printed. */
async function load(file: string | undefined, options: FileOptions): Promise<Config | undefined> {
  const loaded = await loadConfig({
    policyPath: file ?? given("ROUTING_POLICY_PATH"),
    registryPath: options.models ?? given("MODEL_REGISTRY_PATH"),
  });
  if (loaded.kind === "ok") return loaded.config;
  if (options.json) printJson({ ok: false, problems: loaded.problems });
  else console.error(formatProblems(loaded.problems));
  exitWith(exitCodes.badUsage);
  return undefined;
}

function given(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}
