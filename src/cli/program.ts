import { Command } from "commander";
import { version } from "../../package.json";
import { examples } from "./examples.ts";
import { withExamples } from "./help.ts";

/** Only the command that was asked for is loaded, so that each starts fast. */
interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const commands: readonly CommandEntry[] = [
  {
    name: "serve",
    summary: "run the gateway (settings come from the environment; none: demo mode)",
    load: async () => (await import("#cli/commands/serve/serve.ts")).serveCommand(),
  },
  {
    name: "init",
    summary: "write settings, policy and model registry to start from; asks on a terminal",
    load: async () => (await import("#cli/commands/init/init.ts")).initCommand(),
  },
  {
    name: "doctor",
    summary: "check settings, files, database, upstream, prices, money and limits, and say what to do",
    load: async () => (await import("#cli/commands/doctor/doctor.ts")).doctorCommand(),
  },
  {
    name: "route",
    summary: "print the routing decision for a task, without sending or spending anything",
    load: async () => (await import("#cli/commands/route/route.ts")).routeCommand(),
  },
  {
    name: "explain",
    summary: "say why a request went where it went, and what would have changed it",
    load: async () => (await import("#cli/commands/decisions/decisions.ts")).explainCommand(),
  },
  {
    name: "decisions",
    summary: "the decision records: follow them, look one up, export them",
    load: async () => (await import("#cli/commands/decisions/decisions.ts")).decisionsCommand(),
  },
  {
    name: "policy",
    summary: "check, show, compare and backtest routing policies, and learn from outcomes",
    load: async () => (await import("#cli/commands/policy/policy.ts")).policyCommand(),
  },
  {
    name: "models",
    summary: "the model registry, its prices, and what is in service",
    load: async () => (await import("#cli/commands/models/models.ts")).modelsCommand(),
  },
  {
    name: "budgets",
    summary: "what is spent and held, caps of your own, and holds that nobody ends",
    load: async () => (await import("#cli/commands/budgets/budgets.ts")).budgetsCommand(),
  },
  {
    name: "statusline",
    summary: "one line for a coding agent's status bar: model, spend, what is left",
    load: async () => (await import("#cli/commands/statusline.ts")).statuslineCommand(),
  },
  {
    name: "demo",
    summary: "send sample traffic to a gateway in demo mode",
    load: async () => (await import("#cli/commands/demo/demo.ts")).demoCommand(),
  },
  {
    name: "privacy",
    summary: "the privacy gate",
    load: async () => (await import("#cli/commands/privacy.ts")).privacyCommand(),
  },
  {
    name: "backup",
    summary: "copy the SQLite database into a file, also while gateways run",
    load: async () => (await import("#cli/commands/backup.ts")).backupCommand(),
  },
  {
    name: "completion",
    summary: "print the completion script of a shell",
    load: async () => (await import("#cli/commands/completion.ts")).completionCommand(),
  },
];

export const commandNames: readonly string[] = commands.map(({ name }) => name);

/**
 * The program with the commands loaded that `wanted` selects; the others have only their names and summaries. `silentErrors`: the parser
 * throws what is wrong with the arguments, and does not print it as well.
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
  for (const { name, summary, load } of commands) {
    program.addCommand(wanted(name) ? completed(await load(), program, name) : new Command(name).description(summary));
  }
  return program;
}

/** Adds the program's settings and the examples to a command. */
function completed(command: Command, parent: Command, path: string): Command {
  command.copyInheritedSettings(parent);
  const own = examples[path];
  if (own !== undefined) withExamples(command, own);
  for (const child of command.commands) completed(child, command, `${path} ${child.name()}`);
  return command;
}
