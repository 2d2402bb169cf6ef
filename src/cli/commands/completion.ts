import { Argument, Command } from "commander";
import { completionsOf } from "#cli/completion/completions.ts";
import { isShell, type Shell, scriptOf, shells } from "#cli/completion/scripts.ts";
import { print, printJson } from "#cli/output.ts";
import { loadRegistry } from "#models/load-registry.ts";

/** `smart-gateway completion`: the script by which a shell completes commands, options and their values. */
export function completionCommand(): Command {
  return new Command("completion")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .option("--json", "print {shell, script}")
    .action((shell: Shell, options: { readonly json?: true }) => {
      const script = scriptOf(shell);
      if (options.json) printJson({ shell, script });
      else process.stdout.write(script);
    });
}

/** Answers a script's question: `SHELL WORD…`, the last word being the one that is typed. */
export async function printCompletions(
  [shell = "", ...typed]: readonly string[],
  programWith: (wanted: (name: string) => boolean) => Promise<Command>,
): Promise<void> {
  if (!isShell(shell)) return;
  const words = shell === "bash" ? withoutEqualSigns(typed) : typed;
  const program = await programWith((name) => name === words[0]);
  const found = completionsOf(program, words, modelKeys);
  const lines = found === "files" ? [":files"] : found.map(({ value, about }) => lineFor(shell, value, about));
  if (lines.length > 0) print(lines.join("\n"));
}

/** Bash hands on `--option=value` as three words, and takes the value alone. */
function withoutEqualSigns(words: readonly string[]): readonly string[] {
  return words.flatMap((word, at) => {
    if (word !== "=" || words[at - 1]?.startsWith("--") !== true) return [word];
    return at === words.length - 1 ? [""] : [];
  });
}

/** As each shell takes a value with its description, where there is one; bash has none. */
function lineFor(shell: Shell, value: string, about: string): string {
  switch (shell) {
    case "bash":
      return value;
    case "zsh":
      return `${value.replaceAll(":", "\\:")}${about === "" ? "" : `:${about}`}`;
    case "fish":
      return about === "" ? value : `${value}\t${about}`;
  }
}

/** The keys of the registry in force, where it can be read. */
function modelKeys(): readonly string[] {
  const loaded = loadRegistry(process.env["MODEL_REGISTRY_PATH"] || undefined);
  return loaded.kind === "ok" ? [...loaded.registry.models.keys()] : [];
}
