import { Command } from "commander";
import { version } from "../../package.json";

/** Only the command that was asked for is loaded, so that each starts fast. */
interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Adds arguments, options, subcommands and actions. */
  setUp(command: Command): Promise<void>;
}

const commands: readonly CommandEntry[] = [
  {
    name: "serve",
    summary: "run the gateway (settings come from the environment; none: demo mode)",
    setUp: async (command) => (await import("./commands/serve.ts")).setUpServe(command),
  },
  {
    name: "init",
    summary: "write .env, policy.yaml and models.yaml to start from; keeps existing files",
    setUp: async (command) => (await import("./commands/init.ts")).setUpInit(command),
  },
  {
    name: "doctor",
    summary: "check settings, files, database, upstream, key, prices, money and limits, and say how to fix problems",
    setUp: async (command) => (await import("./commands/doctor.ts")).setUpDoctor(command),
  },
  {
    name: "healthcheck",
    summary: "ask the running gateway for its health; exit code 1 when it cannot serve",
    setUp: async (command) => (await import("./commands/healthcheck.ts")).setUpHealthcheck(command),
  },
  {
    name: "route",
    summary: "print where a request would be routed and why, without sending or spending anything",
    setUp: async (command) => (await import("./commands/route.ts")).setUpRoute(command),
  },
  {
    name: "explain",
    summary: "say why a request went where it went, and what would have changed it",
    setUp: async (command) => (await import("./commands/decisions.ts")).setUpExplain(command),
  },
  {
    name: "decisions",
    summary: "the decision records: what was asked, decided, answered and paid",
    setUp: async (command) => (await import("./commands/decisions.ts")).setUpDecisions(command),
  },
  {
    name: "policy",
    summary: "check, show, compare and backtest routing policies, and learn from outcomes",
    setUp: async (command) => (await import("./commands/policy.ts")).setUpPolicy(command),
  },
  {
    name: "models",
    summary: "the model registry, its prices, and what is in service",
    setUp: async (command) => (await import("./commands/models.ts")).setUpModels(command),
  },
  {
    name: "budgets",
    summary: "what is spent and held, caps of your own, and holds that nobody ends",
    setUp: async (command) => (await import("./commands/budgets.ts")).setUpBudgets(command),
  },
  {
    name: "demo",
    summary: "show a gateway in demo mode at work",
    setUp: async (command) => (await import("./commands/demo.ts")).setUpDemo(command),
  },
  {
    name: "privacy",
    summary: "the privacy gate",
    setUp: async (command) => (await import("./commands/privacy.ts")).setUpPrivacy(command),
  },
  {
    name: "backup",
    summary: "copy the SQLite database of DATABASE_URL to a new file, also while gateways run",
    setUp: async (command) => (await import("./commands/database.ts")).setUpBackup(command),
  },
  {
    name: "migrate",
    summary: "bring the database of DATABASE_URL to this version's schema, as a start of the gateway does",
    setUp: async (command) => (await import("./commands/database.ts")).setUpMigrate(command),
  },
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
  for (const { name, summary, setUp } of commands) {
    const command = program.command(name).description(summary);
    if (!wanted(name)) continue;
    await setUp(command);
    for (const leaf of command.commands.length === 0 ? [command] : command.commands) {
      if (!leaf.options.some(({ long }) => long === "--json")) leaf.option("--json", "print JSON");
    }
  }
  return program;
}
