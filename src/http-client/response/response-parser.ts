import {
  endOfHead,
  HttpSyntaxError,
  hasBareLf,
  isChunkExtension,
  isTrailer,
  notHttp1,
  parseHead,
  type ResponseHead,
} from "./response-head.ts";

const LF = 10;
const CR = 13;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const SEMICOLON = 0x3b;
const LETTER_A = 0x61;
const LETTER_F = 0x66;
/** Set in lower-case ASCII letters, clear in upper-case ones. */
const LOWER_CASE_BIT = 0x20;

const maxHeadBytes = 65_536;
/** Most heads are smaller; this much is decoded first. */
const usualHeadBytes = 2_048;
/** Longest chunk extension. */
const maxExtensionBytes = 4_096;
/** Hexadecimal digits of a chunk length: up to 2^48 bytes, which a number holds exactly. */
const maxLengthDigits = 12;

const nothing = Buffer.alloc(0);

type State =
  | "head"
  | "length"
  | "chunk_length"
  | "chunk_extension"
  | "chunk_begin"
  | "chunk"
  | "chunk_end"
  | "chunk_end_lf"
  | "trailers"
  | "until_close"
  | "complete";

type FramingState = Exclude<State, "head" | "length" | "chunk" | "until_close" | "complete">;

/**
 * Parses one HTTP/1.1 response from bytes that may be split anywhere. After each `push`, the bytes of the body are
 * between `bodyStart` and `bodyEnd` of the pushed piece: chunk framing is removed in place, so that a body needs no
 * copy and is delivered in one part, however many chunks one piece holds.
 *
 * Interim responses (1xx) are skipped. Everything that llhttp refuses in its strict mode is refused, so that no two
 * parsers read the same bytes as different responses: lines that do not end in CR LF, folded headers, control
 * characters, more than one length, a length beside a transfer coding, chunk lengths and extensions that the standard
 * does not allow. Transfer codings other than chunked, and heads and trailers above 64 KiB, are refused as well.
 */
export class ResponseParser {
  // What a piece of one chunk needs comes first, side by side in memory.
  #state: State = "head";
  /** Digits of the chunk length parsed so far. */
  #digits = 0;
  #head: ResponseHead | undefined;
  bodyStart = 0;
  bodyEnd = 0;
  /** Bytes of an incomplete head. */
  #partialHead: Buffer = nothing;
  /** Bytes missing of the body or chunk; while a chunk length is parsed, its value so far. */
  #remaining = 0;
  /** Bytes of the chunk extension, or of the trailers. */
  #framingBytes = 0;
  /** The chunk extension or trailer line so far. */
  #line = "";
  #persistent = false;
  #endsWithConnection = false;
  /** Bytes followed the end of the response: the connection must not be reused. */
  #overrun = false;

  /** The head of the response, once, when it is complete; not kept afterwards, because a stream may last long. */
  takeHead(): ResponseHead | undefined {
    const head = this.#head;
    this.#head = undefined;
    return head;
  }

  get complete(): boolean {
    return this.#state === "complete";
  }

  /** Whether framing marks the end of the response; if not, a clean close may have cut it short. */
  get framed(): boolean {
    return !this.#endsWithConnection;
  }

  /** Whether the connection can serve another request once the response is complete. */
  get reusable(): boolean {
    return this.#persistent && !this.#overrun;
  }

  /** Parses the next piece, which is changed in place. Throws `HttpSyntaxError`. */
  push(piece: Buffer): void {
    this.bodyStart = 0;
    this.bodyEnd = 0;
    let at = 0;
    if (this.#state === "head") {
      const before = this.#partialHead.length;
      at = this.#readHeads(before === 0 ? piece : Buffer.concat([this.#partialHead, piece])) - before;
      if (this.#state === "head") return;
      this.#partialHead = nothing;
    }
    this.#readBody(piece, at);
  }

  /** The server closed the connection in order. Returns whether that is the proper end of the response. */
  finish(): boolean {
    if (this.#state === "until_close") this.#state = "complete";
    return this.#state === "complete";
  }

  /** Parses up to the end of the head and returns that index; keeps an incomplete head for the next piece. */
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
        if (!mayBeHttp(text)) throw notHttp1(text);
        if (hasBareLf(text)) throw new HttpSyntaxError("a line of its headers does not end in CR and LF");
        // A copy: the caller reuses the piece.
        this.#partialHead = Buffer.from(bytes.subarray(start));
        return bytes.length;
      }
      const head = parseHead(text, length);
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
    this.#persistent = persistent;
    if (connection !== undefined) {
      this.#persistent = persistent ? !/\bclose\b/i.test(connection) : /\bkeep-alive\b/i.test(connection);
    }
    const codings = headers.get("transfer-encoding");
    const length = headers.get("content-length");
    const bytes = length === undefined ? 0 : lengthOf(length);
    if (codings !== undefined) {
      if (codings.toLowerCase() !== "chunked") throw new HttpSyntaxError("its transfer coding is not known");
      if (length !== undefined) throw new HttpSyntaxError("it has both a length and a transfer coding");
    }
    if (status === 204 || status === 304) {
      this.#state = "complete";
    } else if (codings !== undefined) {
      this.#state = "chunk_length";
    } else if (length !== undefined) {
      this.#remaining = bytes;
      this.#state = this.#remaining === 0 ? "complete" : "length";
    } else {
      this.#persistent = false;
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
          const to = Math.min(bytes.length, at + this.#remaining);
          this.#addBody(bytes, at, to);
          this.#remaining -= to - at;
          at = to;
          if (this.#remaining === 0) this.#state = this.#state === "length" ? "complete" : "chunk_end";
          break;
        }
        case "head":
        case "complete":
          this.#overrun = true;
          return;
        default:
          this.#readFraming(this.#state, bytes[at++] ?? 0);
      }
    }
  }

  /** Parses one byte of chunk framing. */
  #readFraming(state: FramingState, byte: number): void {
    switch (state) {
      case "chunk_end":
        if (byte !== CR) throw new HttpSyntaxError("a chunk is longer than it said");
        this.#state = "chunk_end_lf";
        return;
      case "chunk_end_lf":
        if (byte !== LF) throw new HttpSyntaxError("a chunk is longer than it said");
        this.#state = "chunk_length";
        return;
      case "chunk_length": {
        const digit = hexValue(byte);
        if (digit >= 0) {
          this.#remaining = this.#remaining * 16 + digit;
          if (++this.#digits > maxLengthDigits) throw new HttpSyntaxError("a chunk is too large");
        } else if (this.#digits === 0) throw new HttpSyntaxError("a chunk does not say its length");
        else if (byte === CR) this.#state = "chunk_begin";
        else if (byte === SEMICOLON) {
          this.#line = ";";
          this.#state = "chunk_extension";
        } else throw new HttpSyntaxError("a chunk does not say its length");
        return;
      }
      case "chunk_begin":
        if (byte !== LF) throw new HttpSyntaxError("a chunk does not say its length");
        this.#beginChunk();
        return;
      case "chunk_extension":
        if (byte === LF) {
          if (!isChunkExtension(this.#line)) throw new HttpSyntaxError("a chunk has an extension that cannot be read");
          this.#beginChunk();
          return;
        }
        this.#line += String.fromCharCode(byte);
        if (++this.#framingBytes > maxExtensionBytes) throw new HttpSyntaxError("the framing of its body is too large");
        return;
      case "trailers":
        if (++this.#framingBytes > maxHeadBytes) throw new HttpSyntaxError("the framing of its body is too large");
        if (byte !== LF) {
          this.#line += String.fromCharCode(byte);
          return;
        }
        if (this.#line === "\r") this.#state = "complete";
        else if (!isTrailer(this.#line)) throw new HttpSyntaxError("it has a trailer that cannot be read");
        this.#line = "";
        return;
    }
  }

  #beginChunk(): void {
    this.#state = this.#remaining === 0 ? "trailers" : "chunk";
    this.#digits = 0;
    this.#framingBytes = 0;
    this.#line = "";
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

/** Whether an incomplete head can still become a valid one. */
function mayBeHttp(text: string): boolean {
  const prefix = "HTTP/1.";
  return prefix.startsWith(text.slice(0, prefix.length));
}

function lengthOf(value: string): number {
  // Repeated headers are joined with a comma: more than one length is refused, also when they agree.
  if (!/^\d{1,15}$/.test(value)) throw new HttpSyntaxError("its length is not a number");
  return Number(value);
}

function hexValue(byte: number): number {
  if (byte >= DIGIT_0 && byte <= DIGIT_9) return byte - DIGIT_0;
  const letter = byte | LOWER_CASE_BIT;
  return letter >= LETTER_A && letter <= LETTER_F ? letter - LETTER_A + 10 : -1;
}
