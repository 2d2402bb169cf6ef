/**
 * In how many system calls the runtime's server sends the head of an answer: one, if all is well. Each answer is made in another
 * way. Needs Linux and strace.
 *
 * `bun bench/parts/split-head.ts [HEADERS]`; to ask another version of the runtime, run it with that version.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const event = "data: x\n\n";
const pauseMs = 20;

const direct = (waitMs: number) =>
  new ReadableStream({
    type: "direct",
    async pull(controller: ReadableStreamDirectController) {
      await Bun.sleep(waitMs);
      controller.write(event);
      await controller.flush();
      await Bun.sleep(pauseMs);
      controller.write(event);
      controller.close();
    },
  });

const queued = () =>
  new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(event));
      await Bun.sleep(pauseMs);
      controller.close();
    },
  });

/** A way to make an answer: its body, and the delay before it. */
const ways: { readonly [name: string]: { readonly waitMs: number; readonly body: () => string | ReadableStream } } = {
  "text, at once": { waitMs: 0, body: () => event },
  "text, later": { waitMs: pauseMs, body: () => event },
  "direct stream, at once": { waitMs: 0, body: () => direct(0) },
  "direct stream, later": { waitMs: pauseMs, body: () => direct(0) },
  "direct stream, first event later": { waitMs: 0, body: () => direct(pauseMs) },
  "queued stream, at once": { waitMs: 0, body: queued },
  "queued stream, later": { waitMs: pauseMs, body: queued },
};

function serve(way: string, headerCount: number, date: boolean): void {
  const { waitMs, body } = ways[way] ?? { waitMs: 0, body: () => event };
  const headers: { [name: string]: string } = { "content-type": "text/event-stream" };
  for (let count = 1; count < headerCount; count++) headers[`x-header-${count}`] = `value ${count}`;
  if (date) headers["date"] = new Date().toUTCString();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch() {
      if (waitMs > 0) await Bun.sleep(waitMs);
      return new Response(body(), { headers });
    },
  });
  console.log(server.port);
}

function answerOf(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    socket.on("data", () => undefined);
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
  });
}

/** The sends of one answer up to the end of its head; undefined if strace saw none. */
async function sendsOfHead(way: string, headerCount: number, date: boolean, scratch: string) {
  const arguments_ = ["--serve", way, String(headerCount), date ? "date" : ""];
  const server = Bun.spawn([process.execPath, import.meta.path, ...arguments_], { stdout: "pipe", stderr: "inherit" });
  const { value } = await server.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  const trace = join(scratch, "trace");
  const calls = "trace=sendto,sendmsg,write,writev";
  const tracer = Bun.spawn(["strace", "-f", "-s", "16384", "-e", calls, "-o", trace, "-p", String(server.pid)], {
    stderr: "pipe",
  });
  await tracer.stderr.getReader().read(); // strace prints that it is attached
  await answerOf(port);
  tracer.kill("SIGINT");
  await tracer.exited;
  server.kill();
  await server.exited;
  const lines = readFileSync(trace, "utf8").split("\n");
  const first = lines.findIndex((line) => line.includes('"HTTP/1.1 200'));
  const end = lines.findIndex((line, index) => index >= first && line.includes("\\r\\n\\r\\n"));
  return first < 0 ? undefined : lines.slice(first, end + 1).filter((line) => /send|write/.test(line)).length;
}

const [command, ...rest] = process.argv.slice(2);
if (command === "--serve") {
  serve(rest[0] ?? "", Number(rest[1]), rest[2] === "date");
} else {
  if (Bun.which("strace") === null) throw new Error("needs strace");
  const headerCount = Number(command ?? 10);
  const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-split-head-"));
  console.log(`Bun ${Bun.version}, ${headerCount} headers: sends of the head, and with a date header of our own`);
  for (const way of Object.keys(ways)) {
    const counts = [];
    for (const date of [false, true]) counts.push((await sendsOfHead(way, headerCount, date, scratch)) ?? "none seen");
    console.log(`${way.padEnd(36)}${counts.join(", ")}`);
  }
  rmSync(scratch, { recursive: true, force: true });
}
