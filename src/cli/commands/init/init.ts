import { mkdirSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { Command, Option } from "commander";
import { exitCodes, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { usd } from "#cli/with-ledger.ts";
import { ownCommand, settingsTable } from "#config/settings.ts";
import { formatUsd, type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { type Answers, askAll, problemIn } from "./questions.ts";
import { terminalQuestions } from "./terminal.ts";

interface InitOptions {
  readonly yes?: true;
  readonly ask?: true;
  readonly upstreamUrl?: string;
  readonly port?: string;
  readonly perDayUsd: NanoUsd;
  readonly perGoalUsd: NanoUsd;
  readonly json?: true;
}

/** The defaults of the policy. */
const perDay = nanoUsd(50_000_000_000);
const perGoal = nanoUsd(5_000_000_000);
/** Above this share of a hard cap, optional pro requests go to flash. */
const softShare = 0.4;

/** `smart-gateway init`: writes settings, policy and model registry to start from; never overwrites. */
export function initCommand(): Command {
  return new Command("init")
    .description(
      "write .env, policy.yaml and models.yaml to start from; on a terminal, ask for the values; keep existing files",
    )
    .argument("[directory]", "where to write", ".")
    .option("-y, --yes", "ask nothing; the key is taken from UPSTREAM_API_KEY where that is set")
    .option("--ask", "ask even if standard input is not a terminal; one answer per line")
    .option("--upstream-url <url>", "base URL of the aggregator; OpenRouter's when absent")
    .option("--port <port>", "port to listen on")
    .addOption(usdOption("--per-day-usd <amount>", "hard cap of a UTC day", perDay))
    .addOption(usdOption("--per-goal-usd <amount>", "hard cap of a goal", perGoal))
    .option("--json", "ask nothing; print {written, kept}")
    .action(init);
}

function usdOption(flags: string, about: string, fallback: NanoUsd): Option {
  return new Option(flags, `${about}, in US dollars`).argParser(usd).default(fallback, formatUsd(fallback));
}

async function init(directory: string, options: InitOptions): Promise<void> {
  const given: Answers = {
    apiKey: process.env["UPSTREAM_API_KEY"] || undefined,
    baseUrl: options.upstreamUrl,
    port: options.port,
    perDayHard: options.perDayUsd,
    perGoalHard: options.perGoalUsd,
  };
  for (const [flag, name, value] of [
    ["--upstream-url", "UPSTREAM_BASE_URL", given.baseUrl],
    ["--port", "PORT", given.port],
  ] as const) {
    const problem = value === undefined ? undefined : problemIn(name, value);
    if (problem === undefined) continue;
    return failWith(exitCodes.badUsage, `${flag} ${problem}`, options);
  }
  const asks = options.ask === true || (process.stdin.isTTY === true && !options.yes && !options.json);
  const answers = asks ? await askOnTerminal(given) : given;
  if (answers === undefined) {
    return failWith(exitCodes.badUsage, "No usable answers: nothing was written.", options);
  }
  writeFiles(directory, answers, options.json === true);
}

async function askOnTerminal(given: Answers): Promise<Answers | undefined> {
  const { ask, end } = terminalQuestions();
  try {
    return await askAll(given, ask, (line) => console.error(line));
  } finally {
    end();
  }
}

function writeFiles(directory: string, answers: Answers, json: boolean): void {
  const written: string[] = [];
  const kept: string[] = [];
  for (const { name, text, mode } of [
    // The key of the aggregator stands in it.
    { name: ".env", text: envFile(answers), mode: 0o600 },
    { name: "policy.yaml", text: policyFile(answers), mode: 0o644 },
    { name: "models.yaml", text: modelsFile, mode: 0o644 },
  ]) {
    const path = join(directory, name);
    try {
      mkdirSync(directory, { recursive: true });
      writeFileSync(path, text, { flag: "wx", mode });
      written.push(path);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      if (code !== "EEXIST") {
        failWith(exitCodes.failed, `cannot write ${path}: ${code}`, { json });
        return;
      }
      kept.push(path);
    }
  }
  if (json) {
    printJson({ written, kept });
    return;
  }
  for (const path of written) print(`written  ${path}`);
  for (const path of kept) print(`kept     ${path} (it exists already)`);
  const first =
    answers.apiKey === undefined
      ? "put your aggregator's key into .env, then check and start it"
      : "check and start it";
  const isHere = relative(directory, ".") === "";
  const own = ownCommandIn(directory);
  const steps = [...(isHere ? [] : [`cd ${directory}`]), `${own} doctor`, `${own} serve`];
  print(`\nNext: ${first}.\n${steps.map((step) => `  ${step}`).join("\n")}`);
}

const root = join(import.meta.dirname, "../../../..");

/** npx finds this package from within its folder. Elsewhere it would fetch another of that name. */
function ownCommandIn(directory: string): string {
  const own = ownCommand(process.env);
  const isOutside = relative(root, directory).startsWith("..") || isAbsolute(relative(root, directory));
  return isOutside && own !== "smart-gateway" ? `node ${join(root, "bin", "smart-gateway.mjs")}` : own;
}

function envFile({ apiKey, baseUrl, port }: Answers): string {
  const chosen: { readonly [name: string]: string | undefined } = {
    UPSTREAM_API_KEY: apiKey,
    UPSTREAM_BASE_URL: baseUrl,
    PORT: port,
    ROUTING_POLICY_PATH: "./policy.yaml",
    MODEL_REGISTRY_PATH: "./models.yaml",
  };
  const settings = Object.entries(settingsTable).flatMap(([name, { fallback, about }]) => {
    const value = chosen[name];
    return ["", `# ${about.replaceAll("`", "")}`, value === undefined ? `#${name}=${fallback}` : `${name}=${value}`];
  });
  return [
    "# Settings of Smart Gateway, read at start from the working directory. Keep this file out of version control.",
    ...settings,
    "",
  ].join("\n");
}

function policyFile({ perDayHard, perGoalHard }: Answers): string {
  const soft = (hard: NanoUsd) => formatUsd(Math.floor(hard * softShare));
  return `# Your routing policy: only what differs from the defaults has to stand here, for example:
# smart-gateway policy show    prints all keys with what is in force
# smart-gateway policy check   says what is wrong with this file
# Changes are taken over while the gateway runs.

# US dollars. Above a soft cap, requests that need not have the pro tier step down; above a hard cap they are denied.
budget:
  per_goal_soft_usd: ${soft(perGoalHard)}
  per_goal_hard_usd: ${formatUsd(perGoalHard)}
  per_day_soft_usd: ${soft(perDayHard)}
  per_day_hard_usd: ${formatUsd(perDayHard)}
`;
}

const modelsFile = `# Your model registry, merged over the shipped one: a record with a key from there changes only what it names.
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
