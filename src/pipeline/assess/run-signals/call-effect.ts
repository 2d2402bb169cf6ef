import type { ToolCall } from "#pipeline/assess/envelope/conversation-types.ts";
import { type CommandEffect, effectOfCommand } from "./shell-command.ts";
import { changesFiles, runsThings } from "./tools.ts";

/** What a tool call does, and the command it runs, if it runs one. */
export interface CallEffect extends CommandEffect {
  /** Text of the command; empty for tools that take none. */
  readonly command: string;
}

const nothing: CallEffect = { changes: false, reverts: false, runs: false, command: "" };
const commandStart = /"(?:command|cmd|script|shell_command|commands|code|input)"\s*:\s*(\[?\s*)"/;
const commandTag = /<(command|cmd|script|code)>([\s\S]{0,6000}?)<\/\1>/;
const longestCommand = 6_000;

export function effectOf(call: ToolCall | undefined): CallEffect {
  if (call === undefined) return nothing;
  if (changesFiles(call.name)) return { changes: true, reverts: false, runs: false, command: "" };
  if (!runsThings(call.name)) return nothing;
  const command = commandOf(call.args);
  // A tool that runs something of its own, such as `run_tests`, has no command to look at.
  if (command === "") return { changes: false, reverts: false, runs: true, command: `${call.name} ${call.args}` };
  return { ...effectOfCommand(command), command };
}

/** The command in a call's arguments: JSON text, the XML that some agents have models write, or the command itself. */
function commandOf(args: string): string {
  const tagged = args.includes("<") ? commandTag.exec(args) : null;
  if (tagged !== null) return tagged[2] ?? "";
  const start = commandStart.exec(args.slice(0, 4_000));
  if (start === null) return args.trimStart().startsWith("{") ? "" : args.slice(0, longestCommand);
  const list = start[1] !== "";
  let text = "";
  let at = start.index + start[0].length;
  for (;;) {
    const end = endOfString(args, at);
    text += unescaped(args.slice(at, Math.min(end, at + longestCommand)));
    // `["bash", "-lc", "…"]`: the words follow one another.
    const next = list ? /^"\s*,\s*"/.exec(args.slice(end, end + 8)) : null;
    if (next === null || text.length > longestCommand) break;
    at = end + next[0].length;
    text += " ";
  }
  return list ? text.replace(/^\S*sh -l?c /, "") : text;
}

/** Index of the quote that ends a JSON string whose text begins at `at`. */
function endOfString(json: string, at: number): number {
  for (let index = at; index < json.length && index < at + 2 * longestCommand; index++) {
    const code = json.charCodeAt(index);
    if (code === 0x5c) index++;
    else if (code === 0x22) return index;
  }
  return Math.min(json.length, at + 2 * longestCommand);
}

function unescaped(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(/\\(?:u[0-9a-fA-F]{4}|.)/g, (sequence) => {
    if (sequence === "\\n") return "\n";
    if (sequence === "\\t") return "\t";
    return sequence.length === 2 ? sequence.slice(1) : " ";
  });
}
