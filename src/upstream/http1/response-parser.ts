import { endOfHead, HttpSyntaxError, type ResponseHead, readHead } from "./response-head.ts";

const maxHeadBytes = 65_536;
/** Most heads are smaller; so much is looked at first. */
const usualHeadBytes = 2_048;
/** What may stand on the line of a chunk beside its length. */
const maxExtensionBytes = 4_096;
/** 2^48 bytes: more than anything is, and exact in a number. */
const maxLengthDigits = 12;

const cr = 13;
const lf = 10;
const space = 32;
const tab = 9;
const semicolon = 59;
const nothing = Buffer.alloc(0);

type State =
  | "head"
  | "length"
  | "chunk_length"
  | "chunk_extension"
  | "chunk"
  | "chunk_end"
  | "trailers"
  | "until_close"
  | "complete";

/**
 * Reads one answer of HTTP/1.1 from bytes that may be split anywhere. Of each piece that is pushed, the bytes that belong
 * to the answer's body lie afterwards between `bodyStart` and `bodyEnd` in that same piece: what frames chunks is taken out
 * in place, so that a body costs no copy and is handed on in one part, however many chunks came at once.
 *
 * Interim answers (1xx) are passed over. Lines may end in LF alone. Refused: folded headers, lengths that contradict each
 * other, transfer codings other than chunked, heads and trailers above 64 KiB.
 */
export class ResponseParser {
  #state: State = "head";
  /** Bytes of a head that is not whole yet. */
  #held: Buffer = nothing;
  /** Bytes that the body or the chunk still lacks; while a chunk's length is read, what it is so far. */
  #left = 0;
  /** Of the length of a chunk. */
  #digits = 0;
  /** Bytes of a chunk's extension, or of trailers. */
  #extra = 0;
  /** Nothing but a CR has come of the line that is being read. */
  #lineEmpty = true;
  #keepsOpen = false;
  #endsWithConnection = false;
  #head: ResponseHead | undefined;
  bodyStart = 0;
  bodyEnd = 0;
  /** More bytes came than the answer has: whatever they are, the connection cannot be trusted any more. */
  #overrun = false;

  /** The answer's head, once: when it has just become whole. Nothing of it is kept for as long as a stream may last. */
  takeHead(): ResponseHead | undefined {
    const head = this.#head;
    this.#head = undefined;
    return head;
  }

  get complete(): boolean {
    return this.#state === "complete";
  }

  /** Whether the answer's end is told by its framing; if not, a clean close may be a cut. */
  get framed(): boolean {
    return !this.#endsWithConnection;
  }

  /** Whether another request may follow on the same connection, once the answer is complete. */
  get keepsOpen(): boolean {
    return this.#keepsOpen && !this.#overrun;
  }

  /** Reads the next piece, which may be changed in place. Throws `HttpSyntaxError`. */
  push(piece: Buffer): void {
    this.bodyStart = 0;
    this.bodyEnd = 0;
    let at = 0;
    if (this.#state === "head") {
      const before = this.#held.length;
      at = this.#readHeads(before === 0 ? piece : Buffer.concat([this.#held, piece])) - before;
      if (this.#state === "head") return;
      this.#held = nothing;
    }
    this.#readBody(piece, at);
  }

  /** The other side has closed, in order. Whether that is a proper end of the answer. */
  finish(): boolean {
    if (this.#state === "until_close") this.#state = "complete";
    return this.#state === "complete";
  }

  /** Reads up to the end of the answer's head, whose place it gives back; holds what is not a whole head yet. */
  #readHeads(bytes: Buffer): number {
    for (let start = 0; ; ) {
      let text = bytes.toString("latin1", start, Math.min(bytes.length, start + usualHeadBytes));
      let length = endOfHead(text);
      if (length < 0 && bytes.length - start > usualHeadBytes) {
        text = bytes.toString("latin1", start, Math.min(bytes.length, start + maxHeadBytes));
        length = endOfHead(text);
      }
      if (length < 0) {
        if (text.length >= maxHeadBytes) throw new HttpSyntaxError("its headers are too large");
        if (!mayBeHttp(text)) throw new HttpSyntaxError("it does not begin with HTTP/1.1");
        // A copy: the piece itself is handed on.
        this.#held = Buffer.from(bytes.subarray(start));
        return bytes.length;
      }
      const head = readHead(text.slice(0, length));
      if (head.status === 101) throw new HttpSyntaxError("it switches protocols, which was not asked for");
      start += length;
      if (head.status < 200) continue;
      this.#head = head;
      this.#frame(head);
      return start;
    }
  }

  #frame({ status, persistent, headers }: ResponseHead): void {
    const connection = headers.get("connection");
    this.#keepsOpen = persistent;
    if (connection !== undefined) {
      this.#keepsOpen = persistent ? !/\bclose\b/i.test(connection) : /\bkeep-alive\b/i.test(connection);
    }
    const codings = headers.get("transfer-encoding");
    const length = headers.get("content-length");
    if (status === 204 || status === 304) {
      this.#state = "complete";
    } else if (codings !== undefined) {
      if (codings.toLowerCase() !== "chunked") throw new HttpSyntaxError("its transfer coding is not known");
      // Chunks count, as the standard says; but one of the two was a mistake, so nothing else is read from there.
      if (length !== undefined) this.#keepsOpen = false;
      this.#state = "chunk_length";
    } else if (length !== undefined) {
      this.#left = lengthOf(length);
      this.#state = this.#left === 0 ? "complete" : "length";
    } else {
      this.#keepsOpen = false;
      this.#endsWithConnection = true;
      this.#state = "until_close";
    }
  }

  #readBody(bytes: Buffer, from: number): void {
    let at = from;
    this.bodyStart = from;
    this.bodyEnd = from;
    while (at < bytes.length) {
      switch (this.#state) {
        case "until_close":
          this.bodyEnd = bytes.length;
          return;
        case "length":
        case "chunk": {
          const to = Math.min(bytes.length, at + this.#left);
          this.#addBody(bytes, at, to);
          this.#left -= to - at;
          at = to;
          if (this.#left === 0) this.#state = this.#state === "length" ? "complete" : "chunk_end";
          break;
        }
        case "head":
        case "complete":
          this.#overrun = true;
          return;
        default:
          this.#frameByte(this.#state, bytes[at] ?? 0);
          at++;
      }
    }
  }

  /** One byte of what stands between the data of chunks. */
  #frameByte(state: "chunk_length" | "chunk_extension" | "chunk_end" | "trailers", byte: number): void {
    switch (state) {
      case "chunk_end":
        // The line break after a chunk's data; CR and LF may come apart.
        if (byte === lf) this.#state = "chunk_length";
        else if (byte !== cr) throw new HttpSyntaxError("a chunk is longer than it said");
        return;
      case "chunk_length": {
        const digit = hexValue(byte);
        if (digit >= 0) {
          this.#left = this.#left * 16 + digit;
          if (++this.#digits > maxLengthDigits) throw new HttpSyntaxError("a chunk is too large");
        } else if (this.#digits === 0) throw new HttpSyntaxError("a chunk does not say its length");
        else if (byte === lf) this.#beginChunk();
        else if (byte === cr || byte === space || byte === tab || byte === semicolon) this.#state = "chunk_extension";
        else throw new HttpSyntaxError("a chunk does not say its length");
        return;
      }
      case "chunk_extension":
        if (byte === lf) this.#beginChunk();
        else if (++this.#extra > maxExtensionBytes) throw new HttpSyntaxError("the framing of its body is too large");
        return;
      case "trailers":
        if (byte === lf) {
          if (this.#lineEmpty) this.#state = "complete";
          this.#lineEmpty = true;
        } else if (byte !== cr) this.#lineEmpty = false;
        if (++this.#extra > maxHeadBytes) throw new HttpSyntaxError("the framing of its body is too large");
        return;
    }
  }

  #beginChunk(): void {
    this.#state = this.#left === 0 ? "trailers" : "chunk";
    this.#digits = 0;
    this.#extra = 0;
  }

  #addBody(bytes: Buffer, from: number, to: number): void {
    if (this.bodyEnd === this.bodyStart) {
      this.bodyStart = from;
      this.bodyEnd = to;
      return;
    }
    if (this.bodyEnd !== from) bytes.copyWithin(this.bodyEnd, from, to);
    this.bodyEnd += to - from;
  }
}

/** Whether the beginning of a head can still become one; what cannot is not waited for. */
function mayBeHttp(text: string): boolean {
  const mark = "HTTP/1.";
  return mark.startsWith(text.slice(0, mark.length));
}

/** The one length that all `content-length` lines agree on. */
function lengthOf(value: string): number {
  const [first = "", ...others] = value.split(",");
  const length = first.trim();
  if (!/^\d{1,15}$/.test(length) || others.some((other) => other.trim() !== length)) {
    throw new HttpSyntaxError("its length is not a number");
  }
  return Number(length);
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
