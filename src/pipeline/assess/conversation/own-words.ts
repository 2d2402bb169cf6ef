import { type Block, blockFinder } from "./blocks.ts";

/**
 * Whose words stand in a message of the user's role. Programs put blocks around what their user has typed: tagged and
 * fenced blocks, quoted lines, patches, headers in front, sections under headings behind. All are known by their form,
 * whatever their names, so that the next program needs no rule. Reads a window of a message once.
 */
export interface OwnWords {
  /** What the user has typed; empty where the message is made of blocks only. */
  readonly ask: string;
  /** What stands in blocks behind it: code, or a text that something is to be done with. */
  readonly attached: string;
  /** What stands in the block or section that most likely holds the ask, where nothing stands outside of blocks. */
  readonly inside: string;
  /** The message begins with a bracketed header or is made of blocks: a program has written its form. */
  readonly isFramed: boolean;
}

/** The last word in the name of a block, or a word in a heading, whose text is the user's. */
const askName =
  /^(?:task|query|question|request|issue|problem|prompt|message|input|feedback|description|ask|goal|objective|ticket|answer)$/;
/** Lines that are looked at, and nested blocks that are opened. */
const maxLines = 400;
const maxDepth = 2;
/** Such blocks may begin in the middle of a line: no element of HTML has a hyphen or an underscore in its name. */
const tagInLine = /<[A-Za-z]\w{0,40}[_-][\w-]{0,40}>/g;
const heading = /^(?:#{1,6} |={3}|(?:-{2,}|\*{3,}|_{3,})[ \t]*$|\*\*[^*\n]{1,80}\*\*:?[ \t]*$|\[\[ ?## )/;
/** A label in front of the ask of a template, a tag without content, a line that is decorated on both sides. */
const askLabel =
  /^(?:【[^】]{1,20}】|(?:[\w']{1,20} ){0,3}(?:question|query|task|request|instruction|ask|user|human|command) ?:(?=\s|$))/i;
const workOrder =
  /^(?:please )?(?:solve|fix|resolve|implement|address|complete) (?:this|the following) \w{2,12}:(?=\s)/i;
const emptyTag = /^<[A-Za-z][^<>]{0,200}\/>[ \t]*$/;
const banner = /^[*=#-]{3} ?[^*=#]{1,200}[*=#-]{3}[ \t]*$/;
const bracketed = /^\[(?! {0,8}reasoning)[^[\]\n]{1,400}\](?::|\s|$)/;
/** A line that can neither open a block nor be a heading. */
const plain = /^[a-z0-9]/i;
const header = /^[A-Z][\w-]{0,24}:[ \t]\S/;
const patchLine = /^(?:$|[ +\-@\\]|diff |index |new |deleted |old |rename |similarity |Binary )/;

export function ownWordsIn(text: string, depth = 0): OwnWords {
  const lines = withoutHeaders(text.replace(tagInLine, "\n$&").split("\n", maxLines));
  const blockAt = blockFinder(lines);
  const blocks: Block[] = [];
  const sections: Block[] = [{ name: "", lines: [] }];
  let own = sections[0]?.lines ?? [];
  let isFramed = false;
  let beginsWithBlock = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const start = line.trimStart();
    if (start.startsWith(">")) continue; // a quoted line
    if (plain.test(start) && !start.includes(":") && !start.startsWith("diff --git ")) {
      own.push(line);
      continue;
    }
    const isFirst = sections.length === 1 && !hasText(own);
    const block = blockAt(at);
    if (block !== undefined) {
      beginsWithBlock ||= isFirst && blocks.length === 0 && block.name !== "";
      blocks.push(block);
      lines[block.end] = block.behind;
      at = block.end - (block.behind.trim() === "" ? 0 : 1);
      continue;
    }
    if (start.startsWith("diff --git ")) {
      while (at + 1 < lines.length && patchLine.test(lines[at + 1] ?? "")) at++;
    } else if (isFirst && bracketed.test(start)) {
      isFramed = true;
      own.push(start.slice(start.indexOf("]") + 1).replace(/^[:\s]/, ""));
    } else if (!emptyTag.test(start) && !(isFirst && banner.test(start))) {
      const labelled = start.startsWith("【") || start.includes(":");
      const label = labelled ? (askLabel.exec(start) ?? workOrder.exec(start))?.[0] : undefined;
      const isHeading = label === undefined && (heading.test(start) || banner.test(start));
      // What follows under a heading on text without one has been added by a program, or is detail.
      if (isHeading && sections.length === 1 && hasText(own)) break;
      if (isHeading || label !== undefined) {
        own = [];
        sections.push({ name: `# ${label ?? start}`, lines: own });
      }
      if (!isHeading) own.push(line.slice(label === undefined ? 0 : label.length));
    }
  }
  const filled = sections.filter((section) => hasText(section.lines));
  const section = filled.findLast(holdsAsk);
  const ask = withoutQuotes((section === undefined ? filled : [section]).map(textOf).join("\n").trim());
  const named = blocks.find(holdsAsk);
  // A program has put a message together that begins with blocks: what stands between them may be the program's.
  if (ask !== "" && !(beginsWithBlock && named !== undefined)) {
    return { ask, attached: beginsWithBlock ? "" : blocks.map(textOf).join("\n"), inside: ask, isFramed };
  }
  const chosen = named ?? likeliest(blocks.filter(({ lines: inside }) => hasText(inside)));
  const whole = chosen === undefined ? "" : textOf(chosen).trim();
  const inside = chosen !== undefined && depth < maxDepth ? ownWordsIn(whole, depth + 1).inside : whole;
  return { ask: named === undefined ? "" : inside, attached: "", inside, isFramed: true };
}

function hasText(lines: readonly string[]): boolean {
  return lines.some((line) => line.trim() !== "");
}

function textOf({ lines }: Block): string {
  return lines.join("\n");
}

/** Two or more lines of headers in front, and a blank line behind them, are a program's. */
function withoutHeaders(lines: string[]): string[] {
  let headers = 0;
  while (header.test(lines[headers] ?? "")) headers++;
  return headers > 1 && lines[headers]?.trim() === "" ? lines.slice(headers) : lines;
}

/** Some command lines hand on an ask with the quotes around it. */
function withoutQuotes(ask: string): string {
  return ask.startsWith('"') && ask.indexOf('"', 1) === ask.length - 1 ? ask.slice(1, -1).trim() : ask;
}

/**
 * The block of the fewest lines, the last of several: what is wanted is shorter than what it is about, and behind it.
 */
function likeliest(blocks: readonly Block[]): Block | undefined {
  const fewest = Math.min(...blocks.map(({ lines }) => lines.length));
  return blocks.findLast(({ lines }) => lines.length === fewest);
}

/** The last word of a block's name says what it is, and any word of a heading. */
function holdsAsk({ name }: Block): boolean {
  if (name === "") return false;
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter(Boolean);
  return words.some((word, at) => askName.test(word) && (at === words.length - 1 || name.startsWith("#")));
}
