import { isObject, type Json } from "#domain/chat.ts";

/** Characters of a message that are read, from its beginning and from its end: what is wanted is said there. */
const readHead = 4_000;
const readTail = 2_000;

/** The beginning and the end of a text; the text itself when it is short enough. */
export function windowOf(text: string, head: number = readHead, tail: number = readTail): string {
  return text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(text.length - tail)}`;
}

/** What a message says, as text: a string as it is, text parts joined by line ends, nothing for null. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  let text = "";
  for (const part of content) {
    const said = isObject(part) ? part["text"] : undefined;
    if (typeof said === "string") text = text === "" ? said : `${text}\n${said}`;
  }
  return text;
}
