import type { ChatMessage, JsonObject, ReceivedBody } from "#domain/chat.ts";
import { replacedIn } from "./known-messages.ts";
import { type Splice, splicedText } from "./spliced-message.ts";

/**
 * A body as JSON, in pieces: what it shares with the received body as the bytes that were received, and the rest written anew.
 * Values are shared where they are the same objects, or equal texts, numbers or literals.
 */
export function spliceBody(body: JsonObject, received: ReceivedBody): Uint8Array[] {
  const pieces = new Pieces(received.bytes);
  pieces.open("{");
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === undefined) continue;
    const range = received.members.get(key);
    if (range !== undefined && received.parsed[key] === value) pieces.copy(range.index, range.from, range.to);
    else {
      pieces.write(`${JSON.stringify(key)}:`);
      if (key === "messages" && Array.isArray(value)) spliceMessages(value as ChatMessage[], received, pieces);
      else pieces.append(JSON.stringify(value));
    }
  }
  pieces.close("}");
  return pieces.finish();
}

function spliceMessages(
  messages: readonly ChatMessage[],
  { bytes, parsed, messages: ranges }: ReceivedBody,
  pieces: Pieces,
): void {
  pieces.open("[");
  let from = 0;
  const copyUpTo = (index: number) => {
    if (index > from) pieces.copy(from, ranges[2 * from] ?? 0, ranges[2 * index - 1] ?? 0, index - 1);
  };
  for (const replaced of replacedIn(messages, parsed.messages)) {
    const { index } = replaced;
    if ("splices" in replaced) {
      copyUpTo(index + 1);
      pieces.splice(splicesAt(Number(ranges[2 * index]), replaced.splices, bytes));
    } else {
      copyUpTo(index);
      pieces.write(replaced.json);
    }
    from = index + 1;
  }
  copyUpTo(messages.length);
  pieces.close("]");
}

/** The splices of a message that stands at a place of a body, as one: each piece is sent on its own. */
function splicesAt(place: number, splices: readonly Splice[], bytes: Uint8Array): Splice {
  const from = splices[0]?.from ?? 0;
  const to = splices.at(-1)?.to ?? 0;
  const text = splicedText(bytes.subarray(place), from, to, splices);
  return { from: place + from, to: place + to, text };
}

/** No item has the index behind it. */
const noItem = -2;

/** The items of an object or array, one after the other, with commas between them. Neighbours are copied together. */
class Pieces {
  readonly #bytes: Uint8Array;
  readonly #pieces: Uint8Array[] = [];
  #text = "";
  #isFirst = true;
  /** What is to be copied, if anything, and the index of its last item. */
  #isCopying = false;
  #from = 0;
  #to = 0;
  #index = noItem;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  open(bracket: string): void {
    this.append(bracket);
    this.#isFirst = true;
  }

  /** Where the bracket was received right behind what is to be copied, it is copied with that: each piece is sent on its own. */
  close(bracket: "}" | "]"): void {
    if (this.#isCopying && this.#bytes[this.#to] === bracket.charCodeAt(0)) {
      this.#to += 1;
      this.#index = noItem;
    } else this.append(bracket);
    this.#isFirst = false;
  }

  /** An item as it was received, or several up to the one with the index `last`. */
  copy(index: number, from: number, to: number, last = index): void {
    if (this.#isCopying && index === this.#index + 1) {
      // Between the two is a comma, and white space.
      this.#to = to;
      this.#index = last;
      return;
    }
    this.write("");
    this.#flushText();
    this.#isCopying = true;
    this.#from = from;
    this.#to = to;
    this.#index = last;
  }

  /** Within what is being copied. */
  splice({ from, to, text }: Splice): void {
    this.#pieces.push(this.#bytes.subarray(this.#from, from), Buffer.from(text));
    this.#from = to;
  }

  /** An item that is written anew. */
  write(text: string): void {
    this.append(this.#isFirst ? text : `,${text}`);
    this.#isFirst = false;
  }

  append(text: string): void {
    this.#flushCopy();
    this.#text += text;
  }

  finish(): Uint8Array[] {
    this.#flushCopy();
    this.#flushText();
    return this.#pieces;
  }

  #flushCopy(): void {
    if (!this.#isCopying) return;
    this.#pieces.push(this.#bytes.subarray(this.#from, this.#to));
    this.#isCopying = false;
  }

  #flushText(): void {
    if (this.#text !== "") this.#pieces.push(Buffer.from(this.#text));
    this.#text = "";
  }
}
