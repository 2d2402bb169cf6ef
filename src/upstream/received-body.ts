import type { ByteRange, ChatMessage, JsonObject, ReceivedBody } from "#domain/chat.ts";

/**
 * A body as JSON, in pieces: what is the same as received as the bytes that were received, and the rest written anew. Members
 * are the same where they are the same objects, or equal texts, numbers or literals; messages one by one.
 */
export function spliceBody(body: JsonObject, { bytes, parsed, members, messages }: ReceivedBody): Uint8Array[] {
  const splice = new Splice(bytes);
  splice.write("{");
  let separator = "";
  /** The last member, if it was copied. */
  let copied = -2;
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === undefined) continue;
    const range = parsed[key] === value ? members.get(key) : undefined;
    if (range === undefined) {
      splice.write(`${separator}${JSON.stringify(key)}:`);
      const isMessages = key === "messages" && Array.isArray(value) && value.length === messages.length;
      if (isMessages) writeMessages(splice, value as ChatMessage[], parsed.messages, messages);
      else splice.write(JSON.stringify(value));
    } else if (copied === range.index - 1) splice.extend(range);
    else {
      splice.write(separator);
      splice.copy(range);
    }
    copied = range?.index ?? -2;
    separator = ",";
  }
  return splice.end(0x7d);
}

/** Each piece is sent on its own, which costs more than a copy of many small ones. */
const maxPieces = 16;

function writeMessages(
  splice: Splice,
  written: readonly ChatMessage[],
  parsed: readonly ChatMessage[],
  ranges: readonly (ByteRange | undefined)[],
): void {
  splice.write("[");
  for (const [index, message] of written.entries()) {
    const range = message === parsed[index] ? ranges[index] : undefined;
    if (range !== undefined && splice.isCopying) {
      splice.extend(range);
      continue;
    }
    if (index > 0) splice.write(",");
    if (range === undefined) splice.write(JSON.stringify(message));
    else splice.copy(range);
  }
  splice.write("]");
}

/** Pieces of what was received, and text between them. */
class Splice {
  readonly #bytes: Uint8Array;
  readonly #pieces: Uint8Array[] = [];
  #text = "";
  #copied: { readonly from: number; readonly to: number } | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  write(text: string): void {
    this.#flush();
    this.#text += text;
  }

  /** Whether nothing has been written since the last copy. */
  get isCopying(): boolean {
    return this.#copied !== undefined;
  }

  copy({ from, to }: ByteRange): void {
    this.#flush();
    this.#copied = { from, to };
  }

  /** What follows the last copy, with the comma and white space between the two. */
  extend({ to }: ByteRange): void {
    this.#copied = { from: this.#copied?.from ?? to, to };
  }

  /** @param close the byte of the bracket that ends it all: it is copied too where it was received right behind */
  end(close: number): Uint8Array[] {
    const copied = this.#copied;
    if (copied !== undefined && this.#bytes[copied.to] === close) this.#copied = { ...copied, to: copied.to + 1 };
    else this.write(String.fromCharCode(close));
    this.#flush();
    if (this.#text !== "") this.#pieces.push(Buffer.from(this.#text));
    return this.#pieces.length <= maxPieces ? this.#pieces : [Buffer.concat(this.#pieces)];
  }

  #flush(): void {
    const copied = this.#copied;
    if (copied === undefined) return;
    if (this.#text !== "") this.#pieces.push(Buffer.from(this.#text));
    this.#pieces.push(this.#bytes.subarray(copied.from, copied.to));
    this.#text = "";
    this.#copied = undefined;
  }
}
