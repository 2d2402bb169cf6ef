import { createServer, type Socket } from "node:net";
import type { JsonObject } from "#domain/chat.ts";
import { type NanoUsdPerMTok, nanoUsd } from "#domain/money/money.ts";
import { aModel } from "#pipeline/decide/fixtures.ts";
import { nextOf, type Source } from "#platform/receiver.ts";
import { type ManualTime, manualTime } from "#platform/testing/manual-time.ts";
import { UpstreamClient, type UpstreamClientOptions } from "#upstream/client.ts";
import type { ChunkEvent, ChunkRun, UpstreamCall, UpstreamEvent, UpstreamReply } from "#upstream/upstream.ts";

/** A connection of the raw server: the received requests, and a way to write. */
export interface Connection {
  readonly socket: Socket;
  /** 1 for the first connection of the server. */
  readonly number: number;
  /** Resolves with a request (head and body) when it is complete; the k-th call waits for the k-th request. */
  request(): Promise<string>;
  readonly closed: Promise<void>;
}

export interface RawServer {
  url: string;
  connections: number;
  /** Connections that are open now. */
  readonly open: number;
  stop(): void;
}

/** A server that sends exactly the bytes that its script writes, without an HTTP library. */
async function rawServer(script: (connection: Connection) => void | Promise<void>): Promise<RawServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    raw.connections++;
    open.add(socket);
    // Many of these tests are about resets.
    socket.on("error", () => {});
    const closed = new Promise<void>((resolve) => {
      socket.on("close", () => {
        open.delete(socket);
        resolve();
      });
    });
    let seen = Buffer.alloc(0);
    let waiting: ((request: string) => void) | undefined;
    const offer = () => {
      const end = seen.indexOf("\r\n\r\n");
      if (end < 0 || waiting === undefined) return;
      const length = Number(/content-length: *(\d+)/i.exec(seen.toString("latin1", 0, end))?.[1] ?? 0);
      const whole = end + 4 + length;
      if (seen.length < whole) return;
      const request = seen.toString("utf8", 0, whole);
      seen = seen.subarray(whole);
      const give = waiting;
      waiting = undefined;
      give(request);
    };
    socket.on("data", (bytes: Buffer) => {
      seen = Buffer.concat([seen, bytes]);
      offer();
    });
    const request = () =>
      new Promise<string>((resolve) => {
        waiting = resolve;
        offer();
      });
    void script({ socket, number: raw.connections, request, closed });
  });
  const raw: RawServer = {
    url: "",
    connections: 0,
    get open() {
      return open.size;
    },
    stop() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  raw.url = `http://127.0.0.1:${address.port}/api/v1`;
  return raw;
}

const free = nanoUsd(0) as number as NanoUsdPerMTok;

const model = aModel({
  key: "vendor_v4_flash",
  role: "worker",
  upstreamId: "deepseek/deepseek-v4-flash",
  price: { input: free, cachedInput: free, output: free },
});

export const limits = {
  connect: 5_000,
  headers: 30_000,
  first_event: 60_000,
  idle: 30_000,
  idle_data: 120_000,
  total: 600_000,
};

export function callOf(stream: boolean, more: Partial<UpstreamCall> & { body?: JsonObject } = {}): UpstreamCall {
  return {
    model,
    body: { model: model.upstreamId, messages: [{ role: "user", content: "hi" }], ...(stream ? { stream } : {}) },
    stream,
    timeoutsMs: limits,
    requestId: "r1",
    ...more,
  };
}

/** One server with one script, one client and one manual clock; stops at the end. */
export async function withUpstream<T>(
  script: (connection: Connection) => void | Promise<void>,
  use: (parts: {
    server: RawServer;
    time: ManualTime;
    send: (call: UpstreamCall, signal?: AbortSignal) => Promise<UpstreamReply>;
  }) => Promise<T>,
  options: Partial<UpstreamClientOptions> = {},
): Promise<T> {
  const server = await rawServer(script);
  const time = manualTime(Date.parse("2026-11-21T12:00:01Z"));
  const client = new UpstreamClient({
    baseUrl: server.url,
    clock: time.clock,
    timers: time.timers,
    ...options,
  });
  try {
    return await use({
      server,
      time,
      send: (call, signal = new AbortController().signal) => client.send(call, signal),
    });
  } finally {
    server.stop();
  }
}

export function headOf(type: string, framing: "chunked" | "close" | number, status = "200 OK"): string {
  const length =
    framing === "chunked"
      ? "Transfer-Encoding: chunked\r\n"
      : framing === "close"
        ? "Connection: close\r\n"
        : `Content-Length: ${framing}\r\n`;
  return `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\n${length}\r\n`;
}

export function jsonAnswer(body: unknown, status = "200 OK", headers = ""): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
  return `${head}${headers}\r\n${text}`;
}

export function chunked(bytes: Uint8Array | string): Buffer {
  const body = Buffer.from(bytes as string);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
}

export const lastChunk = "0\r\n\r\n";

/** All events of a stream reply; throws if the reply is of another kind. */
export async function eventsOf(reply: UpstreamReply): Promise<SingleEvent[]> {
  if (reply.kind !== "stream") throw new Error(`not a stream: ${JSON.stringify(reply)}`);
  const events: SingleEvent[] = [];
  for await (const batch of valuesOf(reply.events)) events.push(...batch.flatMap(singly));
  return events;
}

type SingleEvent = Exclude<UpstreamEvent, ChunkRun>;

/** An event, or the chunks of a run one by one. */
function singly(event: UpstreamEvent): SingleEvent[] {
  return event.kind === "run" ? chunksOf(event) : [event];
}

function chunksOf({ events }: ChunkRun): ChunkEvent[] {
  return events
    .split("\n\n")
    .slice(0, -1)
    .map((event) => ({
      kind: "chunk",
      raw: event.slice("data: ".length),
      chunk: JSON.parse(event.slice("data: ".length)),
    }));
}

/** The values of a source. */
export async function* valuesOf<T>(source: Source<T>): AsyncGenerator<T> {
  for (let value = await nextOf(source); value !== undefined; value = await nextOf(source)) yield value;
}
