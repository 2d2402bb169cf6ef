import type { ChatMessage } from "#domain/chat.ts";

/** Text in the place of some bytes of a message: `[from, to)`, inside of a string. It needs no escapes in JSON. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** A message as it was received, but for some bytes of its strings. Written and sent without being parsed. */
export class SplicedMessage {
  /** In order; at least one. */
  readonly splices: readonly Splice[];
  readonly #bytes: Uint8Array;
  readonly #parsed: ChatMessage | undefined;

  /**
   * @param bytes of the message as received
   * @param parsed the message with its splices, where it has been parsed
   */
  constructor(bytes: Uint8Array, splices: readonly Splice[], parsed?: ChatMessage) {
    this.#bytes = bytes;
    this.splices = splices;
    this.#parsed = parsed;
  }

  parse(): ChatMessage {
    if (this.#parsed !== undefined) return this.#parsed;
    const text = splicedText(this.#bytes, 0, this.#bytes.length, this.splices);
    return JSON.parse(text) as ChatMessage; // its other parts were checked as they were received
  }
}

/** The text of the bytes `[from, to)`, with what stands in the place of some of them. */
export function splicedText(bytes: Uint8Array, from: number, to: number, splices: readonly Splice[]): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let text = "";
  let at = from;
  for (const splice of splices) {
    text += buffer.toString("utf8", at, splice.from) + splice.text;
    at = splice.to;
  }
  return text + buffer.toString("utf8", at, to);
}
