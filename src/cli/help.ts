import type { Command } from "commander";

/** What to type, and what that does. */
export type Example = readonly [command: string, meaning: string];

/** Adds examples to the end of a command's help. */
export function withExamples(command: Command, examples: readonly Example[]): Command {
  const lines = examples.flatMap(([text, meaning]) => [`  $ ${text}`, `      ${meaning}`]);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
