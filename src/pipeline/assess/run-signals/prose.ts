import type { ChatMessage, Json } from "#domain/chat.ts";
import { textOf } from "#pipeline/assess/envelope/text-window.ts";

const fence = "```";
/** A call that the model has written in tags, its name alone at the beginning of a line. */
const callTag = /^<(?!think|thought|reason)([a-z][a-z_]{1,40})>/gm;

/**
 * Characters of prose that a model has written in one message: its text outside fences and calls, and its reasoning where the caller
 * sends it back.
 */
export function proseIn(message: ChatMessage): number {
  const reasoning = lengthOf(message["reasoning"]) || lengthOf(message["reasoning_content"]);
  return reasoning + lengthOutside(textOf(message["content"]));
}

function lengthOf(text: Json | undefined): number {
  return typeof text === "string" ? text.length : 0;
}

function lengthOutside(text: string): number {
  let length = 0;
  let from = 0;
  for (let open = text.indexOf(fence); open >= 0; open = text.indexOf(fence, from)) {
    length += lengthOutsideTags(text.slice(from, open));
    const close = text.indexOf(fence, open + fence.length);
    if (close < 0) return length;
    from = close + fence.length;
  }
  return length + lengthOutsideTags(text.slice(from));
}

function lengthOutsideTags(text: string): number {
  if (!text.includes("</")) return text.trim().length;
  let length = 0;
  let from = 0;
  callTag.lastIndex = 0;
  for (let tag = callTag.exec(text); tag !== null; tag = callTag.exec(text)) {
    const close = `</${tag[1]}>`;
    const end = text.indexOf(close, callTag.lastIndex);
    if (end < 0) break;
    length += text.slice(from, tag.index).trim().length;
    from = end + close.length;
    callTag.lastIndex = from;
  }
  return length + text.slice(from).trim().length;
}

/** The most prose in so many calls in a row: a run that was in trouble once stays so until the next ask. */
export function mostProse(lengths: readonly number[], calls: number): number {
  let most = 0;
  let sum = 0;
  for (let index = 0; index < lengths.length; index++) {
    sum += (lengths[index] ?? 0) - (lengths[index - calls] ?? 0);
    if (sum > most) most = sum;
  }
  return most;
}
