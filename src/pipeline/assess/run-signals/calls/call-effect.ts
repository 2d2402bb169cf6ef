import { showsByScript } from "./inline-script.ts";
import { commandsRunBy } from "./python-script.ts";
import { type CommandEffect, effectOfCommand } from "./shell-command.ts";
import type { ToolCall } from "./tool-call.ts";
import { changesFiles, editorCommandIn, executesCode } from "./tools.ts";

/** What a tool call does, and the command it runs, if it runs one. */
export interface CallEffect extends CommandEffect {
  /** Text of the command; empty for tools that take none. */
  readonly command: string;
  /** Runs a script in the command line that only shows what it reads. */
  readonly showsByScript: boolean;
}

const nothing: CallEffect = { changes: false, reverts: false, runs: false, command: "", showsByScript: false };
const commandNames = ["command", "cmd", "script", "shell_command", "commands", "code", "input"];
const commandTag = /<(command|cmd|script|code)>([\s\S]{0,6000}?)<\/\1>/;
const maxCommandLength = 6_000;
/** Longer arguments are the text of a file. */
const maxArgumentsLength = 64_000;

export function effectOf(call: ToolCall | undefined): CallEffect {
  if (call === undefined) return nothing;
  if (changesFiles(call.name)) {
    const editing = editorCommandIn(call.args);
    if (editing === "view") return nothing;
    return { ...nothing, changes: true, reverts: editing === "undo_edit" };
  }
  if (!executesCode(call.name)) return nothing;
  const command = commandOf(call.args);
  // A tool that runs something of its own, such as `run_tests`, has no command to look at.
  if (command === "") return { ...nothing, runs: true, command: `${call.name} ${call.args}` };
  const effect = effectOfCommand(command);
  const commands = commandsRunBy(command);
  if (commands !== undefined) return effectOfScript(effect, commands);
  return { ...effect, command, showsByScript: effect.runs && !effect.changes && showsByScript(command) };
}

/** Of a script that runs commands: what these do, and the files that it writes itself. */
function effectOfScript({ changes }: CommandEffect, commands: string): CallEffect {
  const effect = effectOfCommand(commands);
  return { ...effect, changes: changes || effect.changes, command: commands, showsByScript: false };
}

/** The command in a call's arguments: JSON text, the XML that some agents have models write, or the command itself. */
function commandOf(args: string): string {
  if (args.startsWith("{") || args.startsWith("[")) return commandInJson(args);
  const tagged = args.includes("<") ? commandTag.exec(args) : null;
  return tagged === null ? args.slice(0, maxCommandLength) : (tagged[2] ?? "");
}

function commandInJson(args: string): string {
  if (args.length > maxArgumentsLength) return "";
  let parsed: unknown;
  try {
    parsed = JSON.parse(args);
  } catch {
    return ""; // a model's own JSON, which nobody has checked
  }
  if (typeof parsed !== "object" || parsed === null) return "";
  for (const name of commandNames) {
    const value = (parsed as Record<string, unknown>)[name]; // an object, checked above
    if (typeof value === "string") return value.slice(0, maxCommandLength);
    // `["bash", "-lc", "…"]`: the words follow one another.
    if (Array.isArray(value))
      return value
        .join(" ")
        .replace(/^\S*sh -l?c /, "")
        .slice(0, maxCommandLength);
  }
  return "";
}
