const lf = 10;
const cr = 13;

/** What became of a piece of input: read, or one event grew past the bound (then the reader is of no further use). */
export type SsePush = "read" | "too_large";

/**
 * Receives one event: its data lines joined with a line feed, and its `event:` name (empty when it had none).
 * Events without data are not reported, as the standard says.
 */
export type SseSink = (data: string, name: string) => void;

/**
 * Reads server-sent events from bytes that may be split anywhere, also inside a UTF-8 sequence or between CR and LF.
 * Lines end in LF, CRLF or CR; a byte order mark at the start is skipped; comments are counted and dropped; `id` and
 * `retry` are ignored, since nothing here reconnects.
 *
 * Bytes are held back until their line is whole and only then decoded: a line end is never part of a longer UTF-8
 * sequence, so no decoder has to keep state, and the usual read (whole events) is neither copied nor joined.
 */
export class SseReader {
  readonly #maxEventBytes: number;
  /** Bytes of a line whose end has not come yet, in order, and how many they are. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Data of the event being read; undefined while it has none. */
  #data: string | undefined;
  #name = "";
  #atStart = true;
  /** The last line ended in CR at the very end of the input: an LF that comes next belongs to it. */
  #afterCr = false;
  #comments = 0;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Comment lines so far. */
  get comments(): number {
    return this.#comments;
  }

  push(input: Uint8Array, sink: SseSink): SsePush {
    let bytes = input;
    if (this.#atStart) {
      const start = this.#withoutMark(bytes);
      if (start === undefined) return "read";
      bytes = start;
    }
    if (this.#afterCr && bytes.length > 0) {
      this.#afterCr = false;
      if (bytes[0] === lf) bytes = bytes.subarray(1);
    }
    const end = lastLineEnd(bytes);
    if (end < 0) {
      this.#hold(bytes);
      return this.#tooLarge() ? "too_large" : "read";
    }
    const lines = end + 1 === bytes.length ? bytes : bytes.subarray(0, end + 1);
    this.#afterCr = lines[end] === cr;
    const text = this.#heldBytes === 0 ? decode(lines) : this.#joined(lines);
    this.#lines(text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text, sink);
    if (end + 1 < bytes.length) {
      this.#afterCr = false;
      this.#hold(bytes.subarray(end + 1));
    }
    return this.#tooLarge() ? "too_large" : "read";
  }

  /**
   * The input is over. What stands in an unfinished last event is reported, because some servers leave out the last
   * blank line; a receiver must expect it to be cut short.
   */
  finish(sink: SseSink): void {
    if (this.#heldBytes > 0) {
      this.#atStart = false;
      this.#lines(`${this.#joined(new Uint8Array(0))}\n`, sink);
    }
    this.#dispatch(sink);
  }

  /** Skips a byte order mark; undefined while the first bytes could still become one. */
  #withoutMark(input: Uint8Array): Uint8Array | undefined {
    let bytes = input;
    if (this.#heldBytes > 0) {
      bytes = Buffer.concat([...this.#held, input]);
      this.#held = [];
      this.#heldBytes = 0;
    }
    const seen = Math.min(bytes.length, mark.length);
    for (let i = 0; i < seen; i++) {
      if (bytes[i] !== mark[i]) {
        this.#atStart = false;
        return bytes;
      }
    }
    if (seen < mark.length) {
      this.#hold(bytes);
      return undefined;
    }
    this.#atStart = false;
    return bytes.subarray(mark.length);
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    // The runtime hands out each read in a buffer of its own, so keeping a view is safe and needs no copy.
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #joined(lines: Uint8Array): string {
    const all = Buffer.concat([...this.#held, lines]);
    this.#held = [];
    this.#heldBytes = 0;
    return decode(all);
  }

  #tooLarge(): boolean {
    return this.#heldBytes + (this.#data?.length ?? 0) > this.#maxEventBytes;
  }

  /** `text` is whole lines, each ended by one LF. */
  #lines(text: string, sink: SseSink): void {
    let from = 0;
    while (from < text.length) {
      const to = text.indexOf("\n", from);
      if (to === from) this.#dispatch(sink);
      else if (text.startsWith("data: ", from)) this.#addData(text.slice(from + 6, to));
      else this.#otherLine(text.slice(from, to));
      from = to + 1;
    }
  }

  #otherLine(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.#comments++;
      return;
    }
    const field = colon < 0 ? line : line.slice(0, colon);
    const raw = colon < 0 ? "" : line.slice(colon + 1);
    const value = raw.startsWith(" ") ? raw.slice(1) : raw;
    if (field === "data") this.#addData(value);
    else if (field === "event") this.#name = value;
  }

  #addData(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #dispatch(sink: SseSink): void {
    const data = this.#data;
    const name = this.#name;
    this.#data = undefined;
    this.#name = "";
    if (data !== undefined) sink(data, name);
  }
}

const mark = [0xef, 0xbb, 0xbf];

/** The place of the last LF or CR; -1 when there is none. */
function lastLineEnd(bytes: Uint8Array): number {
  if (bytes[bytes.length - 1] === lf) return bytes.length - 1;
  return Math.max(bytes.lastIndexOf(lf), bytes.lastIndexOf(cr));
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
