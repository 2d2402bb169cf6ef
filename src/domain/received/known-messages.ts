import type { ChatMessage, MessageRole } from "#domain/chat.ts";
import type { MessageRun } from "./message-runs.ts";
import { type Splice, SplicedMessage } from "./spliced-message.ts";

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
  /** The same object for the same messages, while these are remembered. */
  readonly identity: object;
  /** The role of each message. */
  readonly roles: readonly MessageRole[];
}

/** What is known about an array of messages, apart from the messages. */
interface MessagesInfo {
  readonly runs: readonly KnownRunAt[];
  readonly beginning?: KnownBeginning | undefined;
  /** The messages with `notParsed` in the place of those that nobody has looked at, if there are such. */
  readonly target?: readonly ChatMessage[];
  /** Present on a copy: what it was made of, and which messages are others. */
  readonly copied?: { readonly original: readonly ChatMessage[]; readonly others: Replacements };
}

const infoByMessages = new WeakMap<readonly ChatMessage[], MessagesInfo>();

/** The known runs of a conversation, in order; none where `setKnownRuns` was not called. */
export function knownRunsOf(messages: readonly ChatMessage[]): readonly KnownRunAt[] {
  return infoByMessages.get(messages)?.runs ?? noRuns;
}

const noRuns: readonly KnownRunAt[] = [];

/** How a conversation begins; undefined where that is not known. */
export function knownBeginningOf(messages: readonly ChatMessage[]): KnownBeginning | undefined {
  return infoByMessages.get(messages)?.beginning;
}

export function setKnownRuns(
  messages: readonly ChatMessage[],
  runs: readonly KnownRunAt[],
  beginning?: KnownBeginning,
): void {
  const target = infoByMessages.get(messages)?.target;
  infoByMessages.set(messages, target === undefined ? { runs, beginning } : { runs, beginning, target });
}

/** The messages `[from, to)`, as fast as from an array of parsed ones if they are that. */
export function messagesIn(messages: readonly ChatMessage[], from: number, to: number): readonly ChatMessage[] {
  const part = infoByMessages.get(messages)?.target?.slice(from, to);
  return part === undefined || part.includes(notParsed) ? messages.slice(from, to) : part;
}

/** The role of each message, without reading those of known runs. */
export function rolesOf(messages: readonly ChatMessage[]): MessageRole[] {
  const beginning = knownBeginningOf(messages);
  const roles: MessageRole[] = beginning === undefined ? [] : [...beginning.roles];
  for (const { from, to, known: run } of knownRunsOf(messages)) {
    if (to <= roles.length) continue;
    addRoles(roles, messages, from);
    for (const role of run.roles) roles.push(role);
  }
  addRoles(roles, messages, messages.length);
  return roles;
}

/** Adds the roles of the messages up to an index, by reading these. */
function addRoles(roles: MessageRole[], messages: readonly ChatMessage[], end: number): void {
  while (roles.length < end) roles.push(messages[roles.length]?.role ?? "user");
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
  return lazyArray(unparsedThen(runs.at(-1)?.to ?? 0, rest), parse, { runs });
}

function unparsedThen(known: number, rest: readonly ChatMessage[]): ChatMessage[] {
  const messages = new Array<ChatMessage>(known).fill(notParsed);
  for (const message of rest) messages.push(message);
  return messages;
}

/** A message in the place of another one. A spliced one is parsed when it is first looked at. */
type Replacement = ChatMessage | SplicedMessage;

/**
 * The same conversation with other messages in some places, of the same roles. Known messages that stay are not parsed. A run with
 * replaced messages is known too: as the same run with the same messages replaced.
 */
export function replaceMessages(
  original: readonly ChatMessage[],
  replaced: ReadonlyMap<number, Replacement>,
): ChatMessage[] {
  const others = new Replacements(replaced);
  const { beginning, target = original } = infoByMessages.get(original) ?? {};
  const runs = knownRunsOf(original).map((run) => others.runWith(run));
  const messages = target.slice();
  for (const [index, message] of replaced) messages[index] = message instanceof SplicedMessage ? notParsed : message;
  const parse = (index: number) => {
    const spliced = replaced.get(index);
    return spliced instanceof SplicedMessage ? spliced.parse() : (original[index] ?? notParsed);
  };
  const copied = { original, others };
  if (beginning === undefined) return lazyArray(messages, parse, { runs, copied });
  const identity = others.identityOf(beginning.identity, 0, beginning.to, {});
  return lazyArray(messages, parse, { runs, copied, beginning: { ...beginning, identity } });
}

/** A message in the place of another one, as JSON, or as it was received but for some bytes. */
export type ReplacedMessage =
  | { readonly index: number; readonly json: string }
  | { readonly index: number; readonly splices: readonly Splice[] };

/** Those messages that are not the very same as in the conversation that they may be a copy of, in their order. */
export function replacedIn(
  messages: readonly ChatMessage[],
  original: readonly ChatMessage[],
): readonly ReplacedMessage[] {
  const copied = infoByMessages.get(messages)?.copied;
  if (copied?.original === original) return copied.others.list();
  const replaced: ReplacedMessage[] = [];
  for (let index = 0; index < messages.length; index++) {
    if (messages[index] !== original[index]) replaced.push({ index, json: JSON.stringify(messages[index]) });
  }
  return replaced;
}

/** What stands for known messages of which some are replaced, by a hash of those. */
const changed = new WeakMap<object, Map<bigint, object>>();
/** Each is a further object that others remember things by. One policy and one place in a conversation give one. */
const maxChanged = 2;
/** Unknown outside. Decides only which conversations are taken for the same, for whoever assesses them. */
const [changedSeed = 0n] = crypto.getRandomValues(new BigUint64Array(1));

/** Messages in the places of others. They do not change any more: each is written as JSON once, to be hashed and to be sent. */
class Replacements {
  readonly #indexes: readonly number[];
  readonly #messages: ReadonlyMap<number, Replacement>;
  readonly #json = new Map<number, string>();
  readonly #hashes = new Map<number, bigint>();

  constructor(replaced: ReadonlyMap<number, Replacement>) {
    this.#indexes = [...replaced.keys()].sort((a, b) => a - b);
    this.#messages = replaced;
  }

  list(): readonly ReplacedMessage[] {
    return this.#indexes.map((index) => {
      const message = this.#messages.get(index);
      return message instanceof SplicedMessage
        ? { index, splices: message.splices }
        : { index, json: this.#jsonOf(index) };
    });
  }

  runWith(run: KnownRunAt): KnownRunAt {
    const { from, to, known, begin } = run;
    if (!this.#isIn(from, to)) return run;
    const other = { from, to, known: this.identityOf<KnownRun>(known, from, to, { roles: known.roles }) };
    return begin === undefined ? other : { ...other, begin: this.runWith(begin) };
  }

  /** What stands for the messages `[from, to)` where something else stood for them as received: `created` at first. */
  identityOf<T extends object>(received: T, from: number, to: number, created: T): T {
    if (!this.#isIn(from, to)) return received;
    let hash = 0n;
    for (const index of this.#indexes) {
      if (index >= from && index < to)
        hash = Bun.hash.xxHash3(`${hash} ${index - from} ${this.#hashOf(index)}`, changedSeed);
    }
    const others = (changed.get(received) ?? new Map()) as Map<bigint, T>; // as created here
    const known = others.get(hash);
    if (known !== undefined) return known;
    if (others.size >= maxChanged) others.clear();
    others.set(hash, created);
    changed.set(received, others);
    return created;
  }

  #hashOf(index: number): bigint {
    let hash = this.#hashes.get(index);
    if (hash === undefined) {
      const message = this.#messages.get(index);
      // What it was spliced from is known by the run that it is in.
      const written = message instanceof SplicedMessage ? JSON.stringify(message.splices) : this.#jsonOf(index);
      hash = Bun.hash.xxHash3(written, changedSeed);
      this.#hashes.set(index, hash);
    }
    return hash;
  }

  #jsonOf(index: number): string {
    let json = this.#json.get(index);
    if (json === undefined) {
      json = JSON.stringify(this.#messages.get(index));
      this.#json.set(index, json);
    }
    return json;
  }

  #isIn(from: number, to: number): boolean {
    for (const index of this.#indexes) if (from <= index && index < to) return true;
    return false;
  }
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
  infoByMessages.set(messages, { ...known, target });
  return messages;
}
