/** The result of a push: read, or one event exceeds the bound (then the reader must not be used any more). */
export type SsePush = "read" | "too_large";

/**
 * Receives one event: its data lines joined with a line feed, and its `event:` name (empty when it had none).
 * Events without data are not reported, as the standard says.
 */
export type SseSink = (data: string, name: string) => void;

/**
 * Asked first wherever an event may begin, at `from`; whole lines reach up to `until`. Gives back where the events end
 * that it has taken, which then are not passed to the sink; `from` if there are none.
 */
export type SseShortcut = (text: string, from: number, until: number) => number;

/**
 * Reads server-sent events from decoded text that may be split anywhere, also between CR and LF. Lines end in LF, CRLF
 * or CR; comments are dropped; `id` and `retry` are ignored, since nothing here reconnects. An event is reported as
 * soon as its last character is read, also when that is a CR that an LF may follow. The input is decoded text: the HTTP
 * client handles split UTF-8 sequences and the byte order mark.
 */
export class SseReader {
  readonly #maxEventChars: number;
  readonly #shortcut: SseShortcut | undefined;
  /** An incomplete line. */
  #held = "";
  /** Data of the event being read; undefined while it has none. */
  #data: string | undefined;
  #name = "";
  /** The input so far ended in CR: an LF that comes next belongs to it. */
  #afterCr = false;

  /** `maxEventChars` bounds the buffered part of one event, in UTF-16 units (never more than its bytes). */
  constructor(maxEventChars: number, shortcut?: SseShortcut) {
    this.#maxEventChars = maxEventChars;
    this.#shortcut = shortcut;
  }

  push(input: string, sink: SseSink): SsePush {
    let text = this.#afterCr && input.startsWith("\n") ? input.slice(1) : input;
    if (input !== "") this.#afterCr = false;
    if (text.includes("\r")) {
      this.#afterCr = text.endsWith("\r");
      text = text.replace(/\r\n?/g, "\n");
    }
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) {
      this.#lines(this.#held + text, text.length - end, sink);
      this.#held = "";
    }
    this.#held += text.slice(end);
    const held = this.#held.length + (this.#data?.length ?? 0) + this.#name.length;
    return held > this.#maxEventChars ? "too_large" : "read";
  }

  /**
   * The input has ended. An incomplete last event is reported, because some servers omit the last blank line; the
   * receiver must expect it to be truncated.
   */
  finish(sink: SseSink): void {
    const last = this.#held;
    this.#held = "";
    if (last !== "") this.#lines(`${last}\n`, 0, sink);
    this.#dispatch(sink);
  }

  /** Reads the whole lines of `text`, each ended by one LF, up to its last `tail` characters. */
  #lines(text: string, tail: number, sink: SseSink): void {
    const until = text.length - tail;
    let from = 0;
    while (from < until) {
      if (this.#shortcut !== undefined && this.#data === undefined && this.#name === "") {
        from = this.#shortcut(text, from, until);
        if (from === until) return;
      }
      const to = text.indexOf("\n", from);
      if (to === from) this.#dispatch(sink);
      else if (text.startsWith("data: ", from)) this.#addData(text.slice(from + "data: ".length, to), sink);
      else this.#otherLine(text.slice(from, to), sink);
      from = to + 1;
    }
  }

  #otherLine(line: string, sink: SseSink): void {
    // No field begins so: a line of JSON belongs to the empty `data:` above it, or is an event of its own.
    if (/^ ?\{/.test(line)) {
      this.#addData(line, sink);
      this.#dispatch(sink);
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const raw = colon < 0 ? "" : line.slice(colon + 1);
    const value = raw.startsWith(" ") ? raw.slice(1) : raw;
    if (field === "data") this.#addData(value, sink);
    else if (field === "error") {
      // llama.cpp's own field for what others name in `event:`.
      this.#name = field;
      this.#addData(value, sink);
    } else if (field === "event") this.#name = value;
  }

  #addData(value: string, sink: SseSink): void {
    // No JSON goes on so: the blank line between two events is missing.
    if (this.#data?.endsWith("}") === true && (value.startsWith("{") || value.startsWith("[DONE]")))
      this.#dispatch(sink);
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
