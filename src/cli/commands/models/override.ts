import { hostname, userInfo } from "node:os";
import type { Command } from "commander";
import { exitCodes, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { withDatabase } from "#cli/with-database.ts";
import { formatProblems, nearest } from "#config/problem.ts";
import { ownCommand, parseSettings } from "#config/settings.ts";
import type { OverrideAction } from "#health/store/health-store.ts";
import { openHealthStore } from "#health/store/sql-store.ts";
import { loadRegistry } from "#models/load-registry.ts";

interface OverrideCommand {
  readonly action: OverrideAction;
  readonly summary: string;
  readonly done: (key: string) => string;
}

const follow = "Every gateway on this database follows within a second.";
const commands: readonly OverrideCommand[] = [
  {
    action: "disable",
    summary: "stop sending traffic to a model until it is enabled again",
    done: (key) => `${key} is disabled. ${follow} \`${ownCommand(process.env)} models enable ${key}\` lifts it.`,
  },
  {
    action: "enable",
    summary: "undo `disable`; a model that the registry file disables stays disabled",
    done: (key) => `${key} is enabled, as far as the operator is concerned. ${follow}`,
  },
  {
    action: "reset",
    summary: "clear a model's pauses, trips and quarantine; if it was out of service, the next request probes it",
    done: (key) => `${key} is forgiven what it has done. ${follow}`,
  },
];

/** Adds `disable`, `enable` and `reset` to `smart-gateway models`: the operator's overrides of a model, in the database. */
export function addOverrideCommands(models: Command): void {
  for (const command of commands) {
    models
      .command(command.action)
      .description(command.summary)
      .argument("<key>", "key of the model in the registry")
      .option("--json", "print one JSON object: {ok, model, action, at_ms} or {ok, problem}")
      .action((key: string, options: { readonly json?: true }) => override(command, key, options.json === true));
  }
}

async function override(command: OverrideCommand, key: string, json: boolean): Promise<void> {
  const options = { json };
  const refuse = (problem: string) => failWith(exitCodes.badUsage, problem, options);
  const parsed = parseSettings(process.env);
  if (parsed.kind === "invalid") return refuse(formatProblems(parsed.problems));
  const loaded = loadRegistry(parsed.settings.registryPath);
  if (loaded.kind === "invalid") return refuse(formatProblems(loaded.problems));
  const keys = [...loaded.registry.models.keys()];
  if (!keys.includes(key)) {
    const close = nearest(key, keys);
    const hint = close === undefined ? `known: ${keys.join(", ")}` : `did you mean ${close}?`;
    return refuse(`no model ${JSON.stringify(key)} in the registry; ${hint}`);
  }
  await withDatabase(process.env, options, "The database did not take it", async (url) => {
    const atMs = Date.now();
    const store = await openHealthStore(url);
    try {
      await store.override({ model: key, action: command.action, atMs, by: `${userName()}@${hostname()}` });
    } finally {
      await store.close();
    }
    if (json) printJson({ ok: true, model: key, action: command.action, at_ms: atMs });
    else print(command.done(key));
  });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return "operator";
  }
}
