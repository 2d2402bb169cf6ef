import { createServer, type Server, type Socket } from "node:net";

/**
 * A small HTTP/1.1 server on raw sockets, for test upstreams: it can send half a chunk, reset a connection after the seventh byte,
 * or answer with something that is no HTTP at all, which a web framework cannot. Loopback only, one request at a time on each
 * connection, kept alive until either side closes.
 */

/** One request as it was received. Header names in lower case; repeated ones joined by a comma. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Buffer;
  /** Number of the connection, counted from 0, and of the request on it: above 0 the socket was reused. */
  readonly connection: number;
  readonly onConnection: number;
}

/** The answering side of one request. */
export interface RawResponse {
  /**
   * Sends exact bytes. Resolves when the kernel has accepted them (a caller that does not read delays this), or when the
   * caller has disconnected; never rejects.
   */
  send(bytes: string | Uint8Array): Promise<void>;
  /** Bytes of this answer that were passed to the kernel. */
  bytesSent(): number;
  /** The answer is whole: the connection waits for its next request. */
  keep(): void;
  /** Closes with FIN once everything sent has left. */
  fin(): void;
  /** Closes with RST, at once; bytes that the caller has not read may be lost with it. */
  reset(): void;
  /** Aborts when the caller hangs up before the answer was whole. */
  readonly aborted: AbortSignal;
}

export interface RawHttpServer {
  readonly port: number;
  /** Open connections. */
  connections(): number;
  /** Closes the connections that wait for a request, as a server does after its keep-alive timeout. */
  closeIdle(): void;
  stop(): Promise<void>;
}

const headLimit = 65_536;
const bodyLimit = 64 * 1024 * 1024;

export async function startRawHttpServer(
  options: { port: number; hostname: string },
  answer: (request: RawRequest, response: RawResponse) => void,
): Promise<RawHttpServer> {
  const open = new Set<RawConnection>();
  let counted = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = new RawConnection(socket, counted++, answer);
    open.add(connection);
    socket.on("close", () => open.delete(connection));
  });
  await listening(server, options);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the simulator listens on no port");
  return {
    port: address.port,
    connections: () => open.size,
    closeIdle() {
      for (const connection of open) connection.closeIfIdle();
    },
    stop() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of open) connection.drop();
      });
    },
  };
}

function listening(server: Server, options: { port: number; hostname: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

interface Head {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
}

class RawConnection {
  readonly #socket: Socket;
  readonly #number: number;
  readonly #answer: (request: RawRequest, response: RawResponse) => void;
  #waiting: Buffer[] = [];
  #head: Head | undefined;
  #served = 0;
  #current: { abort: AbortController; sent: number } | undefined;

  constructor(socket: Socket, number: number, answer: (request: RawRequest, response: RawResponse) => void) {
    this.#socket = socket;
    this.#number = number;
    this.#answer = answer;
    socket.on("data", (bytes: Buffer) => {
      this.#waiting.push(bytes);
      if (this.#current === undefined) this.#read();
    });
    socket.on("end", () => this.#onHangUp());
    socket.on("close", () => this.#onHangUp());
    // An error needs no handling of its own: `close` follows it.
    socket.on("error", () => undefined);
  }

  closeIfIdle(): void {
    if (this.#current === undefined) this.#socket.end();
  }

  drop(): void {
    this.#socket.destroy();
  }

  #onHangUp(): void {
    this.#current?.abort.abort();
    this.#current = undefined;
    if (!this.#socket.destroyed) this.#socket.destroy();
  }

  /** Reads as much of the next request as has come; hands it on when it is whole. */
  #read(): void {
    // Joining what has come at each packet is quadratic only for bodies of many packets before the head is whole.
    if (this.#head === undefined) {
      const joined = this.#joined();
      const end = joined.indexOf("\r\n\r\n");
      if (end < 0) {
        if (joined.length > headLimit) this.#refuse("431 Request Header Fields Too Large");
        return;
      }
      const head = parseHead(joined.toString("latin1", 0, end));
      if (head === undefined) {
        this.#refuse("400 Bad Request");
        return;
      }
      this.#waiting = [joined.subarray(end + 4)];
      this.#head = head;
      if (head.headers["expect"] === "100-continue") this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    }
    const body = this.#head.headers["transfer-encoding"]?.includes("chunked") ? this.#chunkedBody() : this.#sizedBody();
    if (body === "too_large") this.#refuse("413 Content Too Large");
    if (body === undefined || body === "too_large") return;
    const { method, path, headers } = this.#head;
    this.#head = undefined;
    this.#serve({ method, path, headers, body, connection: this.#number, onConnection: this.#served++ });
  }

  #joined(): Buffer {
    const joined = this.#waiting.length === 1 ? (this.#waiting[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#waiting);
    this.#waiting = [joined];
    return joined;
  }

  #sizedBody(): Buffer | "too_large" | undefined {
    const length = Number(this.#head?.headers["content-length"] ?? 0);
    if (length > bodyLimit) return "too_large";
    const come = this.#waiting.reduce((sum, bytes) => sum + bytes.length, 0);
    if (come < length) return undefined;
    const joined = this.#joined();
    this.#waiting = joined.length > length ? [joined.subarray(length)] : [];
    return joined.subarray(0, length);
  }

  #chunkedBody(): Buffer | "too_large" | undefined {
    const joined = this.#joined();
    if (joined.length > bodyLimit) return "too_large";
    const parts: Buffer[] = [];
    for (let at = 0; ; ) {
      const lineEnd = joined.indexOf("\r\n", at);
      if (lineEnd < 0) return undefined;
      const size = Number.parseInt(joined.toString("latin1", at, lineEnd), 16);
      const start = lineEnd + 2;
      if (joined.length < start + size + 2) return undefined;
      at = start + size + 2;
      if (size === 0 || Number.isNaN(size)) {
        this.#waiting = joined.length > at ? [joined.subarray(at)] : [];
        return Buffer.concat(parts);
      }
      parts.push(joined.subarray(start, start + size));
    }
  }

  #refuse(status: string): void {
    this.#socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
  }

  #serve(request: RawRequest): void {
    const socket = this.#socket;
    const current = { abort: new AbortController(), sent: 0 };
    this.#current = current;
    const over = () => this.#current !== current || socket.destroyed;
    this.#answer(request, {
      aborted: current.abort.signal,
      bytesSent: () => current.sent,
      send: (bytes) => {
        if (over()) return Promise.resolve();
        current.sent += typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
        if (socket.write(bytes)) return Promise.resolve();
        return drained(socket);
      },
      keep: () => {
        if (over()) return;
        this.#current = undefined;
        if (request.headers["connection"]?.toLowerCase() === "close") socket.end();
        else if (this.#waiting.length > 0) this.#read();
      },
      fin: () => {
        if (over()) return;
        this.#current = undefined;
        socket.end();
      },
      reset: () => {
        if (over()) return;
        this.#current = undefined;
        socket.resetAndDestroy();
      },
    });
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.on("drain", done);
    socket.on("close", done);
  });
}

function parseHead(text: string): Head | undefined {
  const lines = text.split("\r\n");
  const [method, path, version] = (lines[0] ?? "").split(" ");
  if (method === undefined || path === undefined || version?.startsWith("HTTP/1.") !== true) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines.slice(1)) {
    const colon = line.indexOf(":");
    if (colon <= 0) return undefined;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { method, path, headers };
}
