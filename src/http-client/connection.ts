import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import type { ConnectTarget } from "./connect-target.ts";
import { ConnectionError, errorCodeOf } from "./connection-error.ts";
import type { HttpExchange, Transport } from "./http-exchange.ts";
import { HttpSyntaxError } from "./response-head.ts";
import { ResponseParser } from "./response-parser.ts";

/** What a connection tells those who lend it out. */
export interface ConnectionPool {
  /** The answer was read to its end, and another request may follow. */
  release(connection: Connection): void;
  /** Closed, by whomever. */
  remove(connection: Connection): void;
}

type Socket = Bun.Socket<Connection>;

const maxTunnelHeadBytes = 16_384;

/** One connection of HTTP/1.1, with or without TLS, straight or through a proxy. It serves one exchange at a time. */
export class Connection implements Transport {
  readonly #target: ConnectTarget;
  readonly #pool: ConnectionPool;
  #socket: Socket | undefined;
  /** Open, and where TLS is spoken the certificate has been found good: requests may be written. */
  #ready = false;
  #tunnelled = false;
  #isClosed = false;
  #closeCode = "CLOSED";
  #requestCount = 0;
  #exchange: HttpExchange | undefined;
  #parser = new ResponseParser();
  #keepAlive = false;
  /** A request that waits for the connection. */
  #queuedRequest: string | undefined;
  /** What of the request, or of the words to a proxy, did not fit into the system's buffer. */
  #unsent: Buffer | undefined;
  #tunnelHead = "";
  /** When it was last laid aside, in the keeper's time. */
  idleSince = 0;

  /** Begins to connect. */
  constructor(route: ConnectTarget, keeper: ConnectionPool) {
    this.#target = route;
    this.#pool = keeper;
    const { hostname, port, tlsFor, tunnel } = route;
    const direct = tlsFor !== undefined && tunnel === undefined;
    const how = direct
      ? { tls: tlsOptions(tlsFor), socket: tlsHandler }
      : { socket: tunnel === undefined ? plainHandler : tunnelHandler };
    try {
      Bun.connect<Connection>({ hostname, port, data: this, ...how }).catch(() => {
        // `connectError` has been told.
      });
    } catch (error) {
      this.onClose(error);
    }
  }

  /** Sends a request, at once or when the connection stands. `keep`: others may follow it. */
  dispatch(exchange: HttpExchange, request: string, keep: boolean): void {
    if (this.#isClosed) {
      // Where the system has no descriptor left, connecting fails before it has begun.
      exchange.onFailure(new ConnectionError(this.#closeCode, false));
      return;
    }
    this.#exchange = exchange;
    this.#keepAlive = keep;
    exchange.reused = this.#requestCount > 0;
    exchange.attach(this);
    if (this.#requestCount++ > 0) {
      this.#parser = new ResponseParser();
      this.#socket?.timeout(0);
      this.#socket?.ref();
    }
    if (this.#ready) this.#send(request);
    else this.#queuedRequest = request;
  }

  /** Lies aside until the next request, or until the system finds so many seconds passed. */
  markIdle(now: number, seconds: number): void {
    this.idleSince = now;
    this.#socket?.timeout(seconds);
    this.#socket?.unref();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Drops it at once. A connection that is still being made is dropped as soon as it stands. */
  destroy(): void {
    this.#detach();
    this.#socket?.terminate();
  }

  /** Closes it in order. */
  close(): void {
    this.#detach();
    this.#socket?.end();
  }

  // What the socket reports.

  onOpen(socket: Socket): void {
    this.#socket = socket;
    if (this.#isClosed) socket.terminate();
    else if (this.#target.tunnel !== undefined && !this.#tunnelled) this.#write(this.#target.tunnel);
    else if (this.#target.tlsFor === undefined) this.#onReady();
  }

  onHandshake(socket: Socket, success: boolean, error: Error | null): void {
    this.#socket = socket;
    if (this.#isClosed) {
      socket.terminate();
      return;
    }
    const wrong =
      error ?? (success && socket.authorized ? identityError(this.#target.tlsFor ?? "", socket) : undefined);
    if (wrong === undefined && success && socket.authorized) this.#onReady();
    else this.#fail(new ConnectionError(errorCodeOf(wrong) || "EPROTO", false));
  }

  /** The proxy's answer; after it, TLS with the upstream begins on the same socket. */
  onTunnelData(socket: Socket, bytes: Buffer): void {
    // From then on these are the bytes of TLS, of which the socket above takes care.
    if (this.#tunnelled || this.#isClosed) return;
    this.#tunnelHead += bytes.toString("latin1");
    const end = this.#tunnelHead.indexOf("\r\n\r\n");
    if (end < 0 && this.#tunnelHead.length <= maxTunnelHeadBytes) return;
    const connected = /^HTTP\/1\.[01] 2\d\d\b/.test(this.#tunnelHead) && end + 4 === this.#tunnelHead.length;
    this.#tunnelHead = "";
    if (!connected) {
      this.#fail(new ConnectionError("PROXY_REFUSED", false));
      return;
    }
    this.#tunnelled = true;
    const tls = tlsOptions(this.#target.tlsFor ?? "");
    const [, upper] = socket.upgradeTLS<Connection>({ data: this, tls, socket: tlsHandler });
    this.#socket = upper;
  }

  onData(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      // Nobody asked for anything: these bytes would be taken for the next answer.
      this.destroy();
      return;
    }
    const parser = this.#parser;
    try {
      parser.push(bytes);
    } catch (error) {
      this.#fail(error instanceof HttpSyntaxError ? error : new ConnectionError("HTTP_INVALID", true));
      return;
    }
    const head = parser.takeHead();
    if (head !== undefined) exchange.onHead(head, parser.framed);
    if (parser.bodyEnd > parser.bodyStart) exchange.onBody(bytes, parser.bodyStart, parser.bodyEnd);
    if (parser.complete) this.#finish(exchange);
  }

  onDrain(): void {
    const unsent = this.#unsent;
    if (unsent === undefined || this.#socket === undefined) return;
    const written = this.#socket.write(unsent);
    // Below zero it is closed, which is told by itself.
    if (written >= 0) this.#unsent = written < unsent.length ? unsent.subarray(written) : undefined;
  }

  onTimeout(): void {
    if (this.#exchange === undefined) this.close();
  }

  onClose(error: unknown): void {
    const exchange = this.#exchange;
    this.#socket = undefined;
    this.#closeCode = errorCodeOf(error) || "CLOSED";
    this.#detach();
    if (exchange === undefined) return;
    if (error === undefined && this.#parser.finish()) exchange.onEnd();
    else exchange.onFailure(new ConnectionError(this.#closeCode, exchange.sent));
  }

  onError(error: Error): void {
    this.#fail(new ConnectionError(errorCodeOf(error) || "CLOSED", this.#exchange?.sent ?? false));
  }

  #onReady(): void {
    this.#ready = true;
    const request = this.#queuedRequest;
    this.#queuedRequest = undefined;
    if (request !== undefined) this.#send(request);
  }

  #send(request: string): void {
    const exchange = this.#exchange;
    exchange?.connected();
    if (this.#write(request) || exchange === undefined) return;
    exchange.sent = false;
    this.#fail(new ConnectionError("CLOSED", false));
  }

  /** False if the connection is closed already, so that nothing was written. */
  #write(text: string): boolean {
    const written = this.#socket?.write(text) ?? -1;
    // Cheaper than counting the bytes of every request: a text never has more bytes than three for each of its units.
    if (written >= 0 && written < 3 * text.length) {
      const bytes = Buffer.byteLength(text);
      if (written < bytes) this.#unsent = Buffer.from(text).subarray(written);
    }
    return written >= 0;
  }

  #finish(exchange: HttpExchange): void {
    const again = this.#keepAlive && this.#parser.reusable && this.#unsent === undefined;
    this.#exchange = undefined;
    exchange.onEnd();
    if (again) this.#pool.release(this);
    else this.close();
  }

  #fail(error: Error): void {
    const exchange = this.#exchange;
    this.destroy();
    exchange?.onFailure(error);
  }

  #detach(): void {
    this.#exchange = undefined;
    this.#queuedRequest = undefined;
    this.#unsent = undefined;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pool.remove(this);
  }
}

const plainHandler: Bun.SocketHandler<Connection> = {
  open: (socket) => socket.data.onOpen(socket),
  data: (socket, bytes) => socket.data.onData(bytes),
  drain: (socket) => socket.data.onDrain(),
  timeout: (socket) => socket.data.onTimeout(),
  close: (socket, error) => socket.data.onClose(error),
  error: (socket, error) => socket.data.onError(error),
  connectError: (socket, error) => socket.data.onClose(error),
};

const tlsHandler: Bun.SocketHandler<Connection> = {
  ...plainHandler,
  handshake: (socket, success, error) => socket.data.onHandshake(socket, success, error),
};

const tunnelHandler: Bun.SocketHandler<Connection> = {
  ...plainHandler,
  data: (socket, bytes) => socket.data.onTunnelData(socket, bytes),
};

/** The system's certificate authorities and those of `NODE_EXTRA_CA_CERTS` are trusted, and nobody else. */
function tlsOptions(hostname: string): Bun.TLSOptions {
  return { rejectUnauthorized: true, ...(isIP(hostname) === 0 ? { serverName: hostname } : {}) };
}

/** The runtime has looked at the name already where it knew it; where it did not, nobody else would. */
function identityError(hostname: string, socket: Socket): Error | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: the runtime's type of a certificate is not Node's, its value is.
  return checkServerIdentity(hostname, socket.getPeerCertificate() as any);
}
