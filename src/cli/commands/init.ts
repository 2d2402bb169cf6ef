import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type CommandSpec, usd } from "#cli/options.ts";
import { type Result, valid } from "#cli/output.ts";
import { ownCommand, parseSettings, settingsTable } from "#config/settings.ts";
import { formatUsd, type NanoUsd } from "#domain/money/money.ts";
import { unavailable } from "#operator/problem.ts";

interface InitOptions {
  readonly perDayUsd: NanoUsd;
  readonly perGoalUsd: NanoUsd;
}

export const commands: readonly CommandSpec[] = [
  {
    name: "init",
    arguments: [["[directory]", "where to write", "."]],
    options: [
      ["--per-day-usd <amount>", "hard cap of a UTC day, in US dollars", usd("down"), "50"],
      ["--per-goal-usd <amount>", "hard cap of a goal, in US dollars", usd("down"), "5"],
    ],
    example: "UPSTREAM_API_KEY=… PORT=9000 smart-gateway init gateway --per-day-usd 10",
    run: init,
  },
];

function init(directory: string, options: InitOptions): Result {
  const { UPSTREAM_API_KEY, UPSTREAM_BASE_URL, PORT } = process.env;
  const chosen = { UPSTREAM_API_KEY, UPSTREAM_BASE_URL, PORT };
  valid(parseSettings(chosen));
  const written: string[] = [];
  const kept: string[] = [];
  for (const [name, text, mode] of [
    // The key of the aggregator stands in it.
    [".env", envFile({ ...chosen, ROUTING_POLICY_PATH: "./policy.yaml", MODEL_REGISTRY_PATH: "./models.yaml" }), 0o600],
    ["policy.yaml", policyFile(options), 0o644],
    ["models.yaml", modelsFile, 0o644],
  ] as const) {
    const path = join(directory, name);
    try {
      mkdirSync(directory, { recursive: true });
      writeFileSync(path, text, { flag: "wx", mode });
      written.push(path);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      if (code !== "EEXIST") throw unavailable(`cannot write ${path}: ${code}`);
      kept.push(path);
    }
  }
  const keyFirst = !UPSTREAM_API_KEY ? "put your aggregator's key into .env, then " : "";
  const own = ownCommandIn(directory);
  const lines = [
    ...written.map((path) => `written  ${path}`),
    ...kept.map((path) => `kept     ${path} (it exists already)`),
    `\nNext: ${keyFirst}check and start it.`,
    ...(relative(directory, ".") === "" ? [] : [`  cd ${directory}`]),
    `  ${own} doctor --env-file .env`,
    `  ${own} serve --env-file .env`,
  ];
  return { value: { written, kept }, text: lines.join("\n") };
}

const root = join(import.meta.dirname, "../../..");

/** Of a clone, npx finds this package from within its folder only. Elsewhere it would fetch the published one. */
function ownCommandIn(directory: string): string {
  const own = ownCommand(process.env);
  const isOutside = relative(root, directory).startsWith("..") && existsSync(join(root, "package-lock.json"));
  return isOutside && own !== "smart-gateway" ? `node ${join(root, "bin", "smart-gateway.mjs")}` : own;
}

function envFile(chosen: Readonly<Record<string, string | undefined>>): string {
  const settings = Object.entries(settingsTable).map(([name, { fallback, about }]) => {
    const line = chosen[name] ? `${name}=${chosen[name]}` : `#${name}=${fallback}`;
    return `\n# ${about.replaceAll("`", "")}\n${line}\n`;
  });
  return `# Settings of Smart Gateway, for --env-file of its commands and of docker. Each value is taken as it stands,
# without quotes. Keep this file out of version control.\n${settings.join("")}`;
}

/** The soft caps are 40 % of the hard ones: above them, optional pro requests go to flash. */
function policyFile({ perDayUsd, perGoalUsd }: InitOptions): string {
  const soft = (hard: NanoUsd) => formatUsd(Math.floor(hard * 0.4));
  return `# Your routing policy: only what differs from the defaults has to stand here.
# smart-gateway policy show    prints all keys with what is in force
# smart-gateway policy check   says what is wrong with this file
# Changes are taken over while the gateway runs.

# US dollars. Above a soft cap, requests that need not have the pro tier step down; above a hard cap they are denied.
budget:
  per_goal_soft_usd: ${soft(perGoalUsd)}
  per_goal_hard_usd: ${formatUsd(perGoalUsd)}
  per_day_soft_usd: ${soft(perDayUsd)}
  per_day_hard_usd: ${formatUsd(perDayUsd)}
`;
}

const modelsFile = `# Your model registry, merged over the shipped one: a record with a key of it changes only what it names.
# smart-gateway models         prints what is in force, and where each price comes from
# smart-gateway models sync    compares the prices with your aggregator's lists
# Changes are taken over while the gateway runs. Another model for the flash tier would be:
#
# models:
#   vendor_v4_flash:
#     upstream_id: author/slug
#     prices: { input: 0.14, cached_input: 0.0028, output: 0.28 }
models: {}
`;
