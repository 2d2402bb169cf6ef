/**
 * Whose words stand in a message of the user's role. Programs put blocks around what their user has typed: tagged and fenced blocks,
 * quoted lines, patches, bracketed headers in front, sections under headings behind. All of them are known by their form, whatever
 * their names, so that the next program needs no rule of its own. Every function here reads a window of a message once.
 */
export interface OwnWords {
  /** What the user has typed; empty where the message is made of blocks only. */
  readonly ask: string;
  /** What stands in blocks behind it: code, or a text that something is to be done with. */
  readonly attached: string;
  /** What stands in the block or section that most likely holds the ask, where nothing stands outside of blocks. */
  readonly inside: string;
  /** What stands in a block whose name says that it is the user's. */
  readonly named: string | undefined;
  /** The message begins with a bracketed header or is made of blocks: a program has written its form. */
  readonly isFramed: boolean;
}

/** The last word in the name of a block, or a word in a heading, whose text is the user's. */
const askNames = new Set(
  "task query question request issue problem prompt message input feedback description ask goal objective ticket answer userrequest".split(
    " ",
  ),
);
/** Lines that are looked at; a window has no more that are worth it. */
const maxLines = 400;
/** Nested blocks that are opened to find an ask, and tags without an end after which none is looked for any more. */
const maxDepth = 2;
const maxUnclosed = 16;
const tagAtStart = /^<([A-Za-z][\w.:-]{0,60})(?: [^<>\n]{0,300})?>/;
const bracketAtStart = /^\[{1,2}([A-Za-z][\w -]{0,60})\]{1,2}/;
/** A line that is a tag without content, or decorated on both sides. */
const banner = /^(?:<[A-Za-z][^<>]{0,200}\/>|([*=#-]{3,})[^*=#]{1,200}\1)\s*$/;
/** A label in front of the ask of a template, at the beginning of a line. */
const askLabel =
  /^(?:【[^】]{1,20}】|(?:[\w']{1,20} ){0,3}(question|query|task|request|instruction|ask|user|human|command)\s?:(?=\s|$))/i;
/** A line of headers in front, as those of mail. */
const headerLine = /^[A-Z][\w-]{0,24}:[ \t]\S/;
/** In the middle of a line only such names are blocks: no element of HTML has a hyphen or an underscore in its name. */
const tagInLine = /<([A-Za-z]\w{0,40}[_-][\w-]{0,40})>/;
const heading = /^(?:#{1,6} |={3}|-{3,}\s*$|\*{3,}\s*$|_{3,}\s*$|\*\*[^*\n]{1,80}\*\*:?\s*$|\[\[ ?## )/;
const bracketed = /^\[[^[\]\n]{1,400}\](?::|\s|$)/;
const patchLine = /^(?:$|[ +\-@\\]|diff |index |new |deleted |old |rename |similarity |Binary )/;
const decoration = /[^\p{L}\p{N}]+/gu;

interface Block {
  readonly name: string;
  readonly text: string;
}
interface Section {
  readonly title: string;
  readonly lines: string[];
}

export function ownWordsIn(text: string, depth = 0): OwnWords {
  const lines = withoutHeaders(text.split("\n", maxLines));
  const blocks: Block[] = [];
  const sections: Section[] = [{ title: "", lines: [] }];
  let own = sections[0]?.lines ?? [];
  let isFramed = false;
  let beginsWithBlock = false;
  let unclosed = 0;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const start = line.trimStart();
    const first = start.charCodeAt(0);
    if (first === 0x60 || first === 0x7e) {
      const fence = fenceAt(start);
      const end = fence === "" ? -1 : endOfFence(lines, at + 1, fence);
      if (end >= 0) {
        blocks.push({ name: "", text: lines.slice(at + 1, end).join("\n") });
        at = end;
        continue;
      }
    } else if (first === 0x3e) {
      continue; // a quoted line
    } else if ((first === 0x3c || first === 0x5b) && unclosed < maxUnclosed) {
      const tag = (first === 0x3c ? tagAtStart : bracketAtStart).exec(start);
      const close = first === 0x3c ? `</${tag?.[1]}>` : `[/${tag?.[1]}]`;
      const end = tag === null ? undefined : endOfTag(lines, at, close);
      if (tag !== null && end !== undefined) {
        if (blocks.length === 0 && sections.length === 1 && !hasText(own)) beginsWithBlock = true;
        blocks.push({ name: tag[1] ?? "", text: end.inside.trimStart().slice(tag[0].length) });
        lines[end.at] = end.behind;
        at = end.at - 1;
        continue;
      }
      if (tag !== null) unclosed++;
    } else if (start.startsWith("diff --git ")) {
      while (at + 1 < lines.length && patchLine.test(lines[at + 1] ?? "")) at++;
      continue;
    }
    if (first === 0x5b && sections.length === 1 && !hasText(own) && bracketed.test(start)) {
      isFramed = true;
      own.push(start.slice(start.indexOf("]") + 1).replace(/^[:\s]/, ""));
      continue;
    }
    if (banner.test(start)) continue;
    const label = askLabel.exec(start)?.[0];
    if (label !== undefined) {
      own = [start.slice(label.length)];
      sections.push({ title: `# ${label}`, lines: own });
      continue;
    }
    if (heading.test(start)) {
      // What follows on text without a heading has been added by a program, or is detail.
      if (sections.length === 1 && hasText(own)) break;
      own = [];
      sections.push({ title: start, lines: own });
    } else own.push(withoutInlineBlocks(line));
  }
  const filled = sections.filter((section) => hasText(section.lines));
  const section = filled.findLast(({ title }) => holdsAsk(title));
  const said = (section === undefined ? filled : [section]).map((each) => each.lines.join("\n")).join("\n");
  const ask = withoutQuotes(said.trim());
  const namedBlock = blocks.find(({ name }) => holdsAsk(name));
  // A message that begins with blocks has been put together by a program: what stands between them may be the program's.
  const named = namedBlock && insideOf(namedBlock, depth);
  const attached = beginsWithBlock ? "" : blocks.map((block) => block.text).join("\n");
  if (ask !== "" && !(beginsWithBlock && named !== undefined)) return { ask, attached, inside: ask, named, isFramed };
  if (named !== undefined) return { ask: named, attached, inside: named, named, isFramed };
  const block = likeliest(blocks.filter((each) => each.text.trim() !== ""));
  return { ask: "", attached: "", inside: block === undefined ? "" : insideOf(block, depth), named, isFramed: true };
}

/** Some command lines hand on an ask with the quotes around it. */
function withoutQuotes(ask: string): string {
  return ask.startsWith('"') && ask.indexOf('"', 1) === ask.length - 1 ? ask.slice(1, -1).trim() : ask;
}

/** Two or more lines of headers in front, and a blank line behind them, are a program's. */
function withoutHeaders(lines: string[]): string[] {
  let headers = 0;
  while (headerLine.test(lines[headers] ?? "")) headers++;
  return headers > 1 && lines[headers]?.trim() === "" ? lines.slice(headers) : lines;
}

/** The block of the fewest lines, the last one of several: what is wanted is shorter than what it is about, and stands behind it. */
function likeliest(blocks: readonly Block[]): Block | undefined {
  let best: Block | undefined;
  let fewest = Infinity;
  for (const block of blocks) {
    const lines = block.text.trim().split("\n").length;
    if (lines > fewest) continue;
    best = block;
    fewest = lines;
  }
  return best;
}

function insideOf({ text }: Block, depth: number): string {
  return depth < maxDepth ? ownWordsIn(text, depth + 1).inside : text.trim();
}

function hasText(lines: readonly string[]): boolean {
  return lines.some((line) => line.trim() !== "");
}

function holdsAsk(name: string): boolean {
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replace(decoration, " ")
    .trim()
    .split(" ");
  // The last word of a block's name says what it is, and any word of a heading.
  return words.some((word, at) => askNames.has(word) && (at === words.length - 1 || !/^\w/.test(name)));
}

/** Three or more backticks or tildes at the beginning of a line; empty where it opens no fence. */
function fenceAt(line: string): string {
  const mark = line.charAt(0);
  let length = 0;
  while (line.charAt(length) === mark) length++;
  return length >= 3 ? line.slice(0, length) : "";
}

function endOfFence(lines: readonly string[], from: number, fence: string): number {
  for (let at = from; at < lines.length; at++) if (lines[at]?.trimStart().startsWith(fence)) return at;
  return -1;
}

/** Where a block ends that begins a line: its end closes a line too, or another block follows. */
function endOfTag(lines: readonly string[], from: number, close: string) {
  let inside = "";
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const end = line.indexOf(close);
    if (end < 0) {
      inside += `${line}\n`;
      continue;
    }
    const behind = line.slice(end + close.length);
    // What is not an element of HTML is a block in any place.
    const ends = behind.trim() === "" || behind.trimStart().startsWith("<") || /[_[-]/.test(close);
    return ends ? { at, inside: inside + line.slice(0, end), behind } : undefined;
  }
  return undefined;
}

/** A line without blocks such as `<system-reminder>…</system-reminder>` in it. */
function withoutInlineBlocks(line: string): string {
  let rest = line;
  for (let found = 0; found < maxDepth && rest.includes("</"); found++) {
    const tag = tagInLine.exec(rest);
    const end = tag === null ? -1 : rest.indexOf(`</${tag[1]}>`, tag.index);
    if (tag === null || end < 0) return rest;
    rest = rest.slice(0, tag.index) + rest.slice(end + (tag[1] ?? "").length + 3);
  }
  return rest;
}
