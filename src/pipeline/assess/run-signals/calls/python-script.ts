import { pythonLiteralAt } from "./python-literal.ts";

/** A text that begins as a Python script does, and no command of a shell. */
const script = /^\s*(?:#[^\n]*\n\s*)*(?:(?:import|from)\s+\w|(?:\w+\s*=\s*)?(?:subprocess|os)\.\w)/;
/** What runs a command; its first argument is the command or the list of its words. */
const runner =
  /\b(?:subprocess\.(?:run|call|check_call|check_output|getoutput|getstatusoutput|Popen)|os\.(?:system|popen))\(/g;
const maxCommands = 20;

/**
 * The commands of a shell that a Python script runs, one a line: what agents that act by Python code have it do. Undefined where
 * the text is no such script, or runs none that stands in it.
 */
export function commandsRunBy(text: string): string | undefined {
  if (!script.test(text)) return undefined;
  const commands: string[] = [];
  for (const match of text.matchAll(runner)) {
    if (commands.length === maxCommands) break;
    const command = pythonLiteralAt(text, match.index + match[0].length)?.value;
    if (typeof command === "string") commands.push(command);
    else if (Array.isArray(command)) commands.push(command.join(" "));
  }
  return commands.length === 0 ? undefined : commands.join("\n");
}
