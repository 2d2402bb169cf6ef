import type { ChatMessage, Json, MessageRole } from "./chat.ts";

/**
 * What has been found in a piece of a body: one message, or the tools. It is kept from one request to the next, because an agent
 * sends its whole history with every call. It holds numbers, flags and names that the program has chosen, never text of the piece.
 */
export type Facts = unknown[];

const facts: unique symbol = Symbol("facts");
let places = 0;

/** One kind of facts. */
export class Fact<T> {
  readonly #place = places++;

  of(piece: object): T | undefined {
    return factsOf(piece)?.[this.#place] as T | undefined; // nobody else writes to the place
  }

  /** Does nothing for a piece that is not known from one request to the next. */
  set(piece: object, value: T): void {
    const known = factsOf(piece);
    if (known !== undefined) known[this.#place] = value;
  }
}

function factsOf(piece: object): Facts | undefined {
  return (piece as { readonly [facts]?: Facts })[facts];
}

/** From now on the piece has these facts. A redacted copy has none: its placeholders have other numbers in another body. */
export function attachFacts(piece: object, known: Facts): void {
  Object.defineProperty(piece, facts, { value: known });
}

/** A function of one message that is computed once for each message, as long as the message is known. */
export function memoizeByMessage<T>(compute: (message: ChatMessage) => T): (message: ChatMessage) => T {
  const memo = new Fact<{ readonly value: T }>();
  return (message) => {
    let known = memo.of(message);
    if (known === undefined) {
      known = { value: compute(message) };
      memo.set(message, known);
    }
    return known.value;
  };
}

/** A message that an earlier request has had: parsed when something of it is read, which is seldom. */
class KnownMessage {
  readonly role: MessageRole;
  readonly [facts]: Facts;
  readonly #parse: () => ChatMessage;
  #parsed: ChatMessage | undefined;

  constructor(role: MessageRole, known: Facts, parse: () => ChatMessage) {
    this.role = role;
    this[facts] = known;
    this.#parse = parse;
  }

  get parsed(): ChatMessage {
    this.#parsed ??= this.#parse();
    return this.#parsed;
  }

  toJSON(): ChatMessage {
    return this.parsed;
  }
}

const members =
  "content name tool_calls tool_call_id function_call refusal reasoning reasoning_content reasoning_details";
for (const name of members.split(" ")) {
  Object.defineProperty(KnownMessage.prototype, name, {
    get(this: KnownMessage): Json | undefined {
      return this.parsed[name];
    },
  });
}

/** A message that need not be parsed yet. Its standard members can be read as those of any other; for the rest there is `wholeMessage`. */
export function knownMessage(role: MessageRole, known: Facts, parse: () => ChatMessage): ChatMessage {
  return new KnownMessage(role, known, parse) as unknown as ChatMessage; // the getters are its members
}

/** The message with all of its members. */
export function wholeMessage(message: ChatMessage): ChatMessage {
  return message instanceof KnownMessage ? message.parsed : message;
}
