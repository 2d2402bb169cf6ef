/** What a tool does, as far as its name tells. Names are compared in snake_case: `MultiEdit` and `multi_edit` are one. */

const changing =
  /^(?:multi_?)?(?:edit|write|replace|insert|create|patch|save|append)$|_edit$|(?:^|_)(?:edit|write|create|new|delete|remove|rename|move|replace|update|insert|append|modify|save|overwrite|undo_edit)_(?:[a-z]+_){0,2}(?:files?|code|notebook|block|lines?|symbol|content|diff)(?:_|$)|apply_(?:patch|diff)|str_replace|search_(?:and_)?replace|replace_in_|write_to_|text_editor|file_(?:edit|write|create)/;

const reading =
  /^(?:read|view|cat|ls|glob|grep)$|(?:^|_)(?:read|view|open|get|list|search|find|grep|glob|fetch|browse|browser|cat|query|lookup|diff|log|show|blame|snapshot|screenshot)(?:_|$)/;

const running =
  /(?:^|_)(?:bash|shell|exec|execute|run|command|terminal|tests?|build|lint|compile|typecheck|python|node|sql|repl)(?:_|$)|^code$|(?:^|_)code_(?:interpreter|exec\w*|run\w*)(?:_|$)/;

/** Tools by which a model speaks: to itself, to its user, to another agent. What they give back is told, not run. */
const speaking =
  /(?:^|_)(?:think|thinking|thoughts?|todos?|plan|ask|question|task|agent|subagent|memory|note|reflect|completion|finish|answer)(?:_|$)/;

const ofRepositories =
  /^(?:read|view|ls)$|(?:^|_)(?:read|view|list|search|find)_(?:[a-z]+_){0,2}(?:files?|dir|directory|code|codebase|definitions?|names)(?:_|$)|(?:^|_)(?:glob|grep|codebase|repo|repository|workspace|bash|shell|terminal)(?:_|$)|(?:execute|run|exec)_command/;

/** `MultiEdit` and `multi-edit` as `multi_edit`. */
export function inSnakeCase(name: string): string {
  return name
    .slice(0, 128)
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
}

/** Whether a tool changes files. */
export function changesFiles(name: string): boolean {
  return changing.test(inSnakeCase(name));
}

/** Editors of many commands, of which one shows a file and one takes an edit back. */
const editorCommand = /"command"\s*:\s*"(view|undo_edit)"/;

/** What such an editor is to do, if it is not to change a file; in the text of a file the quotes would be escaped. */
export function editorCommandIn(args: string): string | undefined {
  return args.includes('"command"') ? editorCommand.exec(args)?.[1] : undefined;
}

/** Whether a tool works in a repository: on its files, or in a shell. */
export function worksInRepository(name: string): boolean {
  const tool = inSnakeCase(name);
  return changing.test(tool) || ofRepositories.test(tool);
}

/** Whether a tool's result is the output of a program, and not text that was read. */
export function executesCode(name: string): boolean {
  const tool = inSnakeCase(name);
  return running.test(tool) || !(tool === "" || reading.test(tool) || changing.test(tool) || speaking.test(tool));
}
