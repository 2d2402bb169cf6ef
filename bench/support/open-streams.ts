import { connect, type Socket } from "node:net";
import { join } from "node:path";

/** Streams that stay open until their upstream continues: for measuring the cost of an open stream. */

/** One caller on a raw socket; counts events as they arrive. */
export class StreamCaller {
  events = 0;
  status = "";
  #tail = "";
  readonly #socket: Socket;
  readonly closed: Promise<void>;

  constructor(url: URL, request: string, onFirst: () => void) {
    this.#socket = connect({ host: url.hostname, port: Number(url.port) });
    this.#socket.on("connect", () => this.#socket.write(request));
    this.#socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.#socket.on("close", () => resolve()));
    this.#socket.on("data", (bytes: Buffer) => {
      const text = this.#tail + bytes.toString("latin1");
      if (this.status === "") this.status = text.slice(9, 12);
      let found = 0;
      for (let at = text.indexOf("data: {"); at >= 0; at = text.indexOf("data: {", at + 7)) found += 1;
      if (this.events === 0 && (found > 0 || this.status !== "200")) onFirst();
      this.events += found;
      // Long enough to find a marker that two packets share, too short to count one twice.
      this.#tail = text.slice(-6);
    });
  }

  hangUp(): void {
    this.#socket.resetAndDestroy();
  }
}

const body = JSON.stringify({
  model: "smart-router-flash",
  stream: true,
  max_tokens: 64,
  messages: [{ role: "user", content: "Count to fifty." }],
});

export interface OpenStreams {
  readonly callers: StreamCaller[];
  /** How often a request was refused with 503 and sent again. */
  readonly shed: number;
}

/**
 * Opens so many streams, a few dozen at a time, each up to its first event. A refused request (503) is sent again. After
 * `untilMs` milliseconds no more are opened. @throws if an answer has another status.
 */
export async function openStreams(
  url: string,
  count: number,
  { headers = [], untilMs }: { readonly headers?: readonly string[]; readonly untilMs: number },
): Promise<OpenStreams> {
  const target = new URL(`${url}/chat/completions`);
  const request =
    `POST ${target.pathname} HTTP/1.1\r\nHost: ${target.host}\r\nAuthorization: Bearer bench-token-0123456789\r\n` +
    `${headers.map((header) => `${header}\r\n`).join("")}` +
    `Content-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const callers: StreamCaller[] = [];
  let over = false;
  const end = Number.isFinite(untilMs) ? Bun.sleep(untilMs) : new Promise<void>(() => {});
  end.then(() => {
    over = true;
  });
  let shed = 0;
  const slots = Array.from({ length: 64 }, async () => {
    while (callers.length < count && !over) {
      const first = Promise.withResolvers<void>();
      const caller = new StreamCaller(target, request, first.resolve);
      callers.push(caller);
      await Promise.race([first.promise, caller.closed, end]);
      if (caller.status === "200" && (caller.events > 0 || !over)) continue;
      if (over) {
        callers.splice(callers.indexOf(caller), 1);
        caller.hangUp();
        return;
      }
      if (caller.status !== "503") throw new Error(`a caller got ${caller.status || "no answer"}`);
      shed += 1;
      callers.splice(callers.indexOf(caller), 1);
      caller.hangUp();
      await Bun.sleep(200);
    }
  });
  await Promise.all(slots);
  return { callers, shed };
}

/** The upstream of `paced-upstream.ts`, in a process of its own. It holds its streams after their first event until `go`. */
export async function startPacedUpstream(events: number, intervalMs: number) {
  const url = Promise.withResolvers<string>();
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "paced-upstream.ts"), String(events), String(intervalMs)],
    {
      stdio: ["ignore", "inherit", "inherit"],
      ipc(message: { url?: string }) {
        if (message.url !== undefined) url.resolve(message.url);
      },
    },
  );
  return {
    url: await url.promise,
    pid: child.pid,
    go: () => child.send("go"),
    hold: () => child.send("hold"),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
