import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import type { Route } from "./connect-target.ts";
import { ConnectionError, codeOf } from "./connection-error.ts";
import type { Carrier, Exchange } from "./http-exchange.ts";
import { HttpSyntaxError } from "./response-head.ts";
import { ResponseParser } from "./response-parser.ts";

/** What a connection tells those who lend it out. */
export interface Keeper {
  /** The answer was read to its end, and another request may follow. */
  idle(connection: Connection): void;
  /** Closed, by whomever. */
  gone(connection: Connection): void;
}

type Socket = Bun.Socket<Connection>;

const maxTunnelHeadBytes = 16_384;

/** One connection of HTTP/1.1, with or without TLS, straight or through a proxy. It serves one exchange at a time. */
export class Connection implements Carrier {
  readonly #route: Route;
  readonly #keeper: Keeper;
  #socket: Socket | undefined;
  /** Open, and where TLS is spoken the certificate has been found good: requests may be written. */
  #ready = false;
  #tunnelled = false;
  #gone = false;
  #lostWith = "CLOSED";
  #served = 0;
  #exchange: Exchange | undefined;
  #parser = new ResponseParser();
  #keep = false;
  /** A request that waits for the connection. */
  #waiting: string | undefined;
  /** What of the request, or of the words to a proxy, did not fit into the system's buffer. */
  #unsent: Buffer | undefined;
  #tunnelHead = "";
  /** When it was last laid aside, in the keeper's time. */
  idleSince = 0;

  /** Begins to connect. */
  constructor(route: Route, keeper: Keeper) {
    this.#route = route;
    this.#keeper = keeper;
    const { hostname, port, tlsFor, tunnel } = route;
    const direct = tlsFor !== undefined && tunnel === undefined;
    const how = direct
      ? { tls: tlsOptions(tlsFor), socket: secure }
      : { socket: tunnel === undefined ? plain : tunnelling };
    try {
      Bun.connect<Connection>({ hostname, port, data: this, ...how }).catch(() => {
        // `connectError` has been told.
      });
    } catch (error) {
      this.closed(error);
    }
  }

  /** Sends a request, at once or when the connection stands. `keep`: others may follow it. */
  carry(exchange: Exchange, request: string, keep: boolean): void {
    if (this.#gone) {
      // Where the system has no descriptor left, connecting fails before it has begun.
      exchange.fail(new ConnectionError(this.#lostWith, false));
      return;
    }
    this.#exchange = exchange;
    this.#keep = keep;
    exchange.reused = this.#served > 0;
    exchange.carriedBy(this);
    if (this.#served++ > 0) {
      this.#parser = new ResponseParser();
      this.#socket?.timeout(0);
      this.#socket?.ref();
    }
    if (this.#ready) this.#send(request);
    else this.#waiting = request;
  }

  /** Lies aside until the next request, or until the system finds so many seconds passed. */
  rest(now: number, seconds: number): void {
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
    this.#leave();
    this.#socket?.terminate();
  }

  /** Closes it in order. */
  close(): void {
    this.#leave();
    this.#socket?.end();
  }

  // What the socket reports.

  opened(socket: Socket): void {
    this.#socket = socket;
    if (this.#gone) socket.terminate();
    else if (this.#route.tunnel !== undefined && !this.#tunnelled) this.#write(this.#route.tunnel);
    else if (this.#route.tlsFor === undefined) this.#stands();
  }

  shookHands(socket: Socket, success: boolean, error: Error | null): void {
    this.#socket = socket;
    if (this.#gone) {
      socket.terminate();
      return;
    }
    const wrong = error ?? (success && socket.authorized ? wrongIdentity(this.#route.tlsFor ?? "", socket) : undefined);
    if (wrong === undefined && success && socket.authorized) this.#stands();
    else this.#lose(new ConnectionError(codeOf(wrong) || "EPROTO", false));
  }

  /** The proxy's answer; after it, TLS with the upstream begins on the same socket. */
  tunnelAnswered(socket: Socket, bytes: Buffer): void {
    // From then on these are the bytes of TLS, of which the socket above takes care.
    if (this.#tunnelled || this.#gone) return;
    this.#tunnelHead += bytes.toString("latin1");
    const end = this.#tunnelHead.indexOf("\r\n\r\n");
    if (end < 0 && this.#tunnelHead.length <= maxTunnelHeadBytes) return;
    const connected = /^HTTP\/1\.[01] 2\d\d\b/.test(this.#tunnelHead) && end + 4 === this.#tunnelHead.length;
    this.#tunnelHead = "";
    if (!connected) {
      this.#lose(new ConnectionError("PROXY_REFUSED", false));
      return;
    }
    this.#tunnelled = true;
    const tls = tlsOptions(this.#route.tlsFor ?? "");
    const [, upper] = socket.upgradeTLS<Connection>({ data: this, tls, socket: secure });
    this.#socket = upper;
  }

  received(bytes: Buffer): void {
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
      this.#lose(error instanceof HttpSyntaxError ? error : new ConnectionError("HTTP_INVALID", true));
      return;
    }
    const head = parser.takeHead();
    if (head !== undefined) exchange.began(head, parser.framed);
    if (parser.bodyEnd > parser.bodyStart) exchange.body(bytes, parser.bodyStart, parser.bodyEnd);
    if (parser.complete) this.#finish(exchange);
  }

  drained(): void {
    const unsent = this.#unsent;
    if (unsent === undefined || this.#socket === undefined) return;
    const written = this.#socket.write(unsent);
    // Below zero it is closed, which is told by itself.
    if (written >= 0) this.#unsent = written < unsent.length ? unsent.subarray(written) : undefined;
  }

  idleTooLong(): void {
    if (this.#exchange === undefined) this.close();
  }

  closed(error: unknown): void {
    const exchange = this.#exchange;
    this.#socket = undefined;
    this.#lostWith = codeOf(error) || "CLOSED";
    this.#leave();
    if (exchange === undefined) return;
    if (error === undefined && this.#parser.finish()) exchange.end();
    else exchange.fail(new ConnectionError(this.#lostWith, exchange.sent));
  }

  failed(error: Error): void {
    this.#lose(new ConnectionError(codeOf(error) || "CLOSED", this.#exchange?.sent ?? false));
  }

  #stands(): void {
    this.#ready = true;
    const request = this.#waiting;
    this.#waiting = undefined;
    if (request !== undefined) this.#send(request);
  }

  #send(request: string): void {
    const exchange = this.#exchange;
    exchange?.connected();
    if (this.#write(request) || exchange === undefined) return;
    exchange.sent = false;
    this.#lose(new ConnectionError("CLOSED", false));
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

  #finish(exchange: Exchange): void {
    const again = this.#keep && this.#parser.keepsOpen && this.#unsent === undefined;
    this.#exchange = undefined;
    exchange.end();
    if (again) this.#keeper.idle(this);
    else this.close();
  }

  #lose(error: Error): void {
    const exchange = this.#exchange;
    this.destroy();
    exchange?.fail(error);
  }

  #leave(): void {
    this.#exchange = undefined;
    this.#waiting = undefined;
    this.#unsent = undefined;
    if (this.#gone) return;
    this.#gone = true;
    this.#keeper.gone(this);
  }
}

const plain: Bun.SocketHandler<Connection> = {
  open: (socket) => socket.data.opened(socket),
  data: (socket, bytes) => socket.data.received(bytes),
  drain: (socket) => socket.data.drained(),
  timeout: (socket) => socket.data.idleTooLong(),
  close: (socket, error) => socket.data.closed(error),
  error: (socket, error) => socket.data.failed(error),
  connectError: (socket, error) => socket.data.closed(error),
};

const secure: Bun.SocketHandler<Connection> = {
  ...plain,
  handshake: (socket, success, error) => socket.data.shookHands(socket, success, error),
};

const tunnelling: Bun.SocketHandler<Connection> = {
  ...plain,
  data: (socket, bytes) => socket.data.tunnelAnswered(socket, bytes),
};

/** The system's certificate authorities and those of `NODE_EXTRA_CA_CERTS` are trusted, and nobody else. */
function tlsOptions(hostname: string): Bun.TLSOptions {
  return { rejectUnauthorized: true, ...(isIP(hostname) === 0 ? { serverName: hostname } : {}) };
}

/** The runtime has looked at the name already where it knew it; where it did not, nobody else would. */
function wrongIdentity(hostname: string, socket: Socket): Error | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: the runtime's type of a certificate is not Node's, its value is.
  return checkServerIdentity(hostname, socket.getPeerCertificate() as any);
}
