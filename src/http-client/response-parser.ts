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

const maxHeadBytes = 65_536;
/** Most heads are smaller; so much is looked at first. */
const usualHeadBytes = 2_048;
/** What may stand on the line of a chunk beside its length. */
const maxExtensionBytes = 4_096;
/** 2^48 bytes: more than anything is, and exact in a number. */
const maxLengthDigits = 12;

const cr = 13;
const lf = 10;
const semicolon = 59;
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

/**
 * Reads one answer of HTTP/1.1 from bytes that may be split anywhere. Of each piece that is pushed, the bytes that belong
 * to the answer's body lie afterwards between `bodyStart` and `bodyEnd` in that same piece: what frames chunks is taken out
 * in place, so that a body costs no copy and is handed on in one part, however many chunks came at once.
 *
 * Interim answers (1xx) are passed over. Nothing is read that llhttp in its strict mode refuses, so that no two readers of
 * the same bytes see different answers: lines that do not end in CR and LF, folded headers, control characters, more than
 * one length, a length beside a transfer coding, chunks whose length or extension is not exactly as the standard has it.
 * Refused, too: transfer codings other than chunked, heads and trailers above 64 KiB.
 */
export class ResponseParser {
  #state: State = "head";
  /** Bytes of a head that is not whole yet. */
  #partialHead: Buffer = nothing;
  /** Bytes that the body or the chunk still lacks; while a chunk's length is read, what it is so far. */
  #remaining = 0;
  /** Of the length of a chunk. */
  #digits = 0;
  /** Bytes of a chunk's extension, or of trailers. */
  #framingBytes = 0;
  /** What has come of a chunk's extension, or of the line of a trailer. */
  #line = "";
  #persistent = false;
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
  get reusable(): boolean {
    return this.#persistent && !this.#overrun;
  }

  /** Reads the next piece, which may be changed in place. Throws `HttpSyntaxError`. */
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
        if (!mayBeHttp(text)) throw notHttp1(text);
        if (hasBareLf(text)) throw new HttpSyntaxError("a line of its headers does not end in CR and LF");
        // A copy: the piece itself is handed on.
        this.#partialHead = Buffer.from(bytes.subarray(start));
        return bytes.length;
      }
      const head = parseHead(text.slice(0, length));
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
          this.#frameByte(this.#state, bytes[at] ?? 0);
          at++;
      }
    }
  }

  /** One byte of what stands between the data of chunks. */
  #frameByte(
    state: "chunk_length" | "chunk_extension" | "chunk_begin" | "chunk_end" | "chunk_end_lf" | "trailers",
    byte: number,
  ): void {
    switch (state) {
      case "chunk_end":
        if (byte !== cr) throw new HttpSyntaxError("a chunk is longer than it said");
        this.#state = "chunk_end_lf";
        return;
      case "chunk_end_lf":
        if (byte !== lf) throw new HttpSyntaxError("a chunk is longer than it said");
        this.#state = "chunk_length";
        return;
      case "chunk_length": {
        const digit = hexValue(byte);
        if (digit >= 0) {
          this.#remaining = this.#remaining * 16 + digit;
          if (++this.#digits > maxLengthDigits) throw new HttpSyntaxError("a chunk is too large");
        } else if (this.#digits === 0) throw new HttpSyntaxError("a chunk does not say its length");
        else if (byte === cr) this.#state = "chunk_begin";
        else if (byte === semicolon) {
          this.#line = ";";
          this.#state = "chunk_extension";
        } else throw new HttpSyntaxError("a chunk does not say its length");
        return;
      }
      case "chunk_begin":
        if (byte !== lf) throw new HttpSyntaxError("a chunk does not say its length");
        this.#beginChunk();
        return;
      case "chunk_extension":
        if (byte === lf) {
          if (!isChunkExtension(this.#line)) throw new HttpSyntaxError("a chunk has an extension that cannot be read");
          this.#beginChunk();
          return;
        }
        this.#line += String.fromCharCode(byte);
        if (++this.#framingBytes > maxExtensionBytes) throw new HttpSyntaxError("the framing of its body is too large");
        return;
      case "trailers":
        if (++this.#framingBytes > maxHeadBytes) throw new HttpSyntaxError("the framing of its body is too large");
        if (byte !== lf) {
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

/** Whether the beginning of a head can still become one; what cannot is not waited for. */
function mayBeHttp(text: string): boolean {
  const mark = "HTTP/1.";
  return mark.startsWith(text.slice(0, mark.length));
}

function lengthOf(value: string): number {
  // Lines of the same name are joined with a comma: more than one length is refused, also if they agree.
  if (!/^\d{1,15}$/.test(value)) throw new HttpSyntaxError("its length is not a number");
  return Number(value);
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
