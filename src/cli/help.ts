import type { Command } from "commander";

/** What to type, and what that does. */
export type Example = readonly [command: string, meaning: string];

/** Adds examples to the end of a command's help. */
export function withExamples(command: Command, examples: readonly Example[]): Command {
  const lines = examples.flatMap(([text, meaning]) => [`  $ ${text}`, `      ${meaning}`]);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

/** Adds the arguments and options of a group's default command to the group's help, because the group takes them as well. */
export function withHelpOfDefault(group: Command, defaultCommand: Command): Command {
  return group.addHelpText("after", () => {
    const help = group.createHelp();
    help.prepareContext({ helpWidth: group.configureOutput().getOutHelpWidth?.() ?? 80 });
    const items = [
      ...help.visibleArguments(defaultCommand).map((one) => [help.argumentTerm(one), help.argumentDescription(one)]),
      ...help
        .visibleOptions(defaultCommand)
        .filter(({ long }) => long !== "--help")
        .map((option) => [help.optionTerm(option), help.optionDescription(option)]),
    ];
    const width = Math.max(...items.map(([term = ""]) => term.length));
    const lines = items.map(([term = "", description = ""]) => help.formatItem(term, width, description, help));
    return `\nWithout a command, \`${defaultCommand.name()}\` runs. Its arguments and options:\n${lines.join("\n")}`;
  });
}
