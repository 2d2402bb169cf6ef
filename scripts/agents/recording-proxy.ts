import { connect, createServer, type Socket } from "node:net";

/**
 * Passes bytes between an agent and the gateway unchanged and stores them, so that both sides of the exchange can be read
 * afterwards. It works below HTTP on purpose: an HTTP proxy would change the headers that it must show.
 */
export interface RecordingProxy extends AsyncDisposable {
  readonly url: string;
  /** All messages so far, in the order of the requests on each connection. */
  exchanges(): ExchangeRecord[];
}

export interface ExchangeRecord {
  readonly request: HttpMessage;
  /** Undefined if the connection ended before an answer. */
  readonly answer: HttpMessage | undefined;
}

export interface HttpMessage {
  /** Request or status line. */
  readonly start: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target);
  const connections: { sent: Buffer[]; received: Buffer[] }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((agent) => {
    const kept = { sent: [] as Buffer[], received: [] as Buffer[] };
    connections.push(kept);
    const gateway = connect(Number(port), hostname);
    agent.on("data", (bytes) => kept.sent.push(Buffer.from(bytes)));
    gateway.on("data", (bytes) => kept.received.push(Buffer.from(bytes)));
    for (const [one, other] of [
      [agent, gateway],
      [gateway, agent],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy()); // the other side is closed in turn
      one.on("close", () => sockets.delete(one));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    exchanges: () =>
      connections.flatMap(({ sent, received }) => {
        const answers = messagesIn(Buffer.concat(received)).filter(({ start }) => !/^HTTP\/1\.1 1\d\d /.test(start));
        return messagesIn(Buffer.concat(sent)).map((request, index) => ({ request, answer: answers[index] }));
      }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The HTTP/1.1 messages in the bytes of one direction; the last may be cut off. */
export function messagesIn(bytes: Buffer): HttpMessage[] {
  const messages: HttpMessage[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end < 0) break;
    const [start = "", ...lines] = bytes.toString("latin1", at, end).split("\r\n");
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const from = end + 4;
    const { body, next } = bodyAt(bytes, from, start, headers);
    messages.push({ start, headers, body: body.toString("utf8") });
    at = next;
  }
  return messages;
}

function bodyAt(bytes: Buffer, from: number, start: string, headers: ReadonlyMap<string, string>) {
  if (/chunked/i.test(headers.get("transfer-encoding") ?? "")) return chunksAt(bytes, from);
  const announced = headers.get("content-length");
  const isAnswer = start.startsWith("HTTP/");
  const empty = !isAnswer || /^HTTP\/1\.1 (?:1\d\d|204|304) /.test(start);
  const next = announced !== undefined ? from + Number(announced) : empty ? from : bytes.length;
  return { body: bytes.subarray(from, next), next };
}

function chunksAt(bytes: Buffer, from: number) {
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    const size = line < 0 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (Number.isNaN(size)) return { body: Buffer.concat(parts), next: bytes.length };
    if (size === 0) return { body: Buffer.concat(parts), next: line + 4 };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
