import { hashOf, normalized } from "./hashes.ts";

/** One tool call of the run: its name, and its arguments as the text they came in. */
export interface ToolCall {
  readonly name: string;
  readonly args: string;
}

/** What a call does, as far as its name and its command tell. Holds flags and hashes, no text. */
export interface CallFacts {
  /** Equal calls have equal hashes. */
  readonly hash: string;
  /** Hash of the id under which its result comes. */
  readonly id: string | undefined;
  /** It may change something; it runs something whose outcome says whether the work is right: a test, a build. */
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
}

type ToolKind = Pick<CallFacts, "changes" | "runs" | "worksInRepository">;

/** Words of which names of tools are made. What is neither a change nor read may run something. */
const changeWords =
  /\b(?:edit|multi ?edit|write|replace|insert|create|patch|save|append|delete|remove|rename|move|update|modify|editor)\b/;
const noteWords = /\b(?:todos?|plan|memory|notes?|thoughts?)\b/;
const runWords = /\b(?:bash|shell|exec|execute|run|command|terminal|tests?|build|lint|compile|python|node|sql|repl)\b/;
const readWords =
  /\b(?:ls|read|view|open|get|list|search|find|grep|glob|fetch|browser?|cat|query|lookup|diff|log|show|think(?:ing)?|thoughts?|todos?|plan|ask|questions?|task|agent|memory|notes?|completion|finish|answer|submit)\b/;
const fileWords =
  /\b(?:files?|dir|directory|code(?:base)?|repo(?:sitory)?|workspace|notebook|glob|grep|bash|shell|terminal|command|patch|edit|editor|replace)\b|^(?:read|write|view|ls|cat|save|append)$/;

const maxNameLength = 128;

export function kindOfTool(name: string): ToolKind {
  const short = name
    .slice(0, maxNameLength)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase();
  const words = short
    .split(/[^a-z0-9]/)
    .filter(Boolean)
    .join(" ");
  const changes = changeWords.test(words) && !noteWords.test(words);
  const runs = !changes && words !== "" && (runWords.test(words) || !readWords.test(words));
  return { changes, runs, worksInRepository: fileWords.test(words) };
}

/** Characters of arguments that are read: what stands behind is the text of a file. */
const maxArguments = 8_000;

export function callFacts({ name, args }: ToolCall, id?: string): CallFacts {
  const { changes, runs, worksInRepository } = kindOfTool(name);
  const fields = fieldsOf(args);
  const command = runs ? commandOf(args, fields) : "";
  // An editor of many commands may only show a file; a tool that runs something of its own has no command.
  const edits = changes && fields?.["command"] !== "view";
  const effect = command === "" ? { changes: edits, runs } : effectOf(command);
  return {
    hash: hashOf(`${name}\0${args}`),
    id: id === undefined ? undefined : hashOf(id),
    ...effect,
    command: command !== "",
    malformed: fields === null,
    check: hashOf(command === "" ? `${name} ${args.slice(0, 200)}` : checkOf(command)),
    worksInRepository,
  };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The members of arguments in JSON; null where they begin like it and are none, undefined where they are something
 * else.
 */
function fieldsOf(args: string): Fields | null | undefined {
  if (!args.startsWith("{") || args.length > maxArguments) return undefined;
  try {
    return JSON.parse(args) as Fields; // begins as an object, so it is one
  } catch {
    return null; // a model's own JSON, which nobody has checked
  }
}

const commandNames = ["command", "cmd", "script", "commands", "code", "input"];
const commandTag = /<(?:command|cmd|script|code)>/;

/** The command in a call's arguments: JSON text, tags that some agents have models write, or the command itself. */
function commandOf(args: string, fields: Fields | null | undefined): string {
  if (!args.startsWith("{")) {
    const shown = args.slice(0, maxArguments);
    const tag = commandTag.exec(shown);
    return tag === null ? shown : (shown.slice(tag.index + tag[0].length).split("</", 1)[0] ?? "");
  }
  for (const name of commandNames) {
    const value = fields?.[name];
    if (typeof value === "string") return value;
    // `["bash", "-lc", "…"]`, or the words of the command.
    if (Array.isArray(value)) return (String(value[0]).endsWith("sh") ? value.slice(-1) : value).join(" ");
  }
  return "";
}

/**
 * What a command checks: its last part, without where it runs and where its output goes. `cd a && pytest x.py 2>&1 |
 * tail` and `pytest x.py` are the same check.
 */
function checkOf(command: string): string {
  const last = command.split(/&&|;|\n/).findLast((part) => part.trim() !== "") ?? "";
  return normalized((last.split(" | ", 1)[0] ?? "").replace(/\d?>&\d/g, "").slice(0, 300)).slice(0, 100);
}

const readingPrograms = new Set(
  "cat grep egrep rg ag head tail ls dir find fd nl wc tree pwd cd which file stat awk diff echo printf sort uniq cut tr less sed jq env export set true source test . [ type findstr".split(
    " ",
  ),
);
const readingGit = new Set("log diff show status grep blame branch ls-files rev-parse remote".split(" "));
/** A redirection into a file; `2>&1`, `>&2` and `> /dev/null` are none. */
const intoFile = /(?:^|[^0-9&>=<-])>{1,2} ?(?!\/dev\/null|&|[\s>])[^\s;|&)]/;

/** A command that only reads has no failure, whatever it prints; one that writes a file makes a change. */
function effectOf(command: string): Pick<CallFacts, "changes" | "runs"> {
  let changes = intoFile.test(command);
  let runs = false;
  for (const part of command.split(/&&|\|\||[;|\n]/)) {
    const words = part.split(/[ \t]/).filter((word) => word !== "" && word !== "sudo" && !/^\w{1,60}=/.test(word));
    const program = words[0]?.split(/[/\\]/).at(-1)?.toLowerCase() ?? "";
    if (program === "git") changes ||= !readingGit.has(words[1] ?? "");
    else if (program === "sed") changes ||= words.some((word) => word.startsWith("-i"));
    else if (!readingPrograms.has(program)) runs ||= /^\w/.test(program);
  }
  return { changes, runs };
}
