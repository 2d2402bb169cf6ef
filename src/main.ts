import { Command, CommanderError } from "commander";
import { exitCodes } from "#cli/exit.ts";
import { version } from "../package.json";

/** The process: picks a command and runs it. Only the command that was asked for is loaded, so that each starts fast. */
interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const commands: readonly CommandEntry[] = [
  {
    name: "serve",
    summary: "run the gateway (settings come from the environment; none: demo mode)",
    load: async () => (await import("#cli/commands/serve.ts")).serveCommand(),
  },
  {
    name: "route",
    summary: "print the routing decision for a task, without sending or spending anything",
    load: async () => (await import("#cli/commands/route/route.ts")).routeCommand(),
  },
  {
    name: "policy",
    summary: "check and show the routing policy",
    load: async () => (await import("#cli/commands/policy.ts")).policyCommand(),
  },
  {
    name: "models",
    summary: "the model registry",
    load: async () => (await import("#cli/commands/models/models.ts")).modelsCommand(),
  },
  {
    name: "budgets",
    summary: "what is spent and held, caps of your own, and holds that nobody ends",
    load: async () => (await import("#cli/commands/budgets/budgets.ts")).budgetsCommand(),
  },
  {
    name: "backup",
    summary: "copy the SQLite database into a file, also while gateways run",
    load: async () => (await import("#cli/commands/backup.ts")).backupCommand(),
  },
  {
    name: "privacy",
    summary: "the privacy gate",
    load: async () => (await import("#cli/commands/privacy.ts")).privacyCommand(),
  },
  {
    name: "doctor",
    summary: "check settings, files, database, clock and limits, and say what to do",
    load: async () => (await import("#cli/commands/doctor/doctor.ts")).doctorCommand(),
  },
  {
    name: "init",
    summary: "write a settings file (.env) and a policy file to start from",
    load: async () => (await import("#cli/commands/init.ts")).initCommand(),
  },
];

async function main(args: readonly string[]): Promise<void> {
  const program = new Command("smart-gateway")
    .description("A self-hosted, OpenAI-compatible gateway that routes each chat completion by policy.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError("(add --help to see what there is)")
    .exitOverride();
  for (const { name, summary, load } of commands) {
    program.addCommand(args[0] === name ? inheriting(await load(), program) : new Command(name).description(summary));
  }
  // `help NAME` prints what NAME itself would.
  const asked = args[0] === "help" ? commands.find(({ name }) => name === args[1]) : undefined;
  if (asked !== undefined) return main([asked.name, "--help"]);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help that was asked for has code 0; all else that the parser throws is about how it was called.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.badUsage;
  }
}

/** A command made elsewhere does not know of the program's settings until told. */
function inheriting(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inheriting(child, command);
  return command;
}

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on("error", (error: Error & { code?: string }) => {
  if (error.code !== "EPIPE") throw error;
});
await main(process.argv.slice(2));
