import type { ByteRange, ChatMessage, JsonObject, ReceivedBody } from "#domain/chat.ts";
import { WithEmptyReasoning } from "./upstream.ts";

/** Text that is written anew, or a range of the received bytes. */
type Part = string | { readonly from: number; to: number };

/** Each piece is sent on its own, which costs more than a copy of many small ones. */
const maxPieces = 16;

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * A body as JSON, in pieces: what is the same as received as the bytes that were received, and the rest written anew.
 * Members are the same where they are the same objects, or equal texts, numbers or literals; messages one by one.
 */
export function spliceBody(body: JsonObject, received: ReceivedBody): Uint8Array[] {
  const { bytes, parsed, members, messages } = received;
  const parts: Part[] = ["{"];
  let separator = "";
  /** The last member, if it was copied. */
  let copied = -2;
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === undefined) continue;
    const range = parsed[key] === value ? members.get(key) : undefined;
    if (range !== undefined) copy(parts, range, separator, copied === range.index - 1);
    else {
      write(parts, `${separator}${JSON.stringify(key)}:`);
      const isMessages = key === "messages" && Array.isArray(value) && value.length === messages.length;
      if (isMessages) writeMessages(parts, value as ChatMessage[], parsed.messages, received);
      else write(parts, JSON.stringify(value));
    }
    copied = range?.index ?? -2;
    separator = ",";
  }
  const last = parts.at(-1);
  // The bracket that ends it all is copied too where it was received right behind.
  if (typeof last === "object" && bytes[last.to] === CLOSE_BRACE) last.to += 1;
  else write(parts, "}");
  const pieces = parts.map((part) =>
    typeof part === "string" ? Buffer.from(part) : bytes.subarray(part.from, part.to),
  );
  return pieces.length <= maxPieces ? pieces : [Buffer.concat(pieces)];
}

function writeMessages(
  parts: Part[],
  written: readonly (ChatMessage | WithEmptyReasoning)[],
  parsed: readonly ChatMessage[],
  { bytes, messages: ranges }: ReceivedBody,
): void {
  write(parts, "[");
  for (const [index, message] of written.entries()) {
    const lacksReasoning = message instanceof WithEmptyReasoning;
    const range = (lacksReasoning ? message.message : message) === parsed[index] ? ranges[index] : undefined;
    const separator = index > 0 ? "," : "";
    if (range === undefined) write(parts, separator + JSON.stringify(message));
    else if (lacksReasoning) {
      // A message has a role, so something follows the brace.
      write(parts, `${separator}{"reasoning_content":"",`);
      parts.push({ from: bytes.indexOf(OPEN_BRACE, range.from) + 1, to: range.to });
    } else copy(parts, range, separator, true);
  }
  write(parts, "]");
}

function write(parts: Part[], text: string): void {
  const last = parts.at(-1);
  if (typeof last === "string") parts[parts.length - 1] = last + text;
  else parts.push(text);
}

/** Copies a range; one that `follows` the last copy together with the comma and white space between the two. */
function copy(parts: Part[], { from, to }: ByteRange, separator: string, follows: boolean): void {
  const last = parts.at(-1);
  if (follows && typeof last === "object") {
    last.to = to;
  } else {
    if (separator !== "") write(parts, separator);
    parts.push({ from, to });
  }
}
