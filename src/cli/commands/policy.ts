import { stringify } from "yaml";
import { type CommandSpec, type ConfigOptions, configIn, fileOr, time } from "#cli/options.ts";
import { invalid, type Result, textTable, valid } from "#cli/output.ts";
import { differences } from "#config/config-changes.ts";
import { jsonSchemaOf } from "#config/json-schema.ts";
import { defaultPolicyName, loadPolicy } from "#config/load-policy.ts";
import { Policy } from "#config/policy.ts";
import { formatProblems } from "#config/problem.ts";
import { dollarText } from "#domain/money/money.ts";
import { ModelRegistryOverlay } from "#models/schema.ts";
import { boundedId } from "#records/build-record.ts";
import { runBacktest } from "./backtest.ts";
import { learn } from "./learn.ts";

const paths: Pick<Required<CommandSpec>, "arguments" | "options"> = {
  arguments: [["[file]", "policy file; ROUTING_POLICY_PATH, else the defaults, when absent"]],
  options: [["--models <file>", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent"]],
};

export const commands: readonly CommandSpec[] = [
  {
    name: "policy check",
    summary: "list all problems of a policy file, checked together with the model registry",
    ...paths,
    example: "smart-gateway policy check policy.yaml",
    run: checkPolicy,
  },
  {
    name: "policy show",
    summary: "print the policy in force: the file merged over the defaults, as YAML",
    ...paths,
    example: "smart-gateway policy show policy.yaml",
    run: showPolicy,
  },
  {
    name: "policy schema",
    summary: "print the JSON Schema of the policy file, for editors",
    options: [["--models", "the schema of the model registry file instead"]],
    example: "smart-gateway policy schema > policy.schema.json",
    run({ models }: { readonly models?: true }): Result {
      const [schema, title] = models ? [ModelRegistryOverlay, "model registry"] : [Policy, "routing policy"];
      const value = jsonSchemaOf(schema, `Smart Gateway ${title}`);
      return { value, text: JSON.stringify(value, null, 2) };
    },
  },
  {
    name: "policy diff",
    summary: "print every key that differs between two policies: the one in force and a file, or two files",
    arguments: [
      ["<file>", "the new policy file; with a second one: the old"],
      ["[other-file]", "the new policy file"],
    ],
    example: "smart-gateway policy diff old.yaml new.yaml --json",
    run: diffPolicies,
  },
  {
    name: "policy learn",
    summary: "compute the score's thresholds from the recorded outcomes, and show what they would have changed",
    arguments: paths.arguments,
    options: [
      ["--since <time>", "use the records since this time: 30d, 12h ago, a UTC day", time, "30d"],
      ["--write", "write them to the policy file"],
      ...paths.options,
    ],
    example: "smart-gateway policy learn --since 90d --write",
    run: learn,
  },
  {
    name: "policy backtest",
    summary: "replay the recorded requests under a policy file, and print what would have changed",
    arguments: [["<file>", "the policy to try"]],
    options: [
      ["--since <moment>", "only requests since this time: 24h, 30d ago, a UTC day, or an ISO 8601 time", time, "30d"],
      ["--until <moment>", "only requests before this time (default: now)", time],
      ["--goal <goal>", "only this goal", boundedId],
      ["--models <file>", "model registry file, for records whose own registry is not stored any more"],
    ],
    example: "smart-gateway policy backtest new.yaml --since 7d --json | jq .after.cost_nano_usd",
    run: runBacktest,
  },
];

function checkPolicy(file: string | undefined, options: ConfigOptions): Result {
  const { caps, warnings } = configIn(file, options.models);
  const { goalSoft, goalHard, daySoft, dayHard } = caps;
  const lines = [
    `${fileOr(file, "policyPath") ?? defaultPolicyName}: ok`,
    `  per goal  soft ${dollarText(goalSoft)}  hard ${dollarText(goalHard)}`,
    `  per day   soft ${dollarText(daySoft)}  hard ${dollarText(dayHard)}`,
    ...(goalHard === 0 || dayHard === 0
      ? ["  A hard cap is zero: every request that costs anything will be denied."]
      : []),
    ...(warnings.length > 0 ? [formatProblems(warnings)] : []),
  ];
  return { value: { ok: true, problems: [], warnings }, text: lines.join("\n") };
}

function showPolicy(file: string | undefined, options: ConfigOptions): Result {
  const policy = keysIn(configIn(file, options.models).policy);
  return { value: policy, text: stringify(policy, { flowCollectionPadding: false }).trimEnd() };
}

function diffPolicies(first: string, second: string | undefined): Result {
  const oldPath = second === undefined ? fileOr(undefined, "policyPath") : first;
  const [before, after] = [loadPolicy(oldPath), loadPolicy(second ?? first)];
  const problems = [before, after].flatMap((each) => (each.kind === "invalid" ? each.problems : []));
  if (problems.length > 0) throw invalid(problems);
  const changes = differences(keysIn(valid(before).policy), keysIn(valid(after).policy))
    .map(({ path, from, to }) => ({ key: path, from: from ?? null, to: to ?? null }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const [from, to] = [oldPath ?? defaultPolicyName, second ?? first];
  const text =
    changes.length === 0 ? `${to} changes nothing of ${from}.` : `From ${from} to ${to}:\n${textTable(changes)}`;
  return { value: { from, to, changes }, text };
}

function keysIn({ $schema: _, ...keys }: Policy): object {
  return keys;
}
