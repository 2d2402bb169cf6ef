import type { Receiver } from "#platform/receiver.ts";
import { ConnectionError, type ConnectionStage } from "./connection-error.ts";
import { type BodyDecoder, latin1Decoder, type TextReader, Utf8Decoder } from "./response/body-text.ts";
import type { ResponseHead } from "./response/response-head.ts";

/** Most characters kept of a body that nobody reads; above that the connection is paused. */
const maxUnreadChars = 65_536;

/** The connection under an exchange, as the exchange sees it. */
export interface Transport {
  readonly stage: ConnectionStage;
  pause(): void;
  resume(): void;
  /** Drops the connection at once; the server sees a reset. */
  destroy(): void;
}

/**
 * One request and its response. The connection delivers the response; the caller reads the body as text, one read at a
 * time, and may cancel at any time. The connection is paused while the caller does not read.
 */
export class HttpExchange implements TextReader {
  #receiver: Receiver<string> | undefined;
  #unread = "";
  #complete = false;
  #failure: Error | undefined;
  #decoder: BodyDecoder = new Utf8Decoder();
  readonly #notifySent: () => void;
  #transport: Transport | undefined;
  #headWaiter: PromiseWithResolvers<ResponseHead> | undefined;
  #head: ResponseHead | undefined;
  #paused = false;
  /** The connection had served an earlier request. */
  reused = false;
  /** Bytes of the request may have left this machine. */
  sent = false;
  /** Whether framing marks the end of the response; if not, a clean close may have cut it short. */
  framed = true;
  /** The body's content coding, if any; then `read` returns one character for each byte. */
  coding: string | undefined;

  /** @param onSent called when the request is being written: from then on the response is awaited */
  constructor(onSent: () => void) {
    this.#notifySent = onSent;
  }

  /** Resolves with the status and headers; to be called once. Rejects with `ConnectionError` or `HttpSyntaxError`. */
  head(): Promise<ResponseHead> {
    const head = this.#head;
    this.#head = undefined;
    if (head !== undefined) return Promise.resolve(head);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#headWaiter = Promise.withResolvers();
    return this.#headWaiter.promise;
  }

  /** The whole body has been received and read. */
  get ended(): boolean {
    return this.#complete && this.#unread === "";
  }

  /**
   * All of the body received since the last read; if none, the next part. Text received before a failure is returned
   * before the failure. Reads must not overlap.
   */
  read(receiver: Receiver<string>): void {
    const text = this.#unread;
    if (text !== "") {
      this.#unread = "";
      if (this.#paused) {
        this.#paused = false;
        this.#transport?.resume();
      }
      receiver.onValue(text);
    } else if (this.#complete) receiver.onEnd();
    else if (this.#failure !== undefined) receiver.onError(this.#failure);
    else this.#receiver = receiver;
  }

  /** Cancels the exchange: the connection is dropped, and a waiting read rejects with `CANCELLED`. */
  cancel(): void {
    if (this.#complete || this.#failure !== undefined) return;
    const transport = this.#transport;
    this.#unread = "";
    this.onFailure(new ConnectionError("CANCELLED", this.sent, transport?.stage));
    transport?.destroy();
  }

  /** From the connection: it serves this exchange from now on. */
  attach(transport: Transport): void {
    this.#transport = transport;
  }

  /** From the connection: it is ready, and the request is being written. */
  connected(): void {
    this.sent = true;
    this.#notifySent();
  }

  /** From the connection: the head of the response. */
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

  /** From the connection: the next part of the body. */
  onBody(bytes: Buffer, from: number, to: number): void {
    this.#deliver(this.#decoder.decode(bytes, from, to));
  }

  /** From the connection: the response is complete. */
  onEnd(): void {
    const rest = this.#decoder.end();
    if (rest !== "") this.#deliver(rest);
    this.#complete = true;
    // The connection serves other requests, whether or not this body has been read.
    if (this.#paused) this.#transport?.resume();
    this.#transport = undefined;
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onEnd();
  }

  /** From the connection: it failed. */
  onFailure(error: Error): void {
    if (this.#complete || this.#failure !== undefined) return;
    this.#failure = error;
    this.#transport = undefined;
    const waiting = this.#headWaiter;
    const receiver = this.#receiver;
    this.#headWaiter = undefined;
    this.#receiver = undefined;
    waiting?.reject(error);
    receiver?.onError(error);
  }

  #deliver(text: string): void {
    if (text === "") return;
    const receiver = this.#receiver;
    if (receiver !== undefined) {
      this.#receiver = undefined;
      receiver.onValue(text);
      return;
    }
    // Compiled, `"" + text` makes a string of two parts, and reading it copies the text.
    this.#unread = this.#unread === "" ? text : this.#unread + text;
    if (this.#unread.length > maxUnreadChars && !this.#paused) {
      this.#paused = true;
      this.#transport?.pause();
    }
  }
}
