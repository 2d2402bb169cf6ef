/** A block in a text: what stands in a fence (`name` is empty), between tags, or under a heading. */
export interface Block {
  readonly name: string;
  readonly lines: string[];
}

export interface FoundBlock extends Block {
  /** Index of its last line, and what stands behind its end there. */
  readonly end: number;
  readonly behind: string;
  /** What opens it: the fence with its label, or the tag. */
  readonly opening: string;
}

/** Tags without an end after which none is looked for any more. */
const maxUnclosed = 16;
const tag =
  /^<(?:function=|invoke name=")?([A-Za-z][\w.:-]{0,60})"?(?: [^<>\n]{0,300})?>|^\[{1,2}([A-Za-z][\w -]{0,60})\]{1,2}/;

/** Finds the blocks in the lines of a text, each by the line that it begins. Holds a count: one for each text. */
export function blockFinder(lines: readonly string[]): (at: number) => FoundBlock | undefined {
  let unclosed = 0;
  return (at) => {
    const start = lines[at]?.trimStart() ?? "";
    if (!/^[`~<[]/.test(start)) return undefined;
    const fence = /^(?:`{3,20}|~{3,20})/.exec(start)?.[0];
    if (fence !== undefined) {
      const end = lines.findIndex((line, n) => n > at && line.trimStart().startsWith(fence));
      return end < 0 ? undefined : { name: "", lines: lines.slice(at + 1, end), end, behind: "", opening: start };
    }
    const found = unclosed < maxUnclosed ? tag.exec(start) : null;
    const block = found === null ? undefined : taggedBlock(lines, at, found);
    if (found !== null && block === undefined) unclosed++;
    return block;
  };
}

/** The block that a tag opens: its end closes a line too, or another block follows. */
function taggedBlock(lines: readonly string[], from: number, { 0: opening, 1: element, 2: bracket }: RegExpExecArray) {
  const name = element ?? bracket ?? "";
  const closing = opening.startsWith("<function=") ? "function" : opening.startsWith("<invoke ") ? "invoke" : name;
  const close = element === undefined ? `[/${name}]` : `</${closing}>`;
  const end = lines.findIndex((line, at) => at >= from && line.includes(close));
  const last = lines[end];
  if (last === undefined) return undefined;
  const behind = last.slice(last.indexOf(close) + close.length);
  // What is no element of HTML is a block in any place.
  if (behind.trim() !== "" && !behind.trimStart().startsWith("<") && !/[_[-]/.test(close)) return undefined;
  const inside = [...lines.slice(from, end), last.slice(0, last.indexOf(close))];
  inside[0] = (inside[0] ?? "").trimStart().slice(opening.length);
  return { name, lines: inside, end, behind, opening };
}
