import { connect, createServer, type Socket } from "node:net";

/**
 * A pooler for PostgreSQL as PgBouncer is in transaction mode: each transaction of a caller goes to any of the server's connections
 * that is idle. What a session has set, prepared, locked or listened to is therefore lost, or another caller's.
 */
export interface TransactionPooler {
  readonly port: number;
  /** The types of the messages that callers have sent after their start. */
  readonly messageTypes: ReadonlySet<string>;
  /** Transactions that went to another server connection than the caller's one before. */
  readonly moved: number;
  close(): Promise<void>;
}

/** A connection to the server, and the caller whose transaction it runs. */
interface Backend {
  readonly socket: Socket;
  caller: Caller | undefined;
}

interface Caller {
  readonly socket: Socket;
  backend: Backend | undefined;
  lastBackend: Backend | undefined;
  /** Queries that the server has not answered yet. */
  pending: number;
  /** Messages that wait for a server connection. */
  waiting: Buffer[];
}

const READY_FOR_QUERY = "Z";
const TERMINATE = "X";
const IDLE = "I".charCodeAt(0);

export async function transactionPooler(serverPort: number, maxBackends = 6): Promise<TransactionPooler> {
  const idle: Backend[] = [];
  const backends = new Set<Backend>();
  const callers = new Set<Caller>();
  const queue: Caller[] = [];
  const messageTypes = new Set<string>();
  let moved = 0;

  function serve(caller: Caller): void {
    const at = Math.floor(Math.random() * idle.length);
    const backend = caller.backend ?? idle.splice(at, 1)[0];
    if (backend === undefined) {
      if (!queue.includes(caller)) queue.push(caller);
      return;
    }
    if (caller.backend === undefined && caller.lastBackend !== undefined && caller.lastBackend !== backend) moved += 1;
    caller.backend = backend;
    caller.lastBackend = backend;
    backend.caller = caller;
    for (const message of caller.waiting.splice(0)) backend.socket.write(message);
  }

  function release(backend: Backend): void {
    if (backend.caller !== undefined) backend.caller.backend = undefined;
    backend.caller = undefined;
    if (backends.size > maxBackends) {
      backends.delete(backend);
      backend.socket.destroy();
      return;
    }
    idle.push(backend);
    const next = queue.shift();
    if (next !== undefined) serve(next);
  }

  function onServerMessage(backend: Backend, type: string, message: Buffer): void {
    const { caller } = backend;
    caller?.socket.write(message);
    if (type !== READY_FOR_QUERY || caller === undefined) return;
    caller.pending -= 1;
    if (caller.pending <= 0 && message[5] === IDLE) release(backend);
  }

  const server = createServer((socket) => {
    const caller: Caller = { socket, backend: undefined, lastBackend: undefined, pending: 1, waiting: [] };
    const backend: Backend = { socket: connect(serverPort, "127.0.0.1"), caller };
    caller.backend = backend;
    callers.add(caller);
    backends.add(backend);
    backend.socket.on(
      "data",
      reader((type, message) => onServerMessage(backend, type, message)),
    );
    const onCallerMessage = reader((type, message) => {
      messageTypes.add(type);
      if (type === TERMINATE) {
        socket.destroy();
        return;
      }
      caller.pending += 1;
      caller.waiting.push(message);
      serve(caller);
    });
    let started = false;
    socket.on("data", (bytes: Buffer) => {
      // The message that opens a session has no type. The test server asks for no password.
      if (started) onCallerMessage(bytes);
      else backend.socket.write(bytes);
      started = true;
    });
    for (const each of [socket, backend.socket]) each.on("error", () => each.destroy());
    socket.on("close", () => {
      callers.delete(caller);
      const running = caller.backend;
      if (running === undefined) return;
      // A transaction without its caller: PgBouncer closes the server's connection too.
      backends.delete(running);
      running.socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("the pooler has no port");
  return {
    port: address.port,
    messageTypes,
    get moved() {
      return moved;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const { socket } of callers) socket.destroy();
        for (const { socket } of backends) socket.destroy();
      }),
  };
}

/** Calls back with each whole message: a type of one character, a length of four bytes, the rest. */
function reader(onMessage: (type: string, message: Buffer) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 5) {
      const length = 1 + rest.readInt32BE(1);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      onMessage(String.fromCharCode(message[0] ?? 0), message);
    }
  };
}
