import type { ChatMessage, MessageRole } from "#domain/chat.ts";
import type { MessageRun } from "./message-runs.ts";

/** Messages that were received before, recognized by their bytes. The same bytes are the same object while they are remembered. */
export interface KnownRun {
  /** The role of each message. */
  readonly roles: readonly MessageRole[];
}

/** A known run with its position in a conversation. */
export interface KnownRunAt extends MessageRun {
  readonly known: KnownRun;
  /** The known run that an earlier request ended with, where this one is longer by what has been added since. */
  readonly begin?: KnownRunAt;
}

/** The first messages of a conversation, as they were received before in another body. */
export interface KnownBeginning {
  /** Index behind them. */
  readonly to: number;
  /** The same object for the same bytes, while these are remembered. */
  readonly identity: object;
}

/** What is known about an array of messages, apart from the messages. */
interface MessagesInfo {
  readonly runs: readonly KnownRunAt[];
  /** Not on a copy. */
  readonly beginning?: KnownBeginning | undefined;
  /** Present on a copy: what it was made of, and which messages are others. */
  readonly copied?: { readonly original: readonly ChatMessage[]; readonly replaced: ReadonlyMap<number, ChatMessage> };
}

const infoByMessages = new WeakMap<readonly ChatMessage[], MessagesInfo>();

/** The known runs of a conversation, in order; none where `setKnownRuns` was not called. */
export function knownRunsOf(messages: readonly ChatMessage[]): readonly KnownRunAt[] {
  return infoByMessages.get(messages)?.runs ?? noRuns;
}

const noRuns: readonly KnownRunAt[] = [];

/** How a conversation begins; undefined where that is not known, or where some message was replaced. */
export function knownBeginningOf(messages: readonly ChatMessage[]): KnownBeginning | undefined {
  return infoByMessages.get(messages)?.beginning;
}

export function setKnownRuns(
  messages: readonly ChatMessage[],
  runs: readonly KnownRunAt[],
  beginning?: KnownBeginning,
): void {
  infoByMessages.set(messages, { runs, beginning });
}

/** The role of each message, without reading those of known runs. */
export function rolesOf(messages: readonly ChatMessage[]): MessageRole[] {
  const known = knownRunsOf(messages);
  if (known.length === 0) return messages.map(({ role }) => role);
  const roles: MessageRole[] = [];
  const readUpTo = (end: number) => {
    while (roles.length < end) roles.push(messages[roles.length]?.role ?? "user");
  };
  for (const { from, known: run } of known) {
    readUpTo(from);
    for (const role of run.roles) roles.push(role);
  }
  readUpTo(messages.length);
  return roles;
}

/**
 * A conversation that begins with known runs. It is an array like any other, but for the messages of the runs, which are parsed
 * when they are first looked at.
 * @param parse reads message `index` of the known ones
 */
export function lazyMessages(
  runs: readonly KnownRunAt[],
  parse: (index: number) => ChatMessage,
  rest: readonly ChatMessage[],
): ChatMessage[] {
  const unparsed = new Array<ChatMessage>(runs.at(-1)?.to ?? 0).fill(notParsed);
  return lazyArray([...unparsed, ...rest], parse, { runs });
}

/** The same conversation with other messages in some places. Known messages that stay are not parsed. */
export function replaceMessages(
  original: readonly ChatMessage[],
  replaced: ReadonlyMap<number, ChatMessage>,
): ChatMessage[] {
  const indexes = [...replaced.keys()];
  const runs = knownRunsOf(original).filter(({ from, to }) => !indexes.some((index) => from <= index && index < to));
  const known = new Array<ChatMessage>(knownRunsOf(original).at(-1)?.to ?? 0).fill(notParsed);
  const messages = [...known, ...original.slice(known.length)];
  for (const [index, message] of replaced) messages[index] = message;
  const parse = (index: number) => original[index] ?? notParsed;
  return lazyArray(messages, parse, { runs, copied: { original, replaced } });
}

/** Whether message `index` of a conversation is the very same as in the one that it may be a copy of. */
export function isSharedMessage(
  messages: readonly ChatMessage[],
  original: readonly ChatMessage[],
  index: number,
): boolean {
  const copied = infoByMessages.get(messages)?.copied;
  return copied?.original === original ? !copied.replaced.has(index) : messages[index] === original[index];
}

/** In the place of a message that nobody has looked at. */
const notParsed: ChatMessage = Object.freeze({ role: "user" });

function lazyArray(target: ChatMessage[], parse: (index: number) => ChatMessage, known: MessagesInfo): ChatMessage[] {
  const parseOnce = (key: string | symbol) => {
    const index = Number(key); // of an item that is there: `key` is a whole number
    target[index] = parse(index);
  };
  const messages = new Proxy(target, {
    get(_, key, receiver) {
      if (Reflect.get(target, key) === notParsed) parseOnce(key);
      return Reflect.get(target, key, receiver);
    },
    getOwnPropertyDescriptor(_, key) {
      if (Reflect.get(target, key) === notParsed) parseOnce(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  infoByMessages.set(messages, known);
  return messages;
}
