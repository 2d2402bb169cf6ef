import type { Argument, Command, Option } from "commander";

export interface Completion {
  readonly value: string;
  readonly about: string;
}

/**
 * The completions of the last of `words`: subcommands, options, values of an option or argument, or `files` where a path is
 * expected. Only the command of `words[0]` is loaded.
 */
export function completionsOf(
  program: Command,
  words: readonly string[],
  modelKeys: () => readonly string[],
): readonly Completion[] | "files" {
  const typed = words.at(-1) ?? "";
  // `help NAME` prints what NAME itself would.
  if (words[0] === "help" && words.length === 2) return starting(typed, visible(program));
  let command = program;
  let position = 0;
  let awaited: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (awaited !== undefined) {
      awaited = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const option = command.options.find(({ long, short }) => word === long || word === short);
      if (option !== undefined && (option.required || option.optional)) awaited = option;
      continue;
    }
    const child = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (child === undefined) position += 1;
    else command = child;
  }
  if (awaited !== undefined) return valuesOf(awaited.argChoices, awaited.flags, typed, modelKeys);
  const [, name = "", value = ""] = /^(--[a-z-]+)=(.*)$/.exec(typed) ?? [];
  if (name !== "")
    return valuesBehind(`${name}=`, completionsOf(program, [...words.slice(0, -1), name, value], modelKeys));
  if (typed.startsWith("-")) return starting(typed, optionsOf(command));
  const subcommands = position === 0 ? visible(command) : [];
  const argument = argumentAt(command, position);
  if (subcommands.length > 0) return starting(typed, subcommands);
  return argument === undefined ? [] : valuesOf(argument.argChoices, argument.name(), typed, modelKeys);
}

/** The values of an option that is written in one word with them. */
function valuesBehind(option: string, found: readonly Completion[] | "files"): readonly Completion[] | "files" {
  return found === "files" ? found : found.map((each) => ({ ...each, value: option + each.value }));
}

/** The last argument of a command may be repeated. */
function argumentAt({ registeredArguments }: Command, position: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[position] ?? (last?.variadic === true ? last : undefined);
}

/** `name` says what is wanted: the argument's name, or the option's flags. */
function valuesOf(
  choices: readonly string[] | undefined,
  name: string,
  typed: string,
  modelKeys: () => readonly string[],
): readonly Completion[] | "files" {
  if (choices !== undefined)
    return starting(
      typed,
      choices.map((value) => ({ value, about: "" })),
    );
  if (/\b(file|directory)\b/.test(name)) return "files";
  if (/\bkey\b/.test(name))
    return starting(
      typed,
      modelKeys().map((value) => ({ value, about: "model" })),
    );
  return [];
}

function visible(command: Command): readonly Completion[] {
  return command.commands.map((child) => ({ value: child.name(), about: shortened(child.description()) }));
}

function optionsOf(command: Command): readonly Completion[] {
  const own = command.options.flatMap(({ long, description, hidden }) =>
    long === undefined || long === null || hidden ? [] : [{ value: long, about: shortened(description) }],
  );
  return [...own, { value: "--help", about: "print help" }];
}

function starting(typed: string, all: readonly Completion[]): readonly Completion[] {
  return all.filter(({ value }) => value.startsWith(typed));
}

/** One line of a menu. */
function shortened(text: string): string {
  const line = text.split("\n")[0] ?? "";
  return line.length <= 70 ? line : `${line.slice(0, 69)}…`;
}
