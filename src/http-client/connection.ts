import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import type { ConnectTarget } from "./connect-target.ts";
import { ConnectionError, type ConnectionStage, errorCodeOf } from "./connection-error.ts";
import type { HttpExchange, Transport } from "./http-exchange.ts";
import { HttpSyntaxError } from "./response/response-head.ts";
import { ResponseParser } from "./response/response-parser.ts";

/** The pool that owns a connection, as the connection sees it. */
export interface ConnectionPool {
  /** The response is complete, and the connection can serve another request. */
  release(connection: Connection): void;
  /** The connection is closed, by either side. */
  remove(connection: Connection): void;
}

type Socket = Bun.Socket<Connection>;

/** A whole request, or the pieces of one. */
export type RequestBytes = string | readonly Uint8Array[];

const maxTunnelHeadBytes = 16_384;

/** One HTTP/1.1 connection, with or without TLS, direct or through a proxy. It serves one exchange at a time. */
export class Connection implements Transport {
  // What each piece of a response needs comes first, side by side in memory.
  #exchange: HttpExchange | undefined;
  #parser = new ResponseParser();
  readonly #target: ConnectTarget;
  readonly #pool: ConnectionPool;
  #socket: Socket | undefined;
  /** Open, and with TLS the certificate is verified: requests may be written. */
  #ready = false;
  #opened = false;
  #tunnelled = false;
  #isClosed = false;
  #closeCode = "CLOSED";
  #requestCount = 0;
  #keepAlive = false;
  /** A request to write once the connection is ready. */
  #queuedRequest: RequestBytes | undefined;
  /** The part of the request, or of the CONNECT request to a proxy, that did not fit into the socket's buffer. */
  #unsent: readonly Uint8Array[] | undefined;
  #tunnelHead = "";
  /** When it last became idle, in the pool's time. */
  idleSince = 0;

  /** Starts to connect. */
  constructor(target: ConnectTarget, pool: ConnectionPool) {
    this.#target = target;
    this.#pool = pool;
    const { hostname, port, tlsFor, tunnel } = target;
    const direct = tlsFor !== undefined && tunnel === undefined;
    const handlers = direct
      ? { tls: tlsOptions(tlsFor), socket: tlsHandler }
      : { socket: tunnel === undefined ? plainHandler : tunnelHandler };
    try {
      Bun.connect<Connection>({ hostname, port, data: this, ...handlers }).catch(() => {
        // The handler `connectError` has been called.
      });
    } catch (error) {
      this.onClose(error);
    }
  }

  /** Sends a request, at once or when the connection is ready. `keepAlive`: further requests may follow it. */
  dispatch(exchange: HttpExchange, request: RequestBytes, keepAlive: boolean): void {
    if (this.#isClosed) {
      // Without a free file descriptor, connecting fails inside the constructor.
      exchange.onFailure(new ConnectionError(this.#closeCode, false, this.stage));
      return;
    }
    this.#exchange = exchange;
    this.#keepAlive = keepAlive;
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

  /** Waits for the next request; the connection closes itself after `seconds` without one. */
  markIdle(now: number, seconds: number): void {
    this.idleSince = now;
    this.#socket?.timeout(seconds);
    this.#socket?.unref();
  }

  get stage(): ConnectionStage {
    const { viaProxy, tunnel } = this.#target;
    if (this.#ready) return "exchange";
    if (!this.#opened) return viaProxy ? "connect_proxy" : "connect";
    return tunnel !== undefined && !this.#tunnelled ? "tunnel" : "handshake";
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Drops the connection at once (RST). One that is still connecting is dropped as soon as it is open. */
  destroy(): void {
    this.#detach();
    this.#socket?.terminate();
  }

  /** Closes the connection in order (FIN). */
  close(): void {
    this.#detach();
    this.#socket?.end();
  }

  // Socket events.

  onOpen(socket: Socket): void {
    this.#socket = socket;
    this.#opened = true;
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
    const problem =
      error ?? (success && socket.authorized ? identityError(this.#target.tlsFor ?? "", socket) : undefined);
    if (problem === undefined && success && socket.authorized) this.#onReady();
    else this.#fail(new ConnectionError(errorCodeOf(problem) || "EPROTO", false, "handshake"));
  }

  /** The proxy's response to CONNECT; after it, TLS with the origin server starts on the same socket. */
  onTunnelData(socket: Socket, bytes: Buffer): void {
    // After the upgrade these bytes belong to the TLS socket.
    if (this.#tunnelled || this.#isClosed) return;
    this.#tunnelHead += bytes.toString("latin1");
    const end = this.#tunnelHead.indexOf("\r\n\r\n");
    if (end < 0 && this.#tunnelHead.length <= maxTunnelHeadBytes) return;
    const [, status] = /^HTTP\/1\.[01] (\d{3})\b/.exec(this.#tunnelHead) ?? [];
    const connected = status?.startsWith("2") === true && end + 4 === this.#tunnelHead.length;
    this.#tunnelHead = "";
    if (!connected) {
      const proxyStatus = status === undefined ? undefined : Number(status);
      this.#fail(new ConnectionError("PROXY_REFUSED", false, "tunnel", proxyStatus));
      return;
    }
    this.#tunnelled = true;
    const tls = tlsOptions(this.#target.tlsFor ?? "");
    const [, tlsSocket] = socket.upgradeTLS<Connection>({ data: this, tls, socket: tlsHandler });
    this.#socket = tlsSocket;
  }

  onData(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      // No request is open: these bytes would be read as the next response.
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
    if (head !== undefined) {
      // A response before the request is sent whole: from here on the caller need no longer keep the request's bytes.
      this.#unsent = this.#unsent?.map((piece) => piece.slice());
      exchange.onHead(head, parser.framed);
    }
    if (parser.bodyEnd > parser.bodyStart) exchange.onBody(bytes, parser.bodyStart, parser.bodyEnd);
    // Whoever reads the body may have cancelled the exchange meanwhile, and then this connection is closed.
    if (parser.complete && this.#exchange === exchange) this.#finish(exchange);
  }

  onDrain(): void {
    // Where that fails the socket is closed, and `onClose` follows.
    if (this.#unsent !== undefined) this.#writePieces(this.#unsent);
  }

  onTimeout(): void {
    if (this.#exchange === undefined) this.close();
  }

  onClose(error: unknown): void {
    const { stage } = this;
    const exchange = this.#exchange;
    this.#socket = undefined;
    this.#closeCode = errorCodeOf(error) || "CLOSED";
    this.#detach();
    if (exchange === undefined) return;
    if (error === undefined && this.#parser.finish()) exchange.onEnd();
    else exchange.onFailure(new ConnectionError(this.#closeCode, exchange.sent, stage));
  }

  onError(error: Error): void {
    this.#fail(new ConnectionError(errorCodeOf(error) || "CLOSED", this.#exchange?.sent ?? false, this.stage));
  }

  #onReady(): void {
    this.#ready = true;
    const request = this.#queuedRequest;
    this.#queuedRequest = undefined;
    if (request !== undefined) this.#send(request);
  }

  #send(request: RequestBytes): void {
    const exchange = this.#exchange;
    exchange?.connected();
    if (this.#write(request) || exchange === undefined) return;
    exchange.sent = false;
    this.#fail(new ConnectionError("CLOSED", false));
  }

  /** False if the connection is closed and nothing was written. */
  #write(request: RequestBytes): boolean {
    if (typeof request !== "string") return this.#writePieces(request);
    const written = this.#socket?.write(request) ?? -1;
    // UTF-8 has at most three bytes for each UTF-16 unit, so most requests need no byte count.
    if (written >= 0 && written < 3 * request.length) {
      const bytes = Buffer.byteLength(request);
      if (written < bytes) this.#unsent = [Buffer.from(request).subarray(written)];
    }
    return written >= 0;
  }

  #writePieces(pieces: readonly Uint8Array[]): boolean {
    for (const [index, piece] of pieces.entries()) {
      const written = this.#socket?.write(piece) ?? -1;
      if (written === piece.byteLength) continue;
      this.#unsent = [piece.subarray(Math.max(0, written)), ...pieces.slice(index + 1)];
      return written >= 0 || index > 0;
    }
    this.#unsent = undefined;
    return true;
  }

  #finish(exchange: HttpExchange): void {
    const reusable = this.#keepAlive && this.#parser.reusable && this.#unsent === undefined;
    this.#exchange = undefined;
    exchange.onEnd();
    if (reusable) this.#pool.release(this);
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

/** Trusts the certificate authorities of the system and those of `NODE_EXTRA_CA_CERTS`, no others. */
function tlsOptions(hostname: string): Bun.TLSOptions {
  return { rejectUnauthorized: true, ...(isIP(hostname) === 0 ? { serverName: hostname } : {}) };
}

/** Checks the certificate's host name. The runtime does so only where it knows it, which it does not in a tunnel. */
function identityError(hostname: string, socket: Socket): Error | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: the runtime's type of a certificate is not Node's, its value is.
  return checkServerIdentity(hostname, socket.getPeerCertificate() as any);
}
