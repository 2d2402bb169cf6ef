import { Command, Option } from "commander";
import { stringify } from "yaml";
import { changedFrom } from "#cli/changed-keys.ts";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { withExamples } from "#cli/help.ts";
import { print, printJson } from "#cli/output.ts";
import { jsonSchemaOf } from "#config/json-schema.ts";
import { type Config, type ConfigPaths, loadConfig } from "#config/load-config.ts";
import { defaultPolicyName, loadPolicy } from "#config/load-policy.ts";
import { Policy } from "#config/policy.ts";
import { formatProblems, type Problem } from "#config/problem.ts";
import { formatUsd } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { ModelRegistryOverlay } from "#models/schema.ts";
import { addBacktestCommand } from "./backtest.ts";
import { addDiffCommand } from "./diff.ts";
import { duration, type LearnOptions, learn } from "./learn.ts";

interface FileOptions {
  readonly models?: string;
  readonly json?: true;
}

/** `smart-gateway policy check|show|schema|diff|backtest|learn`. */
export function policyCommand(): Command {
  const command = new Command("policy").description("check and show the routing policy, and learn from outcomes");
  const fileHelp = "policy file; ROUTING_POLICY_PATH, else the defaults, when absent";
  const modelsHelp = "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent";
  command
    .command("check")
    .description("list all problems of a policy file, checked together with the model registry")
    .argument("[file]", fileHelp)
    .option("--models <file>", modelsHelp)
    .option("--json", "print {ok, problems}")
    .action(async (file: string | undefined, options: FileOptions) => {
      const config = await load(file, options);
      if (config === undefined) return;
      if (options.json) return printJson({ ok: true, problems: [] });
      const { goalSoft, goalHard, daySoft, dayHard } = config.caps;
      print(`${file ?? process.env["ROUTING_POLICY_PATH"] ?? defaultPolicyName}: ok`);
      print(`  per goal  soft $${formatUsd(goalSoft)}  hard $${formatUsd(goalHard)}`);
      print(`  per day   soft $${formatUsd(daySoft)}  hard $${formatUsd(dayHard)}`);
      if (goalHard === 0 || dayHard === 0)
        print("  A hard cap is zero: every request that costs anything will be denied.");
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
    .option("--json", "no effect: the output is always JSON")
    .action((options: { readonly models?: true }) => {
      printJson(
        options.models
          ? jsonSchemaOf(ModelRegistryOverlay, "Smart Gateway model registry")
          : jsonSchemaOf(Policy, "Smart Gateway routing policy"),
      );
    });
  addDiffCommand(command);
  addLearnCommand(command, fileHelp, modelsHelp);
  addBacktestCommand(command);
  return command;
}

function addLearnCommand(command: Command, fileHelp: string, modelsHelp: string): void {
  const learning = command
    .command("learn")
    .description("fit the score to the recorded outcomes of this installation, and show what that would change")
    .argument("[file]", fileHelp)
    .option("--models <file>", modelsHelp)
    .addOption(
      new Option("--since <time>", "use the records of the last days or hours: 30d, 12h")
        .argParser(duration)
        .default(duration("30d"), "30d"),
    )
    .option("--write", "write the weights to the file that routing.learned.weights_file names, else beside the policy")
    .option("--json", "print everything as JSON")
    .action(async (file: string | undefined, options: FileOptions & LearnOptions) => {
      const paths = pathsOf(file, options);
      // Without the weights in force: they may be absent or broken, and a new fit does not need them.
      const [policy, registry] = [loadPolicy(paths.policyPath), loadRegistry(paths.registryPath)];
      if (policy.kind === "ok" && registry.kind === "ok")
        return learn({ policy: policy.policy, registry: registry.registry }, paths.policyPath, options);
      report(
        [policy, registry].flatMap((result) => (result.kind === "invalid" ? result.problems : [])),
        options,
      );
    });
  withExamples(learning, [
    ["smart-gateway policy learn", "shows what the outcomes of the last 30 days would change"],
    ["smart-gateway policy learn --since 90d --write", "writes the weights; a gateway whose policy names them reloads"],
  ]);
}

/** The configuration; undefined after its problems were printed. */
async function load(file: string | undefined, options: FileOptions): Promise<Config | undefined> {
  const loaded = await loadConfig(pathsOf(file, options));
  if (loaded.kind === "ok") return loaded.config;
  report(loaded.problems, options);
  return undefined;
}

function pathsOf(file: string | undefined, { models }: FileOptions): ConfigPaths {
  return { policyPath: file ?? given("ROUTING_POLICY_PATH"), registryPath: models ?? given("MODEL_REGISTRY_PATH") };
}

function report(problems: readonly Problem[], { json }: FileOptions): void {
  if (json) printJson({ ok: false, problems });
  else console.error(formatProblems(problems));
  exitWith(exitCodes.badUsage);
}

function given(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}
