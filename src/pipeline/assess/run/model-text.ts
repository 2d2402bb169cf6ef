import { blockFinder, type FoundBlock } from "#pipeline/assess/conversation/blocks.ts";
import { windowOf } from "#pipeline/assess/conversation/text.ts";
import type { ToolCall } from "./tool-call.ts";

/** What a model has written in one message beside its tool calls. */
export interface ModelText {
  /** Characters of its own prose: outside fences and tagged blocks. */
  readonly prose: number;
  /**
   * A call in its text, as harnesses without tools have it written: the last tagged block, action or fenced command.
   */
  readonly call: ToolCall | undefined;
  /** An edit in a fence, which a harness makes and says nothing, unless it could not. */
  readonly edits: boolean;
}

/** Characters that are read: a call stands at the end, and more prose than this is much by any bound. */
const readFirst = 16_000;
const readLast = 8_000;
const maxLines = 2_000;
/**
 * Blocks in which a model thinks, and fences with a command: another fence, or one behind a file's name, is an edit.
 */
const thinking = /^(?:think|thought|reason|plan|analysis|reflect)/;
const command = /^[`~]{3,}(?:bash|sh|shell|zsh|console|python|py|execute|tool_code|\w{1,20}_command)?[ \t]*$/;
const fileName = /^[*`"]{0,3}[\w@./\\-]{0,200}\w\.[A-Za-z0-9]{1,8}[`"]?:?\*{0,2}$/;
const statedName = /(?:<function=|<invoke name="|"name": ?")([\w.-]{1,60})/;
const parameter = /<parameter(?:=| name=")(\w{1,40})"?>/g;

export function readModelText(text: string): ModelText {
  const lines = windowOf(text, readFirst, readLast).split("\n", maxLines);
  const blockAt = blockFinder(lines);
  let prose = Math.max(0, text.length - readFirst - readLast);
  let called: FoundBlock | undefined;
  let edits = false;
  let action = "";
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]?.trim() ?? "";
    const block = blockAt(at);
    if (block === undefined) {
      prose += line.length;
      if (line.startsWith("Action:")) action = line.slice(7).trim();
      if (!line.startsWith("Action Input:") || action === "") continue;
      const args = [line.slice(13), ...lines.slice(at + 1)].join("\n").trim();
      return { prose, call: { name: action, args }, edits };
    }
    const isCall =
      block.name === ""
        ? command.test(block.opening) && !fileName.test(lines[at - 1]?.trim() ?? "")
        : !thinking.test(block.name);
    if (isCall) called = block;
    else edits ||= block.name === "";
    at = block.end;
  }
  return { prose, call: called && callIn(called), edits };
}

/**
 * A fence is a command; a block is a call under its own name, or the one it states: `<function=run>`, `{"name": "run"`.
 */
function callIn({ name, opening, lines }: FoundBlock): ToolCall {
  const inner = lines.join("\n");
  if (name === "") return { name: "bash", args: inner };
  const stated = statedName.exec(`${opening}${inner}`)?.[1];
  return { name: stated ?? name, args: inner.replace(parameter, "<$1>").replaceAll("</parameter>", "").trim() };
}
