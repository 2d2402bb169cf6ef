import { type ConnectTarget, connectTargetOf } from "./connect-target.ts";
import { Connection, type ConnectionPool } from "./connection.ts";
import { HttpExchange } from "./http-exchange.ts";

export interface HttpAgentOptions {
  /** The URL of all requests. */
  readonly url: string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /**
   * Milliseconds of a clock that runs on while the machine is suspended, when the monotonic one may stand still.
   * Default: `now`.
   */
  readonly wallNow?: () => number;
}

/** An idle connection is closed after this long: sooner than servers do, so that few are found dead. */
const keepAliveMs = 30_000;
/** More idle connections are not kept. */
const maxIdle = 256;

/** The header lines of a request, written once; all but `Content-Length` and `Connection`. */
export type RequestHead = string & { readonly requestHead: unique symbol };

/**
 * Sends requests to one URL over HTTP/1.1 and pools the connections of POST requests. The most recently used connection
 * is reused first, so that surplus ones expire.
 */
export class HttpAgent implements ConnectionPool {
  readonly #target: ConnectTarget;
  readonly #now: () => number;
  readonly #wallNow: () => number;
  /** In the order in which they became idle. */
  readonly #idle: Connection[] = [];
  /** When the last of them became idle, by the wall clock. */
  #idleSinceWall = 0;

  /** Throws a `RangeError` for a URL or a proxy that cannot be used. */
  constructor(options: HttpAgentOptions) {
    this.#target = connectTargetOf(new URL(options.url));
    this.#now = options.now;
    this.#wallNow = options.wallNow ?? options.now;
  }

  /** Throws a `RangeError` for a value that is not valid in a header; the message does not contain the value. */
  head(headers: { readonly [name: string]: string }, method: "POST" | "GET" = "POST"): RequestHead {
    const { target, host, proxyHeaders } = this.#target;
    const first = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${proxyHeaders}`;
    // The one place that makes one.
    return Object.entries(headers).reduce((head, [name, value]) => withHeader(head, name, value), first as RequestHead);
  }

  /**
   * Sends a request, on an idle connection if there is one. `fresh`: on a new one, which is closed afterwards. `onSent`
   * is called when the request is being written. A body of megabytes had better be encoded before, in pieces. Pieces
   * are read until the head of the response or a failure has come, and not later.
   */
  post(head: RequestHead, body: string | readonly Uint8Array[], fresh: boolean, onSent: () => void): HttpExchange {
    const exchange = new HttpExchange(onSent);
    const connection = (fresh ? undefined : this.#takeIdle()) ?? new Connection(this.#target, this);
    const isText = typeof body === "string";
    const length = isText ? Buffer.byteLength(body) : body.reduce((sum, piece) => sum + piece.byteLength, 0);
    const start = `${head}Content-Length: ${length}\r\nConnection: ${fresh ? "close" : "keep-alive"}\r\n\r\n`;
    connection.dispatch(exchange, isText ? start + body : withStart(start, body, length), !fresh);
    return exchange;
  }

  /** Sends a GET request on a new connection, which is closed afterwards. `head` was made for `GET`. */
  get(head: RequestHead, onSent: () => void): HttpExchange {
    const exchange = new HttpExchange(onSent);
    new Connection(this.#target, this).dispatch(exchange, `${head}Connection: close\r\n\r\n`, false);
    return exchange;
  }

  release(connection: Connection): void {
    if (this.#idle.length >= maxIdle) {
      connection.close();
      return;
    }
    connection.markIdle(this.#now(), Math.ceil(keepAliveMs / 1000));
    this.#idle.push(connection);
    this.#idleSinceWall = this.#wallNow();
  }

  /**
   * Closes the connections that have been idle since before `sentMs`: a request that was sent then, on one of their
   * kind, has got no answer, and a network that has forgotten one connection has mostly forgotten them all.
   */
  closeIdleSince(sentMs: number): void {
    const kept = this.#idle.filter(({ idleSince }) => idleSince > sentMs);
    for (const connection of this.#idle.splice(0, this.#idle.length - kept.length)) connection.close();
  }

  remove(connection: Connection): void {
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #takeIdle(): Connection | undefined {
    const newest = this.#idle.at(-1);
    if (newest === undefined) return undefined;
    const isFresh = this.#now() - newest.idleSince <= keepAliveMs;
    // After a night's sleep the upstream has long closed them, and none of its packets arrived.
    if (isFresh && this.#wallNow() - this.#idleSinceWall <= keepAliveMs) return this.#idle.pop();
    // The others have been idle even longer.
    this.closeIdleSince(newest.idleSince);
    return undefined;
  }
}

/** Below so many bytes one copy of a body costs less than a system call for each of its pieces. */
const copiedBytes = 65_536;

/** The pieces with the head of the request in the first one: each piece is a write of its own. */
function withStart(start: string, pieces: readonly Uint8Array[], length: number): readonly Uint8Array[] {
  const joined = length <= copiedBytes ? pieces.length : 1;
  return [Buffer.concat([Buffer.from(start), ...pieces.slice(0, joined)]), ...pieces.slice(joined)];
}

/** The head with one more line. Throws a `RangeError` for a value that is not valid in a header. */
export function withHeader(head: RequestHead, name: string, value: string): RequestHead {
  if (!isHeaderValue(value)) throw new RangeError(`the header ${name} contains characters that cannot be sent`);
  return `${head}${name}: ${value}\r\n` as RequestHead; // one more line of it
}

/** Printable ASCII, without white space around it; also the empty value. */
export function isHeaderValue(value: string): boolean {
  return /^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/.test(value);
}
