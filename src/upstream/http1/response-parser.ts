/** The start of an answer: its status line and headers. */
export interface ResponseHead {
  readonly status: number;
  /** By lower-case name; lines of the same name are joined with ", ". */
  readonly headers: ReadonlyMap<string, string>;
}

/** The bytes are not an HTTP/1.1 answer. The message says what is wrong and nothing of what came. */
export class HttpSyntaxError extends Error {
  readonly code = "HTTP_INVALID";
  override readonly name = "HttpSyntaxError";
}

const maxHeadBytes = 65_536;
/** A line that announces a chunk, with extensions nobody uses. */
const maxChunkLineBytes = 4_096;

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const fieldName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const controlCharacter = /[\0\r]/;
const chunkLine = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?$/;

const cr = 13;
const lf = 10;
const empty = Buffer.alloc(0);

type State = "head" | "length" | "chunk_line" | "chunk" | "chunk_end" | "trailers" | "until_close" | "complete";

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
  /** Bytes of a head, a chunk's line or a trailer that is not whole yet. */
  #held: Buffer = empty;
  /** Bytes that the body or the chunk still lacks. */
  #left = 0;
  #trailerBytes = 0;
  #keepsOpen = false;
  #endsWithConnection = false;
  #head: ResponseHead | undefined;
  bodyStart = 0;
  bodyEnd = 0;
  /** More bytes came than the answer has: whatever they are, the connection cannot be trusted any more. */
  overrun = false;

  /** Undefined until the head is whole. */
  get head(): ResponseHead | undefined {
    return this.#head;
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
    return this.#keepsOpen && !this.overrun;
  }

  /** Reads the next piece, which may be changed in place. Throws `HttpSyntaxError`. */
  push(piece: Buffer): void {
    let bytes = piece;
    let at = 0;
    this.bodyStart = 0;
    this.bodyEnd = 0;
    if (this.#state === "head") {
      if (this.#held.length > 0) bytes = Buffer.concat([this.#held, piece]);
      at = this.#readHead(bytes);
      if (at < 0) return;
      if (bytes !== piece) {
        // What is left of the piece after the head, where the caller will look for it.
        at -= this.#held.length;
        bytes = piece;
      }
      this.#held = empty;
    }
    this.#readBody(bytes, at);
  }

  /** The other side has closed, in order. Whether that is a proper end of the answer. */
  finish(): boolean {
    if (this.#state === "until_close") this.#state = "complete";
    return this.#state === "complete";
  }

  /** Gives back where the body begins, or -1 if the head is not whole yet. */
  #readHead(bytes: Buffer): number {
    let start = 0;
    for (;;) {
      const end = endOfHead(bytes, start);
      if ((end < 0 ? bytes.length : end) - start > maxHeadBytes) throw new HttpSyntaxError("its headers are too large");
      if (end < 0) {
        this.#held = start === 0 && bytes.length > 0 ? Buffer.from(bytes) : Buffer.from(bytes.subarray(start));
        if (!mayBeHttp(this.#held)) throw new HttpSyntaxError("it does not begin with HTTP/1.1");
        return -1;
      }
      const interim = this.#takeHead(bytes.toString("latin1", start, end));
      if (!interim) return end;
      start = end;
    }
  }

  /** True for an interim answer, which is passed over. */
  #takeHead(text: string): boolean {
    const lines = text.split("\n");
    const [, minor, code] = statusLine.exec(trimmedLine(lines[0] ?? "")) ?? [];
    if (code === undefined) throw new HttpSyntaxError("it does not begin with HTTP/1.1");
    const status = Number(code);
    if (status === 101) throw new HttpSyntaxError("it switches protocols, which was not asked for");
    if (status < 200) return true;
    const headers = new Map<string, string>();
    // The last two are what follows the blank line's start: nothing.
    for (let i = 1; i < lines.length - 2; i++) addField(headers, trimmedLine(lines[i] ?? ""));
    this.#head = { status, headers };
    this.#frame(status, minor === "1", headers);
    return false;
  }

  #frame(status: number, persistent: boolean, headers: ReadonlyMap<string, string>): void {
    const connection = headers.get("connection") ?? "";
    this.#keepsOpen = persistent ? !/\bclose\b/i.test(connection) : /\bkeep-alive\b/i.test(connection);
    const codings = headers.get("transfer-encoding");
    const length = headers.get("content-length");
    if (status === 204 || status === 304) {
      this.#state = "complete";
    } else if (codings !== undefined) {
      if (!/^[ \t]*chunked[ \t]*$/i.test(codings)) throw new HttpSyntaxError("its transfer coding is not known");
      // Chunks count, as the standard says; but one of the two was a mistake, so nothing else is read from there.
      if (length !== undefined) this.#keepsOpen = false;
      this.#state = "chunk_line";
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
        case "chunk_end":
          // The line break after a chunk's data; CR and LF may come apart.
          if (bytes[at] === lf) this.#state = "chunk_line";
          else if (bytes[at] !== cr) throw new HttpSyntaxError("a chunk is longer than it said");
          at++;
          break;
        case "chunk_line": {
          const line = this.#line(bytes, at, maxChunkLineBytes);
          at = line.next;
          if (line.text === undefined) return;
          const [, size] = chunkLine.exec(line.text) ?? [];
          if (size === undefined) throw new HttpSyntaxError("a chunk does not say its length");
          this.#left = Number.parseInt(size, 16);
          this.#state = this.#left === 0 ? "trailers" : "chunk";
          break;
        }
        case "trailers": {
          const line = this.#line(bytes, at, maxHeadBytes - this.#trailerBytes);
          this.#trailerBytes += line.next - at;
          at = line.next;
          if (line.text === "") this.#state = "complete";
          break;
        }
        case "head":
        case "complete":
          this.overrun = true;
          return;
      }
    }
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

  /** The line that begins at `at`, or in an earlier piece; held, and undefined, while its end has not come. */
  #line(bytes: Buffer, at: number, maxBytes: number): { readonly text: string | undefined; readonly next: number } {
    const end = bytes.indexOf(lf, at);
    const to = end < 0 ? bytes.length : end;
    if (this.#held.length + to - at > maxBytes) throw new HttpSyntaxError("the framing of its body is too large");
    if (end < 0) {
      this.#held = Buffer.concat([this.#held, bytes.subarray(at, to)]);
      return { text: undefined, next: to };
    }
    let text = bytes.toString("latin1", at, to);
    if (this.#held.length > 0) {
      text = this.#held.toString("latin1") + text;
      this.#held = empty;
    }
    return { text: trimmedLine(text), next: end + 1 };
  }
}

/** Where the blank line that ends the head is over, or -1. */
function endOfHead(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(lf, from); at >= 0; at = bytes.indexOf(lf, at + 1)) {
    if (bytes[at + 1] === lf) return at + 2;
    if (bytes[at + 1] === cr && bytes[at + 2] === lf) return at + 3;
  }
  return -1;
}

/** Whether the beginning of a head can still become one; what cannot is not waited for. */
function mayBeHttp(held: Buffer): boolean {
  const mark = "HTTP/1.";
  return mark.startsWith(held.toString("latin1", 0, mark.length));
}

function trimmedLine(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

function addField(headers: Map<string, string>, line: string): void {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon));
  if (!fieldName.test(name)) throw new HttpSyntaxError("it has a header without a name");
  const value = line.slice(colon + 1).trim();
  if (controlCharacter.test(value)) throw new HttpSyntaxError("it has a header with control characters");
  const key = name.toLowerCase();
  const before = headers.get(key);
  headers.set(key, before === undefined ? value : `${before}, ${value}`);
}

/** The one length that all `content-length` lines agree on. */
function lengthOf(value: string): number {
  const lengths = new Set(value.split(",").map((part) => part.trim()));
  const [length = ""] = lengths;
  if (lengths.size !== 1 || !/^\d{1,15}$/.test(length)) throw new HttpSyntaxError("its length is not a number");
  return Number(length);
}
