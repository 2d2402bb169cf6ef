import type { TextReader, TextReadResult } from "#upstream/body.ts";
import { type BodyDecoder, latin1Decoder, Utf8Decoder } from "./body-decoder.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ResponseHead } from "./response-head.ts";

/** Of a body that nobody reads so much is kept; above that the connection is not read any further. */
const maxUnreadChars = 65_536;
const endOfBody: TextReadResult = { done: true };

/** What an exchange asks of the connection it runs on. */
export interface Transport {
  pause(): void;
  resume(): void;
  /** Drops the connection at once; the other side sees a reset. */
  destroy(): void;
}

/**
 * One request and its answer. The connection feeds it; whoever sent the request reads the body as text, one read at a
 * time, and may cancel at any moment. A reader that does not ask pauses the connection.
 */
export class HttpExchange implements TextReader {
  readonly #notifySent: () => void;
  #transport: Transport | undefined;
  #decoder: BodyDecoder = new Utf8Decoder();
  #unread = "";
  #readWaiter: { resolve: (read: TextReadResult) => void; reject: (error: Error) => void } | undefined;
  #headWaiter: { resolve: (head: ResponseHead) => void; reject: (error: Error) => void } | undefined;
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

  /** @param onSent called when the request is on its way: from then on it is the answer that is waited for */
  constructor(onSent: () => void) {
    this.#notifySent = onSent;
  }

  /** Once the answer's status and headers have come; asked for once. Rejects with `ConnectionError` or `HttpSyntaxError`. */
  head(): Promise<ResponseHead> {
    return new Promise((resolve, reject) => {
      const head = this.#head;
      this.#head = undefined;
      if (head !== undefined) resolve(head);
      else if (this.#failure !== undefined) reject(this.#failure);
      else this.#headWaiter = { resolve, reject };
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
  read(): Promise<TextReadResult> {
    if (this.#unread !== "") {
      const value = this.#unread;
      this.#unread = "";
      if (this.#paused) {
        this.#paused = false;
        this.#transport?.resume();
      }
      return Promise.resolve({ done: false, value });
    }
    if (this.#complete) return Promise.resolve(endOfBody);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#readWaiter = { resolve, reject };
    });
  }

  /** Ends the exchange from this side: the connection is dropped, and whoever waits is told. */
  cancel(): void {
    if (this.#complete || this.#failure !== undefined) return;
    const carrier = this.#transport;
    this.#unread = "";
    this.onFailure(new ConnectionError("CANCELLED", this.sent));
    carrier?.destroy();
  }

  /** The connection that carries this exchange from now on. */
  attach(carrier: Transport): void {
    this.#transport = carrier;
  }

  /** From the connection: it stands, and the request is being written. */
  connected(): void {
    this.sent = true;
    this.#notifySent();
  }

  /** From the connection: the head of the answer. */
  onHead(head: ResponseHead, framed: boolean): void {
    this.framed = framed;
    const coding = head.headers.get("content-encoding")?.toLowerCase();
    if (coding !== undefined && coding !== "" && coding !== "identity") {
      this.coding = coding;
      this.#decoder = latin1Decoder;
    }
    const waiting = this.#headWaiter;
    this.#headWaiter = undefined;
    if (waiting === undefined) this.#head = head;
    else waiting.resolve(head);
  }

  /** From the connection: more of the body. */
  onBody(bytes: Buffer, from: number, to: number): void {
    this.#deliver(this.#decoder.decode(bytes, from, to));
  }

  /** From the connection: the answer is whole. */
  onEnd(): void {
    const rest = this.#decoder.end();
    if (rest !== "") this.#deliver(rest);
    this.#complete = true;
    // The connection goes on to other requests, whether or not this body has been read.
    if (this.#paused) this.#transport?.resume();
    this.#transport = undefined;
    const waiting = this.#readWaiter;
    this.#readWaiter = undefined;
    waiting?.resolve(endOfBody);
  }

  /** From the connection: nothing more will come. */
  onFailure(error: Error): void {
    if (this.#complete || this.#failure !== undefined) return;
    this.#failure = error;
    this.#transport = undefined;
    const waiting = this.#headWaiter ?? this.#readWaiter;
    this.#headWaiter = undefined;
    this.#readWaiter = undefined;
    waiting?.reject(error);
  }

  #deliver(text: string): void {
    if (text === "") return;
    const waiting = this.#readWaiter;
    if (waiting !== undefined) {
      this.#readWaiter = undefined;
      waiting.resolve({ done: false, value: text });
      return;
    }
    this.#unread += text;
    if (this.#unread.length > maxUnreadChars && !this.#paused) {
      this.#paused = true;
      this.#transport?.pause();
    }
  }
}
