import type { ToolCall } from "./tool-call.ts";

/** What a model has written in one message beside its tool calls. */
export interface ModelText {
  /** Characters of its own prose: outside fences and tagged blocks. */
  readonly prose: number;
  /** A call in its text, as harnesses have models write it that offer no tools: the last tagged block, action or fenced command. */
  readonly call: ToolCall | undefined;
  /** An edit in a fence, which a harness makes and says nothing, unless it could not. */
  readonly edits: boolean;
}

/** Characters that are read: a call stands at the end, and more prose than this is much by any bound. */
const readFirst = 16_000;
const readLast = 8_000;
const maxLines = 2_000;
const maxUnclosed = 16;
const openingTag = /^<(?:function=|invoke name=")?([A-Za-z][\w.-]{0,60})"?(?: [^<>]{0,200})?>/;
/** Blocks in which a model thinks. */
const thinking = /^(?:think|thinking|thought|thoughts|reason|reasoning|plan|analysis|reflection)$/;
const nameInBlock = /(?:<function=|<invoke name="|"name": ?")([\w.-]{1,60})/;
const parameter = /<parameter(?:=| name=")(\w{1,40})"?>/g;
const fileName = /^[*`"]{0,3}[\w@./\\-]{0,200}\w\.[A-Za-z0-9]{1,8}[`"]?:?\*{0,2}$/;

export function readModelText(text: string): ModelText {
  const whole = text.length <= readFirst + readLast;
  const shown = whole ? text : `${text.slice(0, readFirst)}\n${text.slice(-readLast)}`;
  const lines = shown.split("\n", maxLines);
  let prose = whole ? 0 : text.length - shown.length;
  let call: ToolCall | undefined;
  let edits = false;
  let unclosed = 0;
  let action = "";
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]?.trim() ?? "";
    const first = line.charCodeAt(0);
    if (first === 0x60 || first === 0x7e) {
      const mark = line.startsWith("```") ? "```" : line.startsWith("~~~") ? "~~~" : "";
      let end = mark === "" ? at : at + 1;
      while (end < lines.length && end > at && !lines[end]?.trimStart().startsWith(mark)) end++;
      if (end > at) {
        const inside = lines.slice(at + 1, end);
        // A fence that names a file, or holds a patch, is an edit; any other is taken for a command.
        if (isEdit(line, lines[at - 1]?.trim() ?? "", inside)) edits = true;
        else if (end < lines.length) call = { name: "bash", args: inside.join("\n") };
        at = end;
        continue;
      }
    } else if (first === 0x3c && unclosed < maxUnclosed) {
      const name = openingTag.exec(line)?.[1];
      const end = name === undefined ? -1 : endOfBlock(lines, at, line, name);
      if (name !== undefined && end < 0) unclosed++;
      if (name !== undefined && end >= 0) {
        if (!thinking.test(name)) call = callIn(name, lines.slice(at, end + 1).join("\n"));
        at = end;
        continue;
      }
    } else if (line.startsWith("Action:")) action = line.slice(7).trim();
    else if (line.startsWith("Action Input:") && action !== "") {
      call = { name: action, args: [line.slice(13), ...lines.slice(at + 1)].join("\n").trim() };
      break;
    }
    prose += line.length;
  }
  return { prose, call, edits };
}

function endOfBlock(lines: readonly string[], from: number, opening: string, name: string): number {
  const close = opening.startsWith("<function=")
    ? "</function>"
    : opening.startsWith("<invoke ")
      ? "</invoke>"
      : `</${name}>`;
  for (let at = from; at < lines.length; at++) if (lines[at]?.includes(close)) return at;
  return -1;
}

/** A block is a call under its own name, or under the one that it states: `<function=run>`, `{"name": "run", …}`. */
function callIn(name: string, block: string): ToolCall {
  const stated = nameInBlock.exec(block)?.[1];
  const inner = block.slice(block.indexOf(">") + 1, block.lastIndexOf("<"));
  return { name: stated ?? name, args: inner.replace(parameter, "<$1>").replaceAll("</parameter>", "").trim() };
}

function isEdit(opening: string, before: string, inside: readonly string[]): boolean {
  const label = opening.replace(/^[`~]+/, "").trim();
  if (/^(?:diff|patch)$/.test(label) || /^\w+ \S/.test(label) || /^[^\s]*[./\\][^\s]*$/.test(label)) return true;
  return fileName.test(before) || inside.slice(0, 3).some((line) => /^<{5,9} ?\w/.test(line));
}
