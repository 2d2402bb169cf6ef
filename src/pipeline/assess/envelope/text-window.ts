import { isObject, type Json } from "#domain/chat.ts";

/** Characters of a user's message that are read: the head and the tail. */
export const askHead = 12_000;
export const askTail = 4_000;

/** The beginning and the end of a text, where asks and errors stand; the text itself when it is short enough. */
export function windowOf(text: string, head: number, tail: number): string {
  return text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(text.length - tail)}`;
}

/** What a message says, as text: a string as it is, text parts joined by line ends, nothing for null. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  let text = "";
  for (const part of content) {
    const piece = isObject(part) ? part["text"] : undefined;
    if (typeof piece === "string") text = text === "" ? piece : `${text}\n${piece}`;
  }
  return text;
}
