/**
 * Blocks that a program puts around what its user typed: sections in tags or brackets, attached files, patches. They are known by
 * their form, and by words in their names that any program would use.
 */

/** Words in the name of a block whose text is the user's. Where one is present, what stands outside is not the user's. */
const askName =
  /^(?:.*_)?(?:task|query|question|request|userrequest|issue|problem|ticket|feedback|story|report|item|statement|body)$|description|^user_(?:message|input|prompt|text)$/;
/** Words in the name of a block that a program adds. */
const addedName =
  /reminder|environment|context|info|instructions|details|attach|uploaded|viewed|history|memor|rules|status|layout|workspace|caveat|std(?:out|err)|bash|command|runtime|additional|folder|^(?:env|files?|file_content)$/;
/** Markup that people paste; a block of it is theirs. */
const markup =
  /^(?:html|head|body|div|span|p|a|b|i|u|[uod]l|li|table|t(?:head|body|r|d|h)|form|input|button|select|option|label|script|style|svg|path|g|template|section|article|header|footer|nav|main|img|h[1-6]|pre|code|em|strong|[bh]r|xml|project|dependenc\w+|plugin|configuration|beans?|manifest|application|activity|component|slot)$/;

const userTag = /<user_(?:request|query|message|input|prompt|question|task)>/;
const openTag = /<([A-Za-z][\w-]{1,40})(?:\s[^<>]{0,400})?>/g;

/** The text without blocks; what stands inside of ask blocks, where there are any. Linear in the text. */
export function withoutTagBlocks(text: string, depth = 0): string {
  if (!text.includes("</")) return text;
  let inside = "";
  let outside = "";
  let copied = 0;
  const unclosed = new Set<string>(); // looked for once in vain: not again, or hostile text would cost its square
  const open = new RegExp(openTag);
  for (let match = open.exec(text); match !== null; match = open.exec(text)) {
    const [whole, name = ""] = match;
    if (unclosed.has(name)) continue;
    const normal = name.toLowerCase().replaceAll("-", "_");
    const isAdded = addedName.test(normal);
    const isAsk = !isAdded && askName.test(normal);
    if (!isAsk && !isAdded && (markup.test(normal) || !beginsLine(text, match.index))) continue;
    const start = match.index + whole.length;
    const close = `</${name}>`;
    const end = text.indexOf(close, start);
    if (end < 0) {
      unclosed.add(name);
      continue;
    }
    if (!isAsk && !isAdded && !endsLine(text, end + close.length)) continue;
    const block = text.slice(start, end);
    if (isAsk) inside += `${depth < 2 ? withoutTagBlocks(block, depth + 1) : block}\n`;
    // A block inside of another that says by its name that its text is the user's.
    else if (!isAdded && depth < 2 && userTag.test(block)) inside += `${withoutTagBlocks(block, depth + 1)}\n`;
    outside += text.slice(copied, match.index);
    copied = end + close.length;
    open.lastIndex = copied;
  }
  if (copied === 0) return text;
  outside += text.slice(copied);
  return inside.trim() === "" ? outside : inside;
}

function beginsLine(text: string, at: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - 80), at));
}

function endsLine(text: string, at: number): boolean {
  return /^[ \t\r]*(?:\n|$)/.test(text.slice(at, at + 80));
}

/** `[WORKSPACE] … [/WORKSPACE]`, each bracket alone on its line; `--- CONTEXT ENTRY BEGIN --- … --- CONTEXT ENTRY END ---`. */
const sectionLine = /^(?:\[([A-Z][A-Z0-9 _-]{2,40})\]|([-=#*]{2,}) ?([A-Z][A-Z _-]{2,40}?) BEGIN ?\2)[ \t]*$/gm;
/** Sections in which people quote what they ask about, and those of the user's own words. */
const quotedSection =
  /^(?:CODE|[A-Z]*SCRIPT|PYTHON|JAVA|KOTLIN|SWIFT|GO|RUST|CPP|RUBY|PHP|SQL|HTML|CSS|JSON|YAML|XML|INST|INPUT|INSTRUCTION)$/;
const userSection = /^(?:THE )?USER\b|^(?:TASK|REQUEST|QUESTION|QUERY|PROMPT|PROBLEM)$/;

/** The text without such sections; what stands inside of the user's, where there is one. */
export function withoutSections(text: string): string {
  if (!text.includes("[/") && !text.includes(" BEGIN")) return text;
  let rest = "";
  let own = "";
  let copied = 0;
  sectionLine.lastIndex = 0;
  for (let match = sectionLine.exec(text); match !== null; match = sectionLine.exec(text)) {
    const [whole, bracketed, , delimited = ""] = match;
    const name = bracketed ?? delimited;
    if (quotedSection.test(name) || (bracketed !== undefined && userSection.test(name))) continue;
    const close =
      bracketed === undefined ? `\n${whole.trimEnd().replace(/ BEGIN(?= ?[-=#*]+$)/, " END")}` : `\n[/${name}]`;
    const start = match.index + whole.length;
    const end = text.indexOf(close, start);
    if (end < 0) break;
    if (userSection.test(name)) own += `${text.slice(start, end)}\n`;
    rest += text.slice(copied, match.index);
    copied = end + close.length;
    sectionLine.lastIndex = copied;
  }
  return own.trim() === "" ? rest + text.slice(copied) : own;
}

/** A fence whose label is the name of a file and not of a language: something attached to the ask; or a file's name alone in front. */
const attachedFence =
  /^(?:(`{3,})[ \t]*(?:\w{1,12} (?=\S*[./\\]))?(?:\w{1,12}:)?(?:[\w@~-]{0,80}[./\\-])+[\w.-]{1,80}(?:[ \t]*\(\d+-\d+\)|[:#]L?\d+(?:-L?\d+)?)?|[ \t]*[\w@./\\-]{1,200}\.[A-Za-z0-9]{1,8}[ \t]*\n(`{3,})[\w+#-]{0,20})[ \t]*$/gm;

/** The text without files that were attached in fences. A fence that never closes stays. */
export function withoutAttachedFences(text: string): string {
  if (!text.includes("```")) return text;
  let rest = "";
  let copied = 0;
  attachedFence.lastIndex = 0;
  for (let match = attachedFence.exec(text); match !== null; match = attachedFence.exec(text)) {
    const close = `\n${match[1] ?? match[2]}`;
    const end = text.indexOf(close, match.index + match[0].length);
    if (end < 0) break;
    rest += text.slice(copied, match.index);
    copied = end + close.length;
    attachedFence.lastIndex = copied;
  }
  return rest + text.slice(copied);
}

const patchStart = /^diff --git a\/\S+ b\/\S+$/m;
const patchLine = /^$|^(?:diff |index |---|\+\+\+|@@|[ +\-\\]|(?:new|deleted|old) |rename |similarity |Binary )/;

/** The text without a pasted patch, from its first line on as long as the lines look like one. */
export function withoutPatch(text: string): string {
  const at = text.includes("diff --git ") ? patchStart.exec(text)?.index : undefined;
  if (at === undefined) return text;
  const lines = text.slice(at).split("\n");
  const end = lines.findIndex((line) => !patchLine.test(line));
  return text.slice(0, at) + (end < 0 ? "" : lines.slice(end).join("\n"));
}
