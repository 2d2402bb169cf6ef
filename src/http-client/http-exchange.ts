import type { TextRead, TextReader } from "#upstream/body.ts";
import { type BodyDecoder, bytesAsText, Utf8Text } from "./body-decoder.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ResponseHead } from "./response-head.ts";

/** Of a body that nobody reads so much is kept; above that the connection is not read any further. */
const maxUnreadChars = 65_536;
const over: TextRead = { done: true };

/** What an exchange asks of the connection it runs on. */
export interface Carrier {
  pause(): void;
  resume(): void;
  /** Drops the connection at once; the other side sees a reset. */
  destroy(): void;
}

/**
 * One request and its answer. The connection feeds it; whoever sent the request reads the body as text, one read at a
 * time, and may cancel at any moment. A reader that does not ask pauses the connection.
 */
export class Exchange implements TextReader {
  readonly #connected: () => void;
  #carrier: Carrier | undefined;
  #decoder: BodyDecoder = new Utf8Text();
  #unread = "";
  #waiting: { resolve: (read: TextRead) => void; reject: (error: Error) => void } | undefined;
  #headWaiting: { resolve: (head: ResponseHead) => void; reject: (error: Error) => void } | undefined;
  #head: ResponseHead | undefined;
  #failure: Error | undefined;
  #paused = false;
  #complete = false;
  /** The connection had served an earlier request. */
  reused = false;
  /** Bytes of the request may have left this machine. */
  sent = false;
  /** Whether the answer's end is told by its framing; if not, a clean close may be a cut. */
  framed = true;
  /** How the body is compressed; then it is read as one character for each byte. */
  coding: string | undefined;

  /** @param connected called when the request is on its way: from then on it is the answer that is waited for */
  constructor(connected: () => void) {
    this.#connected = connected;
  }

  /** Once the answer's status and headers have come; asked for once. Rejects with `ConnectionError` or `HttpSyntaxError`. */
  head(): Promise<ResponseHead> {
    return new Promise((resolve, reject) => {
      const head = this.#head;
      this.#head = undefined;
      if (head !== undefined) resolve(head);
      else if (this.#failure !== undefined) reject(this.#failure);
      else this.#headWaiting = { resolve, reject };
    });
  }

  /** The whole body has come and been read. */
  get ended(): boolean {
    return this.#complete && this.#unread === "";
  }

  /**
   * All of the body that has come since the last read, or else the next of it. What came before the connection failed is
   * given out before the failure. Reads must not overlap.
   */
  read(): Promise<TextRead> {
    if (this.#unread !== "") {
      const value = this.#unread;
      this.#unread = "";
      if (this.#paused) {
        this.#paused = false;
        this.#carrier?.resume();
      }
      return Promise.resolve({ done: false, value });
    }
    if (this.#complete) return Promise.resolve(over);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  /** Ends the exchange from this side: the connection is dropped, and whoever waits is told. */
  cancel(): void {
    if (this.#complete || this.#failure !== undefined) return;
    const carrier = this.#carrier;
    this.#unread = "";
    this.fail(new ConnectionError("CANCELLED", this.sent));
    carrier?.destroy();
  }

  /** The connection that carries this exchange from now on. */
  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier;
  }

  /** From the connection: it stands, and the request is being written. */
  connected(): void {
    this.sent = true;
    this.#connected();
  }

  /** From the connection: the head of the answer. */
  began(head: ResponseHead, framed: boolean): void {
    this.framed = framed;
    const coding = head.headers.get("content-encoding")?.toLowerCase();
    if (coding !== undefined && coding !== "" && coding !== "identity") {
      this.coding = coding;
      this.#decoder = bytesAsText;
    }
    const waiting = this.#headWaiting;
    this.#headWaiting = undefined;
    if (waiting === undefined) this.#head = head;
    else waiting.resolve(head);
  }

  /** From the connection: more of the body. */
  body(bytes: Buffer, from: number, to: number): void {
    this.#offer(this.#decoder.decode(bytes, from, to));
  }

  /** From the connection: the answer is whole. */
  end(): void {
    const rest = this.#decoder.end();
    if (rest !== "") this.#offer(rest);
    this.#complete = true;
    // The connection goes on to other requests, whether or not this body has been read.
    if (this.#paused) this.#carrier?.resume();
    this.#carrier = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(over);
  }

  /** From the connection: nothing more will come. */
  fail(error: Error): void {
    if (this.#complete || this.#failure !== undefined) return;
    this.#failure = error;
    this.#carrier = undefined;
    const waiting = this.#headWaiting ?? this.#waiting;
    this.#headWaiting = undefined;
    this.#waiting = undefined;
    waiting?.reject(error);
  }

  #offer(text: string): void {
    if (text === "") return;
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting = undefined;
      waiting.resolve({ done: false, value: text });
      return;
    }
    this.#unread += text;
    if (this.#unread.length > maxUnreadChars && !this.#paused) {
      this.#paused = true;
      this.#carrier?.pause();
    }
  }
}
