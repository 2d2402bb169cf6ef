import { existsSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import type { Command } from "commander";
import { exitCodes, exitWith, printJson } from "#cli/exit.ts";
import type { OverrideAction } from "#health/store/health-store.ts";
import { openHealthStore } from "#health/store/open-health-store.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { nearest } from "#settings/nearest.ts";
import { ownCommand } from "#settings/own-command.ts";
import { formatProblems } from "#settings/problem.ts";
import { parseSettings } from "#settings/settings.ts";

interface OverrideCommand {
  readonly action: OverrideAction;
  readonly summary: string;
  readonly done: (key: string) => string;
}

const follow = "Every gateway on this database follows within a second.";
const commands: readonly OverrideCommand[] = [
  {
    action: "disable",
    summary: "send a model no more traffic, until it is enabled again",
    done: (key) => `${key} is disabled. ${follow} \`${ownCommand(process.env)} models enable ${key}\` lifts it.`,
  },
  {
    action: "enable",
    summary: "lift `disable`; a model that the registry file disables stays disabled",
    done: (key) => `${key} is enabled, as far as the operator is concerned. ${follow}`,
  },
  {
    action: "reset",
    summary:
      "forget what a model has done: pauses, trips, quarantine; a model that was out is probed by the next request",
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
  const fail = (code: 1 | 2, problem: string) => {
    if (json) printJson({ ok: false, problem });
    else console.error(problem);
    exitWith(code);
  };
  const parsed = parseSettings(process.env);
  if (parsed.kind === "invalid") return fail(exitCodes.badUsage, formatProblems(parsed.problems));
  const { databaseUrl, registryPath } = parsed.settings;
  const loaded = loadRegistry(registryPath);
  if (loaded.kind === "invalid") return fail(exitCodes.badUsage, formatProblems(loaded.problems));
  const keys = [...loaded.registry.models.keys()];
  if (!keys.includes(key)) {
    const close = nearest(key, keys);
    const hint = close === undefined ? `known: ${keys.join(", ")}` : `did you mean ${close}?`;
    return fail(exitCodes.badUsage, `no model ${JSON.stringify(key)} in the registry; ${hint}`);
  }
  const unreachable = unreachableFrom(databaseUrl);
  if (unreachable !== undefined) return fail(exitCodes.failed, unreachable);
  const atMs = Date.now();
  try {
    const store = await openHealthStore(databaseUrl);
    try {
      await store.override({ model: key, action: command.action, atMs, by: `${userName()}@${hostname()}` });
    } finally {
      await store.close();
    }
  } catch (error) {
    // The URL holds a password; a driver's message does not quote it.
    return fail(exitCodes.failed, `the database did not take it: ${error instanceof Error ? error.message : error}`);
  }
  if (json) printJson({ ok: true, model: key, action: command.action, at_ms: atMs });
  else console.log(command.done(key));
}

/** Why no gateway could read the override; a mistyped path must not create a new, empty database. */
function unreachableFrom(databaseUrl: string): string | undefined {
  if (!databaseUrl.startsWith("sqlite:")) return undefined;
  const path = databaseUrl.slice("sqlite:".length);
  if (path === ":memory:") return "DATABASE_URL is sqlite::memory:, which no other process can reach";
  if (existsSync(path)) return undefined;
  return `there is no database at ${path}: run the command where the gateway runs, or set DATABASE_URL as it does`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return "operator";
  }
}
