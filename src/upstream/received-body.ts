import type { JsonObject, ReceivedBody } from "#domain/chat.ts";

/**
 * A body as JSON, in pieces: members that are the same as received as the bytes that were received, and the others written anew. Members
 * are the same where they are the same objects, or equal texts, numbers or literals.
 */
export function spliceBody(body: JsonObject, { bytes, parsed, members }: ReceivedBody): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let text = "{";
  /** What is to be copied; the members in it follow each other. */
  let copied: { from: number; to: number; index: number } | undefined;
  let isFirst = true;
  const flush = () => {
    if (copied === undefined) return;
    pieces.push(Buffer.from(text), bytes.subarray(copied.from, copied.to));
    text = "";
    copied = undefined;
  };
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === undefined) continue;
    const range = parsed[key] === value ? members.get(key) : undefined;
    if (range !== undefined && copied?.index === range.index - 1) {
      // Between the two is a comma, and white space.
      copied = { from: copied.from, to: range.to, index: range.index };
      continue;
    }
    flush();
    if (!isFirst) text += ",";
    isFirst = false;
    if (range === undefined) text += `${JSON.stringify(key)}:${JSON.stringify(value)}`;
    else copied = { ...range };
  }
  // Each piece is sent on its own: the closing bracket is copied too where it was received right behind.
  if (copied !== undefined && bytes[copied.to] === 0x7d) {
    copied = { ...copied, to: copied.to + 1 };
    flush();
    return pieces;
  }
  flush();
  pieces.push(Buffer.from(`${text}}`));
  return pieces;
}
