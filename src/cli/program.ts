import { Command, Option } from "commander";
import { version } from "#build.ts";
import { readEnvFile } from "#config/env-file.ts";
import type { CommandSpec, OptionSpec } from "./options.ts";
import { printResult, type Result, valid } from "./output.ts";

/** Names, summaries, and where the commands are: only those that were asked for are loaded. */
const groups: {
  readonly [name: string]: readonly [
    summary: string,
    load: () => Promise<{ readonly commands: readonly CommandSpec[] }>,
  ];
} = {
  serve: ["run the gateway; without settings in demo mode", () => import("./commands/serve.ts")],
  init: [
    "write settings, policy and models to start from; takes key, base URL and port from the environment",
    () => import("./commands/init.ts"),
  ],
  doctor: ["check what a gateway depends on; say how to fix problems", () => import("./commands/doctor.ts")],
  healthcheck: ["ask the running gateway whether it can serve", () => import("./commands/healthcheck.ts")],
  route: ["print where a request would go and why; sends nothing", () => import("./commands/route.ts")],
  explain: ["say why a request went where it went", () => import("./commands/decisions.ts")],
  decisions: ["what was asked, decided, answered and paid", () => import("./commands/decisions.ts")],
  policy: ["check, show, compare, backtest and learn policies", () => import("./commands/policy.ts")],
  models: ["the model registry, its prices, and what is in service", () => import("./commands/models.ts")],
  budgets: ["what is spent and held, your own caps, and single holds", () => import("./commands/budgets.ts")],
  keys: ["callers' tokens: make, list and withdraw them", () => import("./commands/keys.ts")],
  demo: ["show a gateway in demo mode at work", () => import("./commands/demo.ts")],
  privacy: ["the privacy gate", () => import("./commands/privacy.ts")],
  backup: ["copy the SQLite database, also while gateways run", () => import("./commands/database.ts")],
  migrate: ["bring the database to this version's schema", () => import("./commands/database.ts")],
};

/** `wanted` selects the commands that are loaded. `silentErrors`: the parser only throws what is wrong. */
export async function programWith(
  wanted: (name: string) => boolean,
  { silentErrors = false }: { readonly silentErrors?: boolean } = {},
): Promise<Command> {
  const program = new Command("smart-gateway")
    .description("A self-hosted, OpenAI-compatible gateway that routes each chat completion by policy.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError("(add --help to see what there is)")
    .exitOverride();
  // All commands read their settings from the environment, which goes before the file.
  program.hook("preAction", (_, command) => {
    const file: string | undefined = command.opts()["envFile"];
    if (file !== undefined) for (const [name, value] of valid(readEnvFile(file)).values) process.env[name] ||= value;
  });
  if (silentErrors) program.configureOutput({ writeErr: () => {} });
  for (const [name, [summary, load]] of Object.entries(groups)) {
    const group = program.command(name).description(summary);
    if (!wanted(name)) continue;
    for (const spec of (await load()).commands) {
      const [first, second] = spec.name.split(" ");
      if (first !== name) continue;
      define(second === undefined ? group : group.command(second, { isDefault: spec.isDefault ?? false }), spec);
    }
  }
  return program;
}

function define(
  command: Command,
  { name, summary, example = `smart-gateway ${name}`, run, ...spec }: CommandSpec,
): void {
  if (summary !== undefined) command.description(summary);
  for (const [flags, about, fallback] of spec.arguments ?? []) command.argument(flags, about, fallback);
  for (const option of spec.options ?? []) command.addOption(option instanceof Option ? option : optionFrom(option));
  if (!command.options.some(({ long }) => long === "--json")) command.option("--json", "print JSON");
  command.option(
    "--env-file <file>",
    "settings as NAME=value lines, each value literally; the environment goes before",
  );
  command.addHelpText("after", `\nExample: ${example}`);
  // The parser gives what the spec declares, and then the command.
  const runWith = run as (...given: unknown[]) => Result | undefined | Promise<Result | undefined>;
  command.action(async (...given) => {
    const result = await runWith(...given);
    if (result !== undefined) printResult(result, command.opts()["json"] === true);
  });
}

function optionFrom([flags, about, parse, fallback]: Exclude<OptionSpec, Option>): Option {
  const option = new Option(flags, about);
  if (parse !== undefined) option.argParser((text) => parse(text));
  // The help shows what would be typed: of a duration, for example, not the moment that it is now.
  return fallback === undefined ? option : option.default(parse === undefined ? fallback : parse(fallback), fallback);
}
