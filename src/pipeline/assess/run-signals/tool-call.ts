import { type Speaker, speakerBy } from "#pipeline/assess/envelope/user-words.ts";
import { hashOf, normalized, sharedHash } from "./hashes.ts";

/** One tool call of the run: its name, and its arguments as the text they came in. */
export interface ToolCall {
  readonly name: string;
  readonly args: string;
}

/** What a call does, as far as its name and its command tell. Holds flags and hashes, no text. */
export interface CallFacts {
  /** Equal calls have equal hashes. */
  readonly hash: number;
  /** Hash of the tool's name. */
  readonly tool: number;
  /** Hash of the id under which its result comes. */
  readonly id: number | undefined;
  /** A command may change files and run something whose outcome says whether the work is right: a test, a build, a script. */
  readonly changes: boolean;
  readonly runs: boolean;
  /** Whether it runs a command. */
  readonly command: boolean;
  /** Hash of what it checks. */
  readonly check: string;
  /** On its files, or in a shell. */
  readonly worksInRepository: boolean;
  /** Hashes of the files that it edits. */
  readonly files: readonly number[];
  /** By its result the user may speak. */
  readonly speaker: Speaker | undefined;
}

/** What a tool does, as far as its name tells. */
type ToolKind = Pick<CallFacts, "changes" | "runs" | "worksInRepository" | "speaker">;

/** Names are compared in snake_case: `MultiEdit` and `multi-edit` are one. */
const changing =
  /^(?:multi_?)?(?:edit|write|replace|insert|create|patch|save|append)$|_edit$|(?:^|_)(?:edit|write|create|delete|remove|rename|move|replace|update|insert|append|modify|save)_(?:[a-z]+_){0,2}(?:files?|code|notebook|block|lines?|symbol|content|diff)(?:_|$)|apply_(?:patch|diff)|str_replace|search_(?:and_)?replace|replace_in_|write_to_|text_editor|file_(?:edit|write|create)/;
/** Tools that read, and those by which a model speaks to itself, to its user or to another agent. */
const reading =
  /^(?:ls)$|(?:^|_)(?:read|view|open|get|list|search|find|grep|glob|fetch|browser?|cat|query|lookup|diff|log|show|think|thinking|thoughts?|todos?|plan|ask|question|task|agent|subagent|memory|note|completion|finish|answer)(?:_|$)/;
const running =
  /(?:^|_)(?:bash|shell|exec|execute|run|command|terminal|tests?|build|lint|compile|python|node|sql|repl)(?:_|$)|^code$|(?:^|_)code_(?:interpreter|exec\w*|run\w*)(?:_|$)/;
const ofRepositories =
  /^(?:read|view|ls)$|(?:^|_)(?:read|view|list|search|find)_(?:[a-z]+_){0,2}(?:files?|dir|directory|code|codebase|definitions?|names)(?:_|$)|(?:^|_)(?:glob|grep|codebase|repo|repository|workspace|bash|shell|terminal)(?:_|$)|(?:execute|run|exec)_command/;

/** `MultiEdit` and `multi-edit` as `multi_edit`. */
function inSnakeCase(name: string): string {
  return name
    .slice(0, 128)
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
}

/** Agents have few tools, and call them often. */
const kinds = new Map<string, ToolKind>();
const maxKinds = 1_000;

function kindOfTool(name: string): ToolKind {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const tool = inSnakeCase(name);
  const changes = changing.test(tool);
  const runs = !changes && (running.test(tool) || (tool !== "" && !reading.test(tool)));
  const kind = { changes, runs, worksInRepository: changes || ofRepositories.test(tool), speaker: speakerBy(tool) };
  if (kinds.size >= maxKinds) kinds.clear();
  kinds.set(name, kind);
  return kind;
}

export function worksInRepository(name: string): boolean {
  return kindOfTool(name).worksInRepository;
}

/** An editor of many commands that is only to show a file. */
const views = /"command"\s*:\s*"view"/;

export function callFacts({ name, args }: ToolCall, id?: string): CallFacts {
  const { changes, runs, worksInRepository, speaker } = kindOfTool(name);
  const command = runs ? commandOf(args) : "";
  const edits = changes && !views.test(args);
  // A tool that runs something of its own, such as `run_tests`, has no command to look at.
  const effect = command === "" ? { changes: edits, runs } : effectOfCommand(command);
  return {
    hash: hashOf(`${name}\0${args}`),
    tool: hashOf(name),
    id: id === undefined ? undefined : hashOf(id),
    ...effect,
    command: command !== "",
    check: sharedHash(command === "" ? `${name} ${args.slice(0, 200)}` : checkOf(command)),
    worksInRepository,
    files: edits ? filesNamedIn(args).map(hashOf) : [],
    speaker,
  };
}

/**
 * What a command checks: its last part, without where it runs and where its output goes. `cd a && pytest x.py 2>&1 | tail` and
 * `pytest x.py` are the same check.
 */
function checkOf(command: string): string {
  const parts = command.slice(0, 2_000).split(/&&|;|\n/);
  const last = parts.findLast((part) => part.trim() !== "") ?? "";
  const piped = last.indexOf(" | ");
  return normalized((piped < 0 ? last : last.slice(0, piped)).replace(/\d?>&\d/g, "").slice(0, 300))
    .replace(/\/[\w.~-]+/g, "/")
    .slice(0, 100);
}

const commandNames = ["command", "cmd", "script", "shell_command", "commands", "code", "input"];
const commandTag = /<(command|cmd|script|code|bash|shell|execute_bash|run_command)>([\s\S]{0,6000}?)<\/\1>/;
/** What stands behind is the text of a file. */
const maxCommandLength = 6_000;

/** The command in a call's arguments: JSON text, the XML that some agents have models write, or the command itself. */
function commandOf(args: string): string {
  if (!args.startsWith("{")) {
    const tagged = args.includes("<") ? commandTag.exec(args)?.[2] : undefined;
    return (tagged ?? args.replace(/^<[^<>]{1,100}>|<\/[^<>]{1,100}>\s*$/g, "")).slice(0, maxCommandLength);
  }
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = JSON.parse(args) as typeof fields; // begins as an object, so it is one
  } catch {
    return ""; // a model's own JSON, which nobody has checked
  }
  for (const name of commandNames) {
    const value = fields[name];
    if (typeof value === "string") return value.slice(0, maxCommandLength);
    // `["bash", "-lc", "…"]`, or the words of the command.
    if (Array.isArray(value)) {
      const words = /sh$/.test(value[0]) ? value.slice(-1) : value;
      return words.join(" ").slice(0, maxCommandLength);
    }
  }
  return "";
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));
const readingPrograms = setOf(
  "cat grep egrep fgrep rg ag head tail ls dir find fd nl wc tree pwd cd which type file stat awk diff cmp echo printf sort " +
    "uniq cut tr less more sed jq env export set true false test [ ps history man help sleep source . findstr where " +
    "get-content get-childitem select-string select-object",
);
const readingGit = setOf("log diff show status grep blame branch ls-files rev-parse remote config describe tag");
const changingPrograms = setOf(
  "patch mv cp rm tee touch mkdir rmdir ln chmod truncate install rsync unzip tar copy move del set-content add-content " +
    "remove-item new-item out-file",
);
/** What stands in front of a program: `sudo`, `PATH=x`. */
const prefix = /^(?:(?:sudo|time|nohup|exec)\s+|[A-Za-z_]\w*=\S*\s+)+/;
const quotedText = /"(?:[^"\\]|\\[\s\S])*"|'[^']*'/g;
/** A redirection into a file; `2>&1`, `>&2` and `> /dev/null` are none. */
const intoFile = /(?:^|[^0-9&>=<-])>{1,2}\s*(?!\/dev\/null|&|\s)[^\s;|&)]/;
/** A command for another shell, in quotes: `bash -lc '…'`, `powershell -Command "…"`. */
const forShell = /^\s*\S{0,80}(?:sh|powershell|pwsh)(?:\.exe)?\s+-(?:l?c|c(?:ommand)?)\s+(["'])([\s\S]*)\1\s*$/i;

function effectOfCommand(given: string): Pick<CallFacts, "changes" | "runs"> {
  const bare = (forShell.exec(given)?.[2] ?? given).replace(quotedText, '""');
  let changes = intoFile.test(bare);
  let runs = false;
  for (const part of bare.split(/&&|\|\||[;|\n]/)) {
    const [first = "", second = "", ...rest] = part.trim().replace(prefix, "").split(/\s+/);
    const program = first.replace(/^.*[/\\]/, "").toLowerCase();
    if (program === "git") changes ||= !readingGit.has(second);
    else if (program === "sed") changes ||= [second, ...rest].some((word) => /^-\w*i/.test(word));
    else if (changingPrograms.has(program)) changes = true;
    else if (!readingPrograms.has(program)) runs ||= /^\w/.test(program);
  }
  return { changes, runs };
}

const pathInArguments = /["<](?:\w{0,12}_?path|file_?name|target_?file|file|uri)(?:"\s*:\s*"|>)\s*([^"<\n]{1,300})/gi;
const pathInPatch = /\*\*\* (?:Update|Add|Delete) File: ([^\n\\]{1,300})/g;

/** The files that the arguments of an edit-like call name. */
function filesNamedIn(args: string): string[] {
  // The path stands before or after the new text, which may be long.
  const shown = args.length <= 1_200 ? args : `${args.slice(0, 600)}\n${args.slice(-600)}`;
  const named = [...shown.matchAll(pathInArguments)];
  if (args.includes("*** ")) named.push(...args.slice(0, 40_000).matchAll(pathInPatch));
  return named.map(([, path = ""]) => path.trim());
}
