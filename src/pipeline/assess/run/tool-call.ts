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
  /** It may change something; it runs something whose outcome says whether the work is right: a test, a build, a script. */
  readonly changes: boolean;
  readonly runs: boolean;
  /** Whether it runs a command. */
  readonly command: boolean;
  /** Its arguments are no JSON although they begin like it. */
  readonly malformed: boolean;
  /** Hash of what it checks. */
  readonly check: string;
  /** On its files, or in a shell. */
  readonly worksInRepository: boolean;
  /** Hashes of the files that it edits. */
  readonly files: readonly number[];
  /** By its result the user may speak: it says that the work is done, or asks something. */
  readonly speaker: "finishes" | "asks" | undefined;
}

type ToolKind = Pick<CallFacts, "changes" | "runs" | "worksInRepository" | "speaker">;

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));
/** Words of which names of tools are made. */
const changeWords = setOf(
  "edit multiedit write replace insert create patch save append delete remove rename move update modify editor",
);
const runWords = setOf(
  "bash shell exec execute run command terminal test tests build lint compile python node sql repl interpreter",
);
const readWords = setOf(
  "ls read view open get list search find grep glob fetch browse browser cat query lookup diff log show think thinking thought " +
    "thoughts todo todos plan ask question task agent subagent memory note completion finish answer complete submit",
);
const fileWords = setOf(
  "file files dir directory code codebase repo repository workspace notebook glob grep bash shell terminal command patch edit " +
    "multiedit editor definitions replace",
);
/** Names that stand alone for work on files. */
const fileTools = setOf("read write view ls cat save append");
const finishWords = setOf("completion complete completed finish finished submit done");
const askWords = setOf("ask question questions followup clarify clarification");
/** What else may be asked: another model, a search, documents. */
const othersAsked = setOf("mcp agent agents model llm codebase repo docs wiki web search expert oracle");

/** Agents have few tools, and call them often. */
const kinds = new Map<string, ToolKind>();
const maxKinds = 1_000;
const maxNameLength = 128;

function kindOfTool(name: string): ToolKind {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const words = name
    .slice(0, maxNameLength)
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const has = (set: ReadonlySet<string>) => words.some((word) => set.has(word));
  const ofFiles = has(fileWords) || (words.length === 1 && has(fileTools));
  // A list of things to do that is written is a note, not a change.
  const changes = has(changeWords) && !words.some((word) => /^(?:todos?|plan|memory|notes?|thoughts?)$/.test(word));
  const kind: ToolKind = {
    changes,
    runs: !changes && (has(runWords) || (words.length > 0 && !has(readWords))),
    worksInRepository: ofFiles,
    speaker: has(finishWords) ? "finishes" : has(askWords) && !has(othersAsked) ? "asks" : undefined,
  };
  if (kinds.size >= maxKinds) kinds.clear();
  if (name.length <= maxNameLength) kinds.set(name, kind);
  return kind;
}

export function worksInRepository(name: string): boolean {
  return kindOfTool(name).worksInRepository;
}

/** Characters of arguments that are read: what stands behind is the text of a file. */
const maxArguments = 8_000;

export function callFacts({ name, args }: ToolCall, id?: string): CallFacts {
  const { changes, runs, worksInRepository, speaker } = kindOfTool(name);
  const fields = fieldsOf(args);
  const command = runs ? commandOf(args, fields) : "";
  // An editor of many commands may be only to show a file.
  const edits = changes && fields?.["command"] !== "view";
  // A tool that runs something of its own, such as `run_tests`, has no command to look at.
  const effect = command === "" ? { changes: edits, runs } : effectOfCommand(command);
  return {
    hash: hashOf(`${name}\0${args}`),
    tool: hashOf(name),
    id: id === undefined ? undefined : hashOf(id),
    ...effect,
    command: command !== "",
    malformed: fields === null,
    check: sharedHash(command === "" ? `${name} ${args.slice(0, 200)}` : checkOf(command)),
    worksInRepository,
    files: edits ? filesNamedIn(args).map(hashOf) : [],
    speaker,
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The members of arguments in JSON; null where they begin like it and are none, undefined where they are long or something else. */
function fieldsOf(args: string): Fields | null | undefined {
  if (!args.startsWith("{") || args.length > maxArguments) return undefined;
  try {
    return JSON.parse(args) as Fields; // begins as an object, so it is one
  } catch {
    return null; // a model's own JSON, which nobody has checked
  }
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
const commandTag = /<(?:command|cmd|script|code|bash|shell)>/;

/** The command in a call's arguments: JSON text, tags that some agents have models write, or the command itself. */
function commandOf(args: string, fields: Fields | null | undefined): string {
  if (!args.startsWith("{")) {
    const shown = args.slice(0, maxArguments);
    const tag = commandTag.exec(shown);
    const inside = tag === null ? shown : shown.slice(tag.index + tag[0].length);
    const end = tag === null ? -1 : inside.indexOf("</");
    return end < 0 ? inside : inside.slice(0, end);
  }
  for (const name of commandNames) {
    const value = fields?.[name];
    if (typeof value === "string") return value;
    // `["bash", "-lc", "…"]`, or the words of the command.
    if (Array.isArray(value)) return (String(value[0]).endsWith("sh") ? value.slice(-1) : value).join(" ");
  }
  return "";
}

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
const inFront = /^(?:sudo|time|nohup|exec|[A-Za-z_]\w{0,60}=.{0,200})$/;
/** A redirection into a file; `2>&1`, `>&2` and `> /dev/null` are none. */
const intoFile = /(?:^|[^0-9&>=<-])>{1,2} ?(?!\/dev\/null|&|[\s>])[^\s;|&)]/;

function effectOfCommand(given: string): Pick<CallFacts, "changes" | "runs"> {
  const bare = withoutQuoted(given);
  let changes = intoFile.test(bare);
  let runs = false;
  for (const part of bare.split(/&&|\|\||[;|\n]/)) {
    const words = part.split(/[ \t]+/).filter((word) => word !== "");
    while (words.length > 1 && inFront.test(words[0] ?? "")) words.shift();
    const [first = "", second = "", ...rest] = words;
    const program = first.slice(Math.max(first.lastIndexOf("/"), first.lastIndexOf("\\")) + 1).toLowerCase();
    if (program === "git") changes ||= !readingGit.has(second);
    else if (program === "sed") changes ||= [second, ...rest].some((word) => /^-\w{0,8}i/.test(word));
    else if (changingPrograms.has(program)) changes = true;
    else if (!readingPrograms.has(program)) runs ||= /^\w/.test(program);
  }
  return { changes, runs };
}

/** A command without its quoted text; of one for another shell (`bash -lc '…'`) what stands in the quotes. */
function withoutQuoted(command: string): string {
  let bare = "";
  for (let at = 0; at < command.length; at++) {
    const quote = command.charAt(at);
    if (quote !== '"' && quote !== "'") {
      bare += quote;
      continue;
    }
    let end = at + 1;
    while (end < command.length && command.charAt(end) !== quote)
      end += quote === '"' && command.charAt(end) === "\\" ? 2 : 1;
    if (/(?:sh|shell)(?:\.exe)? -(?:l?c|command) $/i.test(bare.slice(-40))) bare = command.slice(at + 1, end);
    else bare += '""';
    at = end;
  }
  return bare;
}

const pathInArguments = /["<](?:\w{0,12}_?path|file_?name|target_?file|file|uri)(?:" ?: ?"|>)([^"<\n]{1,300})/gi;
const pathInPatch = /\*\*\* (?:Update|Add|Delete) File: ([^\n\\]{1,300})/g;

/** The files that the arguments of an edit-like call name. */
function filesNamedIn(args: string): string[] {
  // The path stands before or after the new text, which may be long.
  const shown = args.length <= 1_200 ? args : `${args.slice(0, 600)}\n${args.slice(-600)}`;
  const named = [...shown.matchAll(pathInArguments)];
  if (args.includes("*** ")) named.push(...args.slice(0, maxArguments).matchAll(pathInPatch));
  return named.map(([, path = ""]) => path.trim());
}
