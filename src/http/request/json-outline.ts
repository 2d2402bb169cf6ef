import type { MemberRange, ReceivedBody } from "#domain/chat.ts";

const MINUS = 0x2d;
const BACKSLASH = 0x5c;

/** Numbers that are compared with how they would be written; a body of more is written anew. */
const maxComparedNumbers = 4_096;

interface Mark {
  readonly name: string;
  readonly from: number;
  to: number;
}

/**
 * Where the members of a JSON object stand in its text, noted while the text is scanned. Valid if the text turns out to be a JSON object.
 */
export class JsonOutline {
  /** Whether all keys and numbers are written as they would be written anew. */
  isCanonical = true;
  /** Members of all objects, at any depth. */
  memberCount = 0;
  readonly #text: string;
  readonly #members: Mark[] = [];
  #comparedNumbers = 0;
  #member: Mark | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** A colon outside of strings, at a depth: the string at `open` to `close` before it is a key. */
  colon(depth: number, open: number, close: number): void {
    this.memberCount += 1;
    for (let at = open + 1; at < close; at++) {
      if (this.#text.charCodeAt(at) === BACKSLASH) this.isCanonical = false;
    }
    if (close - open === protoLength && this.#text.startsWith("__proto__", open + 1)) this.isCanonical = false;
    if (depth === 1) this.#member = { name: this.#text.slice(open + 1, close), from: open, to: 0 };
  }

  comma(depth: number, at: number): void {
    if (depth === 1) this.#endMember(at);
  }

  /** A bracket that closes an object or an array; the depth is that of what was in it. */
  close(depth: number, at: number): void {
    if (depth === 1) this.#endMember(at);
  }

  /** A number, after its sign. */
  number(from: number, to: number): void {
    const start = this.#text.charCodeAt(from - 1) === MINUS ? from - 1 : from;
    const text = this.#text.slice(start, to);
    if (++this.#comparedNumbers > maxComparedNumbers || JSON.stringify(Number(text)) !== text) this.isCanonical = false;
  }

  /** The body with its bytes; undefined where these might say something else than what was parsed. */
  receivedBody(bytes: Uint8Array, parsed: ReceivedBody["parsed"]): ReceivedBody | undefined {
    // Where a key stands twice in an object, fewer members were parsed than are written.
    if (!this.isCanonical || hasByteOrderMark(bytes) || this.memberCount !== membersIn(parsed)) return undefined;
    const inBytes = byteOffsets(this.#text, bytes);
    const members = new Map<string, MemberRange>();
    for (const [index, { name, from, to }] of this.#members.entries()) {
      const start = inBytes(from);
      members.set(name, { index, from: start, to: inBytes(to) });
    }
    return { bytes, parsed, members };
  }

  #endMember(at: number): void {
    const member = this.#member;
    if (member === undefined) return;
    member.to = at;
    this.#members.push(member);
    this.#member = undefined;
  }
}

/** Between its quotes. */
const protoLength = "__proto__".length + 1;

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** From places in the text to places in its UTF-8 bytes. To be asked in ascending order. */
function byteOffsets(text: string, bytes: Uint8Array): (at: number) => number {
  if (bytes.length === text.length) return (at) => at;
  let known = 0;
  let offset = 0;
  return (at) => {
    offset += Buffer.byteLength(text.slice(known, at));
    known = at;
    return offset;
  };
}

/** Members of all objects in a value. */
function membersIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") count += membersIn(item);
    return count;
  }
  for (const member of Object.values(value)) {
    count += 1;
    if (typeof member === "object") count += membersIn(member);
  }
  return count;
}
