import type { Command } from "commander";
import { stringify } from "yaml";
import { fileOr } from "#cli/options.ts";
import {
  type ConfigOptions,
  type OutputOptions,
  print,
  printJson,
  textTable,
  throwProblems,
  valid,
} from "#cli/output.ts";
import { isSection } from "#config/config-file.ts";
import { jsonSchemaOf } from "#config/json-schema.ts";
import { type Config, loadConfig } from "#config/load-config.ts";
import { defaultPolicyName, loadPolicy } from "#config/load-policy.ts";
import { Policy } from "#config/policy.ts";
import { formatUsd } from "#domain/money/money.ts";
import { ModelRegistryOverlay } from "#models/schema.ts";
import { addBacktestCommand } from "./backtest.ts";
import { addLearnCommand } from "./learn.ts";

/** `smart-gateway policy check|show|schema|diff|backtest|learn`. */
export function setUpPolicy(command: Command): void {
  const check = command
    .command("check")
    .description("list all problems of a policy file, checked together with the model registry")
    .addHelpText("after", "\nExample: smart-gateway policy check policy.yaml")
    .action(checkPolicy);
  const show = command
    .command("show")
    .description("print the policy in force: the file merged over the defaults, as YAML")
    .option("--changed", "only the keys that differ from the defaults")
    .addHelpText("after", "\nExample: smart-gateway policy show policy.yaml --changed")
    .action(showPolicy);
  command
    .command("schema")
    .description("print the JSON Schema of the policy file, for editors")
    .option("--models", "the schema of the model registry file instead")
    .addHelpText("after", "\nExample: smart-gateway policy schema > policy.schema.json")
    .action((options: { readonly models?: true }) => {
      printJson(
        options.models
          ? jsonSchemaOf(ModelRegistryOverlay, "Smart Gateway model registry")
          : jsonSchemaOf(Policy, "Smart Gateway routing policy"),
      );
    });
  command
    .command("diff")
    .description("print every key that differs between two policies: the one in force and a file, or two files")
    .argument("<file>", "the new policy file; with a second one: the old")
    .argument("[other-file]", "the new policy file")
    .addHelpText("after", "\nExample: smart-gateway policy diff old.yaml new.yaml --json")
    .action(diffPolicies);
  const learn = addLearnCommand(command);
  addBacktestCommand(command);
  for (const withFile of [check, show, learn]) {
    withFile
      .argument("[file]", "policy file; ROUTING_POLICY_PATH, else the defaults, when absent")
      .option("--models <file>", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent");
  }
}

async function load(file: string | undefined, { models }: ConfigOptions): Promise<Config> {
  const paths = {
    policyPath: fileOr(file, "ROUTING_POLICY_PATH"),
    registryPath: fileOr(models, "MODEL_REGISTRY_PATH"),
  };
  return valid(loadConfig(paths)).config;
}

async function checkPolicy(file: string | undefined, options: ConfigOptions): Promise<void> {
  const { goalSoft, goalHard, daySoft, dayHard } = (await load(file, options)).caps;
  const lines = [
    `${fileOr(file, "ROUTING_POLICY_PATH") ?? defaultPolicyName}: ok`,
    `  per goal  soft $${formatUsd(goalSoft)}  hard $${formatUsd(goalHard)}`,
    `  per day   soft $${formatUsd(daySoft)}  hard $${formatUsd(dayHard)}`,
    ...(goalHard === 0 || dayHard === 0
      ? ["  A hard cap is zero: every request that costs anything will be denied."]
      : []),
  ];
  print({ ok: true, problems: [] }, options, lines.join("\n"));
}

async function showPolicy(file: string | undefined, options: ConfigOptions & { readonly changed?: true }) {
  const policy = keysIn((await load(file, options)).policy);
  const shown = options.changed ? (changedFrom(Policy.parse({}), policy) ?? {}) : policy;
  print(shown, options, stringify(shown, { flowCollectionPadding: false }).trimEnd());
}

function diffPolicies(first: string, second: string | undefined, options: OutputOptions): void {
  const oldPath = second === undefined ? fileOr(undefined, "ROUTING_POLICY_PATH") : first;
  const [before, after] = [loadPolicy(oldPath), loadPolicy(second ?? first)];
  throwProblems(before, after);
  const changes = changesBetween(keysIn(valid(before).policy), keysIn(valid(after).policy));
  const [from, to] = [oldPath ?? defaultPolicyName, second ?? first];
  const text =
    changes.length === 0 ? `${to} changes nothing of ${from}.` : `From ${from} to ${to}:\n${textTable(changes)}`;
  print({ from, to, changes }, options, text);
}

function keysIn({ $schema: _, ...keys }: Policy): object {
  return keys;
}

/** The part of `value` that differs from `base`; undefined when none does. */
function changedFrom(base: unknown, value: unknown): unknown {
  if (!isSection(base) || !isSection(value)) return Bun.deepEquals(base, value) ? undefined : value;
  const changed = Object.entries(value)
    .map(([key, entry]) => [key, changedFrom(base[key], entry)] as const)
    .filter(([, difference]) => difference !== undefined);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** All keys whose values differ, as dotted paths, in order. A list counts as one value; null is what one side does not have. */
function changesBetween(from: unknown, to: unknown, key = ""): readonly { key: string; from: unknown; to: unknown }[] {
  if (!isSection(from) || !isSection(to))
    return Bun.deepEquals(from, to) ? [] : [{ key, from: from ?? null, to: to ?? null }];
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].toSorted();
  return keys.flatMap((name) => changesBetween(from[name], to[name], key === "" ? name : `${key}.${name}`));
}
