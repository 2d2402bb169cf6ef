import { mkdirSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { type Command, Option } from "commander";
import { usd } from "#cli/options.ts";
import { badUsage, failed, type OutputOptions, print } from "#cli/output.ts";
import { ownCommand, parseSettings, settingsTable } from "#config/settings.ts";
import { formatUsd, type NanoUsd, nanoUsd, parseUsd } from "#domain/money/money.ts";

/** What the files are written from: settings, and hard caps in US dollars; empty is not set. */
type Answers = Record<"UPSTREAM_API_KEY" | "UPSTREAM_BASE_URL" | "PORT" | "perDayUsd" | "perGoalUsd", string>;

interface InitOptions extends OutputOptions {
  readonly yes?: true;
  readonly ask?: true;
  readonly upstreamUrl?: string;
  readonly port?: string;
  readonly perDayUsd: NanoUsd;
  readonly perGoalUsd: NanoUsd;
}

/** Above this share of a hard cap, optional pro requests go to flash. */
const softShare = 0.4;

/** `smart-gateway init`: writes settings, policy and model registry to start from; never overwrites. */
export function setUpInit(command: Command): void {
  const cap = (flags: string, about: string, fallback: number) =>
    new Option(flags, `${about}, in US dollars`)
      .argParser(usd("down"))
      .default(nanoUsd(fallback * 1_000_000_000), String(fallback));
  command
    .argument("[directory]", "where to write", ".")
    .option("-y, --yes", "ask nothing; the key is taken from UPSTREAM_API_KEY where that is set")
    .option("--ask", "ask even if standard input is not a terminal; one answer per line")
    .option("--upstream-url <url>", "base URL of the aggregator; OpenRouter's when absent")
    .option("--port <port>", "port to listen on")
    // The defaults of the policy.
    .addOption(cap("--per-day-usd <amount>", "hard cap of a UTC day", 50))
    .addOption(cap("--per-goal-usd <amount>", "hard cap of a goal", 5))
    .option("--json", "ask nothing; print {written, kept}")
    .addHelpText("after", "\nExample: smart-gateway init gateway --yes --per-day-usd 10")
    .action(init);
}

async function init(directory: string, options: InitOptions): Promise<void> {
  const given: Answers = {
    UPSTREAM_API_KEY: process.env["UPSTREAM_API_KEY"] ?? "",
    UPSTREAM_BASE_URL: options.upstreamUrl ?? "",
    PORT: options.port ?? "",
    perDayUsd: formatUsd(options.perDayUsd),
    perGoalUsd: formatUsd(options.perGoalUsd),
  };
  for (const [flag, name] of [
    ["--upstream-url", "UPSTREAM_BASE_URL"],
    ["--port", "PORT"],
  ] as const) {
    const problem = problemIn(name, given[name]);
    if (problem !== undefined) throw badUsage(`${flag} ${problem}`);
  }
  const asks = options.ask === true || (process.stdin.isTTY === true && !options.yes && !options.json);
  const answers = asks ? await askAll(given) : given;
  const { written, kept } = writeFiles(directory, answers);
  const first =
    answers.UPSTREAM_API_KEY === ""
      ? "put your aggregator's key into .env, then check and start it"
      : "check and start it";
  const own = ownCommandIn(directory);
  const lines = [
    ...written.map((path) => `written  ${path}`),
    ...kept.map((path) => `kept     ${path} (it exists already)`),
    `\nNext: ${first}.`,
    ...(relative(directory, ".") === "" ? [] : [`  cd ${directory}`]),
    `  ${own} doctor`,
    `  ${own} serve`,
  ];
  print({ written, kept }, options, lines.join("\n"));
}

/** Why a value is not valid; undefined when it is, or is empty. Settings are checked by their own schema. */
function problemIn(name: keyof Answers, value: string): string | undefined {
  if (value === "") return undefined;
  if (name === "perDayUsd" || name === "perGoalUsd")
    return parseUsd(value, "down") === undefined ? "an amount such as 7.50" : undefined;
  const parsed = parseSettings({ [name]: value });
  return parsed.kind === "ok" ? undefined : parsed.problems.find(({ path }) => path === name)?.message;
}

const questions: readonly (readonly [keyof Answers, question: string, fallback: string])[] = [
  ["UPSTREAM_API_KEY", "Key of your aggregator (is not shown; empty: demo mode, nothing is spent)", ""],
  ["UPSTREAM_BASE_URL", "Its base URL", settingsTable.UPSTREAM_BASE_URL.fallback],
  ["PORT", "Port to listen on", settingsTable.PORT.fallback],
  ["perDayUsd", "Most that may be spent in a UTC day, in US dollars", ""],
  ["perGoalUsd", "Most that may be spent for one goal", ""],
];
const tries = 3;

/**
 * Asks for each value: questions on standard error, answers from standard input, a terminal or lines from a pipe. An empty line takes
 * the default.
 */
async function askAll(given: Answers): Promise<Answers> {
  const { stdin, stderr } = process;
  const lines = createInterface({ input: stdin, terminal: false });
  const input = lines[Symbol.asyncIterator]();
  const answers = { ...given, UPSTREAM_API_KEY: "" };
  const ask = async (name: keyof Answers, question: string): Promise<string> => {
    for (let attempt = 0; attempt < tries; attempt++) {
      const hidden = name === "UPSTREAM_API_KEY" && stdin.isTTY === true;
      stderr.write(question);
      // The terminal driver echoes input unless echo is switched off.
      if (hidden) setEcho(false);
      const { done, value } = await input.next().finally(() => hidden && setEcho(true));
      if (stdin.isTTY !== true || hidden) stderr.write("\n");
      if (done === true) break;
      const problem = problemIn(name, value.trim());
      if (problem === undefined) return value.trim();
      stderr.write(`${problem}\n`);
    }
    throw badUsage("No usable answers: nothing was written.");
  };
  try {
    stderr.write("An empty answer takes what stands in brackets.\n\n");
    for (const [name, question, fallback] of questions) {
      // Without a key there is no aggregator to name.
      if (name === "UPSTREAM_BASE_URL" && answers.UPSTREAM_API_KEY === "") continue;
      const shown = answers[name] || fallback;
      answers[name] = (await ask(name, `${question}${shown === "" ? "" : ` [${shown}]`}: `)) || answers[name];
    }
    return answers;
  } finally {
    lines.close();
    stdin.destroy();
  }
}

function setEcho(on: boolean): void {
  Bun.spawnSync(["stty", on ? "echo" : "-echo"], { stdin: "inherit", stdout: "ignore", stderr: "ignore" });
}

function writeFiles(directory: string, answers: Answers) {
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
      if (code !== "EEXIST") throw failed(`cannot write ${path}: ${code}`);
      kept.push(path);
    }
  }
  return { written, kept };
}

const root = join(import.meta.dirname, "../../..");

/** npx finds this package from within its folder. Elsewhere it would fetch another of that name. */
function ownCommandIn(directory: string): string {
  const own = ownCommand(process.env);
  const isOutside = relative(root, directory).startsWith("..") || isAbsolute(relative(root, directory));
  return isOutside && own !== "smart-gateway" ? `node ${join(root, "bin", "smart-gateway.mjs")}` : own;
}

function envFile(answers: Answers): string {
  const chosen: Readonly<Record<string, string>> = {
    ...answers,
    ROUTING_POLICY_PATH: "./policy.yaml",
    MODEL_REGISTRY_PATH: "./models.yaml",
  };
  const settings = Object.entries(settingsTable).flatMap(([name, { fallback, about }]) => {
    const value = chosen[name] || undefined;
    return ["", `# ${about.replaceAll("`", "")}`, value === undefined ? `#${name}=${fallback}` : `${name}=${value}`];
  });
  return [
    "# Settings of Smart Gateway, read at start from the working directory. Keep this file out of version control.",
    ...settings,
    "",
  ].join("\n");
}

function policyFile({ perDayUsd, perGoalUsd }: Answers): string {
  const soft = (hard: string) => formatUsd(Math.floor((parseUsd(hard, "down") ?? 0) * softShare));
  return `# Your routing policy: only what differs from the defaults has to stand here, for example:
# smart-gateway policy show    prints all keys with what is in force
# smart-gateway policy check   says what is wrong with this file
# Changes are taken over while the gateway runs.

# US dollars. Above a soft cap, requests that need not have the pro tier step down; above a hard cap they are denied.
budget:
  per_goal_soft_usd: ${soft(perGoalUsd)}
  per_goal_hard_usd: ${perGoalUsd}
  per_day_soft_usd: ${soft(perDayUsd)}
  per_day_hard_usd: ${perDayUsd}
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
