import { Command } from "commander";
import { version } from "../../package.json";

type SetUp = (command: Command) => void;

/** Name, summary, and what adds arguments, options, subcommands and actions: only the command that was asked for is loaded. */
const commands: readonly (readonly [name: string, summary: string, load: () => Promise<SetUp>])[] = [
  [
    "serve",
    "run the gateway (settings come from the environment; none: demo mode)",
    async () => (await import("./commands/serve.ts")).setUpServe,
  ],
  [
    "init",
    "write .env, policy.yaml and models.yaml to start from; keeps existing files",
    async () => (await import("./commands/init.ts")).setUpInit,
  ],
  [
    "doctor",
    "check settings, files, database, upstream, key, prices, money and limits, and say how to fix problems",
    async () => (await import("./commands/doctor.ts")).setUpDoctor,
  ],
  [
    "healthcheck",
    "ask the running gateway for its health; exit code 1 when it cannot serve",
    async () => (await import("./commands/healthcheck.ts")).setUpHealthcheck,
  ],
  [
    "route",
    "print where a request would be routed and why, without sending or spending anything",
    async () => (await import("./commands/route.ts")).setUpRoute,
  ],
  [
    "explain",
    "say why a request went where it went, and what would have changed it",
    async () => (await import("./commands/decisions.ts")).setUpExplain,
  ],
  [
    "decisions",
    "the decision records: what was asked, decided, answered and paid",
    async () => (await import("./commands/decisions.ts")).setUpDecisions,
  ],
  [
    "policy",
    "check, show, compare and backtest routing policies, and learn from outcomes",
    async () => (await import("./commands/policy.ts")).setUpPolicy,
  ],
  [
    "models",
    "the model registry, its prices, and what is in service",
    async () => (await import("./commands/models.ts")).setUpModels,
  ],
  [
    "budgets",
    "what is spent and held, caps of your own, and holds that nobody ends",
    async () => (await import("./commands/budgets.ts")).setUpBudgets,
  ],
  ["demo", "show a gateway in demo mode at work", async () => (await import("./commands/demo.ts")).setUpDemo],
  ["privacy", "the privacy gate", async () => (await import("./commands/privacy.ts")).setUpPrivacy],
  [
    "backup",
    "copy the SQLite database of DATABASE_URL to a new file, also while gateways run",
    async () => (await import("./commands/database.ts")).setUpBackup,
  ],
  [
    "migrate",
    "bring the database of DATABASE_URL to this version's schema, as a start of the gateway does",
    async () => (await import("./commands/database.ts")).setUpMigrate,
  ],
];

/**
 * The program with the commands set up that `wanted` selects; the others have only their names and summaries. `silentErrors`: the
 * parser throws what is wrong with the arguments, and does not print it as well.
 */
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
  if (silentErrors) program.configureOutput({ writeErr: () => {} });
  for (const [name, summary, load] of commands) {
    const command = program.command(name).description(summary);
    if (!wanted(name)) continue;
    (await load())(command);
    for (const leaf of command.commands.length === 0 ? [command] : command.commands) {
      if (!leaf.options.some(({ long }) => long === "--json")) leaf.option("--json", "print JSON");
    }
  }
  return program;
}
