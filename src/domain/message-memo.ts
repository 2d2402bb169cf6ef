import type { ChatMessage, Json, MessageRole } from "./chat.ts";

/**
 * What has been found in a value of a body: one message, or the tools. It is kept from one request to the next, because
 * an agent sends its whole history with every call. It holds numbers, flags and names that the program has chosen,
 * never text of the value.
 */
export type Memos = unknown[];

const memos: unique symbol = Symbol("memos");
let places = 0;

/** A place for one kind of finding. */
export class Memo<T> {
  readonly #place = places++;

  of(owner: object): T | undefined {
    return memosOf(owner)?.[this.#place] as T | undefined; // nobody else writes to the place
  }

  /** Does nothing for a value that is not kept from one request to the next. */
  set(owner: object, value: T): void {
    const known = memosOf(owner);
    if (known !== undefined) known[this.#place] = value;
  }
}

function memosOf(value: object): Memos | undefined {
  return (value as { readonly [memos]?: Memos })[memos];
}

/** Gives the value these memos. A redacted copy has none: its placeholders have other numbers in another body. */
export function attachMemos(value: object, known: Memos): void {
  Object.defineProperty(value, memos, { value: known });
}

/** A function of one message, or of the tools, that is computed once for each, as long as it is known. */
export function memoize<V extends object, T>(compute: (owner: V) => T): (owner: V) => T {
  const memo = new Memo<{ readonly value: T }>();
  return (owner) => {
    let known = memo.of(owner);
    if (known === undefined) {
      known = { value: compute(owner) };
      memo.set(owner, known);
    }
    return known.value;
  };
}

export function memoizeByMessage<T>(compute: (message: ChatMessage) => T): (message: ChatMessage) => T {
  return memoize(compute);
}

/** A message that an earlier request has had: parsed when something of it is read, which is seldom. */
class LazyMessage {
  readonly role: MessageRole;
  readonly [memos]: Memos;
  readonly #parse: () => ChatMessage;
  #parsed: ChatMessage | undefined;

  constructor(role: MessageRole, known: Memos, parse: () => ChatMessage) {
    this.role = role;
    this[memos] = known;
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
  Object.defineProperty(LazyMessage.prototype, name, {
    get(this: LazyMessage): Json | undefined {
      return this.parsed[name];
    },
  });
}

/** A message that need not be parsed yet. Its standard members can be read; for all others see `wholeMessage`. */
export function lazyMessage(role: MessageRole, known: Memos, parse: () => ChatMessage): ChatMessage {
  return new LazyMessage(role, known, parse) as unknown as ChatMessage; // the getters are its members
}

/** The message with all of its members. */
export function wholeMessage(message: ChatMessage): ChatMessage {
  return message instanceof LazyMessage ? message.parsed : message;
}
