/**
 * Blocks that an agent puts around what its user typed: tags, bracketed sections, attached files. Known ones are taken out
 * wherever they stand; a block of an unknown name only where it stands alone on its lines, because a user may write tags too.
 */

const LF = 0x0a;
const CR = 0x0d;
const LINE_SEPARATOR = 0x2028;
const PARAGRAPH_SEPARATOR = 0x2029;

/** Blocks that hold the ask: where one is present, what stands outside is not the user's. */
const askTags: ReadonlySet<string> = new Set(
  (
    "task user_query user_message userrequest user_request user_input user_question user_prompt user_task feedback issue " +
    "issue_description pr_description problem_statement question query request ticket user_story bug_report work_item " +
    "feature_request task_description issue_body"
  ).split(" "),
);

/** Whether a block of that name holds what the user typed. */
export function isAskTag(name: string): boolean {
  return askTags.has(name.toLowerCase().replaceAll("-", "_"));
}

/** Blocks that agents are known to add. */
const addedTags: ReadonlySet<string> = new Set(
  (
    "system-reminder system_reminder environment_details environment_context environment_info env user_instructions " +
    "instructions user_info workspace_info workspace project_layout git_status attachments attached_files attachment " +
    "context additional_data editorcontext repocontext reminderinstructions reminder file files file_content " +
    "folder_content uploaded_files open_and_recently_viewed_files local-command-stdout local-command-caveat " +
    "command-name command-message command-args bash-input bash-stdout bash-stderr runtime_information " +
    "repository_instructions info-msg slash_command"
  ).split(" "),
);

/** Markup that people paste; a block of it is theirs. */
const markupTags: ReadonlySet<string> = new Set(
  (
    "html head body div span p a b i u ul ol li table thead tbody tr td th form input button select option label script " +
    "style svg path g template section article header footer nav main img h1 h2 h3 h4 h5 h6 pre code em strong br hr xml " +
    "project dependency dependencies plugin configuration beans bean manifest application activity component slot"
  ).split(" "),
);

const openTag = /<([A-Za-z][\w-]{1,40})(?:\s[^<>]{0,400})?>/g;

/** The text without blocks; what stands inside of ask blocks, where there are any. Linear in the text. */
export function withoutTagBlocks(text: string): string {
  if (!text.includes("<") || !text.includes("</")) return text;
  let inside = "";
  let outside = "";
  let copied = 0;
  const unclosed = new Set<string>(); // looked for once in vain: not again, or hostile text would cost its square
  openTag.lastIndex = 0;
  for (let match = openTag.exec(text); match !== null; match = openTag.exec(text)) {
    const [whole, name = ""] = match;
    if (unclosed.has(name)) continue;
    const known = name.toLowerCase();
    const isAsk = askTags.has(known.replaceAll("-", "_"));
    const isAdded = addedTags.has(known);
    if (!isAsk && !isAdded && (markupTags.has(known) || !beginsLine(text, match.index))) continue;
    const start = match.index + whole.length;
    const close = `</${name}>`;
    const end = text.indexOf(close, start);
    if (end < 0) {
      unclosed.add(name);
      continue;
    }
    if (!isAsk && !isAdded && !endsLine(text, end + close.length)) continue;
    if (isAsk) inside += `${withoutAddedInside(text.slice(start, end))}\n`;
    else if (!isAdded) inside += askInside(text, start, end);
    outside += text.slice(copied, match.index);
    copied = end + close.length;
    openTag.lastIndex = copied;
  }
  if (copied === 0) return text;
  outside += text.slice(copied);
  return inside.trim() === "" ? outside : inside;
}

/** A tag inside of another block that says by its name that its text is the user's. */
const userTag = /<(user_(?:request|query|message|input|prompt|question|task))>/;

function askInside(text: string, start: number, end: number): string {
  const at = text.indexOf("<user_", start);
  const block = at < 0 || at >= end ? "" : text.slice(at, end);
  const own = userTag.exec(block);
  if (own === null) return "";
  const from = own.index + own[0].length;
  const close = block.indexOf(`</${own[1]}>`, from);
  return close < 0 ? "" : `${block.slice(from, close)}\n`;
}

function beginsLine(text: string, at: number): boolean {
  for (let index = at - 1; index >= 0; index--) {
    const character = text[index];
    if (character === "\n") return true;
    if (character !== " " && character !== "\t") return false;
  }
  return true;
}

function endsLine(text: string, at: number): boolean {
  for (let index = at; index < text.length; index++) {
    const character = text[index];
    if (character === "\n") return true;
    if (character !== " " && character !== "\t" && character !== "\r") return false;
  }
  return true;
}

const addedInside = /<(system-reminder|environment_details|file_content)[^<>]{0,400}>/;

/** An ask block may hold added blocks of its own, one level deep. */
function withoutAddedInside(ask: string): string {
  let text = ask;
  for (let round = 0; round < 8; round++) {
    const match = addedInside.exec(text);
    if (match === null) break;
    const close = `</${match[1]}>`;
    const end = text.indexOf(close, match.index);
    if (end < 0) break;
    text = text.slice(0, match.index) + text.slice(end + close.length);
  }
  return text;
}

/** Sections such as `--- USER MESSAGE BEGIN --- … --- USER MESSAGE END ---`. */
const delimiter = /^([-=#*]{2,}) ?([A-Z][A-Z _-]{2,40}?) BEGIN ?\1$/gm;
const startsDelimited = /^\s*[-=#*]{2,} ?[A-Z][A-Z _-]{2,40}? BEGIN ?[-=#*]/;
const userSection = /^(?:THE )?USER\b|^(?:TASK|REQUEST|QUESTION|QUERY|PROMPT)$/;

/** The text without delimited sections; what stands inside of the user's, where there is one. */
export function withoutDelimitedSections(text: string): string {
  // Only looked for where one stands first: a search through all of every ask would cost more than the rest.
  if (!startsDelimited.test(text)) return text;
  let rest = "";
  let own = "";
  let copied = 0;
  delimiter.lastIndex = 0;
  for (let match = delimiter.exec(text); match !== null; match = delimiter.exec(text)) {
    const [whole, , name = ""] = match;
    const start = match.index + whole.length;
    const close = whole.replace(/ BEGIN(?= ?[-=#*]+$)/, " END");
    const end = text.indexOf(`\n${close}`, start - 1);
    if (end < 0) break;
    if (userSection.test(name)) own += `${text.slice(start, end)}\n`;
    rest += text.slice(copied, match.index);
    copied = end + close.length + 1;
    delimiter.lastIndex = copied;
  }
  return own.trim() === "" ? rest + text.slice(copied) : own;
}

/** Lines such as `[Model: x]` that a program has set in front of the ask. */
const leadingFields = /^(?:\[[A-Z][\w ]{1,30}: [^\]\n]{1,200}\][ \t]*\n+)+/;

export function withoutLeadingFields(text: string): string {
  if (!text.startsWith("[")) return text;
  const rest = text.replace(leadingFields, "");
  return rest.trim() === "" ? text : rest;
}

/** Names of sections in which people quote what they ask about: code, not what an agent adds. */
const quotedSections: ReadonlySet<string> = new Set(
  (
    "CODE PYTHON JAVASCRIPT TYPESCRIPT JAVA KOTLIN SWIFT GO GOLANG RUST CPP RUBY PHP PERL SCALA HASKELL LUA BASH SHELL SQL " +
    "HTML CSS JSON YAML XML QUESTION QUERY TASK PROBLEM INST USER INPUT INSTRUCTION"
  ).split(" "),
);
const bracketLine = /^\[([A-Z][A-Z0-9 _-]{2,40})\][ \t]*$/gm;

/** The text without sections such as `[WORKSPACE] … [/WORKSPACE]`, each bracket alone on its line. */
export function withoutBracketBlocks(text: string): string {
  if (!text.includes("[") || !text.includes("[/")) return text;
  let rest = "";
  let copied = 0;
  bracketLine.lastIndex = 0;
  for (let match = bracketLine.exec(text); match !== null; match = bracketLine.exec(text)) {
    const [, name = ""] = match;
    if (quotedSections.has(name)) continue;
    const close = `\n[/${name}]`;
    const end = text.indexOf(close, match.index);
    if (end < 0) break;
    rest += text.slice(copied, match.index);
    copied = end + close.length;
    bracketLine.lastIndex = copied;
  }
  return rest + text.slice(copied);
}

/** A fence whose label is the name of a file or a note, and not of a language: something attached to the ask. */
const attachedFence =
  /^(`{3,})[ \t]*(?:\w{1,12} (?=\S*[./\\]))?((?:[\w@~-]*[./\\-])+[\w-]+|[\w-]+\.[\w]{1,8})(?:[ \t]*\(\d+-\d+\)|[:#]L?\d+(?:-L?\d+)?)?[ \t]*$/gm;
/** A file's name alone on the line before a fence, as Aider writes it. */
const namedFence = /[ \t]*[\w@./\\-]{1,200}\.[A-Za-z0-9]{1,8}[ \t]*\n(`{3,})[\w+#-]{0,20}[ \t]*$/my;

/** The text without files that were attached in fences. A fence that never closes stays. */
export function withoutAttachedFences(text: string): string {
  if (!holdsFence(text)) return text;
  return withoutFences(withoutFences(text, nextAttachedFence), nextNamedFence);
}

function withoutFences(text: string, nextFrom: (text: string, from: number) => RegExpExecArray | null): string {
  let rest = "";
  let copied = 0;
  for (let match = nextFrom(text, 0); match !== null; match = nextFrom(text, copied)) {
    const close = `\n${match[1]}`;
    const end = text.indexOf(close, match.index + match[0].length);
    if (end < 0) break;
    rest += text.slice(copied, match.index);
    copied = end + close.length;
  }
  return rest + text.slice(copied);
}

function nextAttachedFence(text: string, from: number): RegExpExecArray | null {
  attachedFence.lastIndex = from;
  return attachedFence.exec(text);
}

/** Looks at the lines before fences alone: a pattern that looks for names of files at every place takes 3 ms for a megabyte. */
function nextNamedFence(text: string, from: number): RegExpExecArray | null {
  for (let at = text.indexOf("\n```", from); at >= 0; at = text.indexOf("\n```", at + 1)) {
    let start = at;
    while (start > from && !isLineEnd(text.charCodeAt(start - 1))) start--;
    // What is left of a line behind a fence that was closed in it does not begin a line.
    if (start > 0 && !isLineEnd(text.charCodeAt(start - 1))) continue;
    namedFence.lastIndex = start;
    const match = namedFence.exec(text);
    if (match !== null) return match;
  }
  return null;
}

/** What `^` matches behind. */
function isLineEnd(code: number): boolean {
  return code === LF || code === CR || code === LINE_SEPARATOR || code === PARAGRAPH_SEPARATOR;
}

/** A pasted patch from its first line on, as long as the lines look like one. */
const patchStart = /^diff --git a\/\S+ b\/\S+$/m;

/** A search for one character takes next to nothing, one for more of them as long as a pattern does. */
export function holdsFence(text: string): boolean {
  return text.includes("`") && text.includes("```");
}

/** A search goes from one first letter to the next, so the rare ones are looked for first. */
export function holdsPatch(text: string): boolean {
  return text.includes("--git ") && text.includes("diff --git ");
}

export function withoutPatch(text: string): string {
  const at = holdsPatch(text) ? patchStart.exec(text)?.index : undefined;
  if (at === undefined) return text;
  const lines = text.slice(at).split("\n");
  const end = lines.findIndex(
    (line) =>
      line !== "" &&
      !/^(?:diff |index |---|\+\+\+|@@|[ +\-\\]|(?:new|deleted|old) |rename |similarity |Binary )/.test(line),
  );
  return text.slice(0, at) + (end < 0 ? "" : lines.slice(end).join("\n"));
}
