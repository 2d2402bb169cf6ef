/**
 * What the runtime's two HTTP servers do with a request that arrives before the answer to the one before it, and what each costs
 * as a bare proxy: microseconds of CPU time, all threads, lower quartile of the rounds.
 *
 * `bun bench/parts/pipelining.ts [--requests 6000] [--rounds 6]`
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { parseArgs } from "node:util";
import { lowerQuartile } from "../support/quantiles.ts";

const { values: options } = parseArgs({
  options: {
    requests: { type: "string", default: "6000" },
    rounds: { type: "string", default: "6" },
    server: { type: "string" },
    upstream: { type: "string", default: "" },
  },
});

const events = 150;
const answer = JSON.stringify({ choices: [{ message: { role: "assistant", content: "word ".repeat(100) } }] });
const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "word " } }] })}\n\n`;

/** `POST /whole` answers at once, `POST /stream` in events, one in each turn of the event loop. */
function startUpstream(): string {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      await request.bytes();
      if (!request.url.endsWith("/stream")) return new Response(answer);
      const pull = async (sink: ReadableStreamDirectController) => {
        for (let count = 0; count < events; count++) {
          void sink.write(event);
          void sink.flush();
          await new Promise((resolve) => setImmediate(resolve));
        }
        sink.close();
      };
      return new Response(new ReadableStream({ type: "direct", pull }));
    },
  });
  return server.url.origin;
}

function startBunServe(): string {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname;
      const response = await fetch(options.upstream + path, { method: "POST", body: await request.bytes() });
      if (path !== "/stream") return new Response(await response.text());
      const pull = async (sink: ReadableStreamDirectController) => {
        for await (const bytes of response.body ?? []) {
          void sink.write(bytes);
          void sink.flush();
        }
        sink.close();
      };
      return new Response(new ReadableStream({ type: "direct", pull }));
    },
  });
  return server.url.origin;
}

function startNodeHttp(): Promise<string> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (bytes) => parts.push(bytes));
    request.on("end", async () => {
      const body = Buffer.concat(parts);
      const given = await fetch(`${options.upstream}${request.url}`, { method: "POST", body });
      response.writeHead(200);
      if (request.url === "/stream") for await (const bytes of given.body ?? []) response.write(bytes);
      response.end(request.url === "/stream" ? undefined : await given.text());
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("the server has no port");
      resolve(`http://127.0.0.1:${address.port}`);
    });
  });
}

const starters: { readonly [name: string]: () => string | Promise<string> } = {
  upstream: startUpstream,
  "Bun.serve": startBunServe,
  "node:http": startNodeHttp,
};
const starter = options.server === undefined ? undefined : starters[options.server];
if (starter !== undefined) console.log(await starter());
else await measure();

async function startProcess(server: string, upstream = ""): Promise<{ url: string; pid: number; kill: () => void }> {
  const command = [process.execPath, import.meta.path, "--server", server, "--upstream", upstream];
  const child = Bun.spawn(command, { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  return { url: new TextDecoder().decode(value).trim(), pid: child.pid, kill: () => child.kill() };
}

function requestText(path: string): string {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(500) }] });
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** The bytes that are received for several requests sent in one segment. */
function pipelined(url: string, path: string, count: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    const end = (how: string) => resolve(`${text.split("HTTP/1.1 200").length - 1} answers, ${how}`);
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.on("close", () => end("closed"));
    socket.setTimeout(1_000, () => {
      end("open");
      socket.destroy();
    });
    socket.write(requestText(path).repeat(count));
  });
}

/** Sends this many requests over eight connections, each after the answer to the previous one. */
async function load(url: string, path: string, requests: number): Promise<void> {
  let left = requests;
  const request = requestText(path);
  const caller = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      let tail = "";
      const next = () => {
        if (left-- > 0) socket.write(request);
        else {
          socket.destroy();
          resolve();
        }
      };
      socket.on("data", (bytes) => {
        tail = (tail + bytes.toString("latin1")).slice(-8);
        if (tail.endsWith("\r\n0\r\n\r\n") || tail.endsWith("}]}")) next();
      });
      socket.on("error", reject);
      next();
    });
  await Promise.all(Array.from({ length: 8 }, caller));
}

/** CPU time of a process so far, in microseconds (Linux). */
function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

async function measure(): Promise<void> {
  const upstream = await startProcess("upstream");
  const servers = new Map<string, Awaited<ReturnType<typeof startProcess>>>();
  for (const name of ["Bun.serve", "node:http"]) servers.set(name, await startProcess(name, upstream.url));
  for (const [name, { url }] of servers) {
    for (const path of ["/whole", "/stream"]) {
      console.log(`${name} ${path}: two requests in one segment: ${await pipelined(url, path, 2)}`);
    }
  }
  const requests = Number(options.requests);
  const rows = [
    { path: "/whole", requests, warm: 3 * requests, per: 1, unit: "request" },
    { path: "/stream", requests: requests / 30, warm: requests / 10, per: events, unit: "event" },
  ];
  for (const { path, requests: count, warm, per, unit } of rows) {
    for (const { url } of servers.values()) await load(url, path, warm);
    const figures = new Map([...servers.keys()].map((name): [string, number[]] => [name, []]));
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const [name, { url, pid }] of servers) {
        const before = cpuTime(pid);
        await load(url, path, count);
        figures.get(name)?.push((cpuTime(pid) - before) / count / per);
      }
    }
    for (const [name, all] of figures) {
      console.log(`${name} ${path}: ${lowerQuartile(all).toFixed(1)} µs per ${unit}`);
    }
  }
  for (const { kill } of [...servers.values(), upstream]) kill();
}
