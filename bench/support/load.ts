/**
 * A load generator on raw sockets, cheap enough to share a core with the upstream: each connection sends the next request
 * when the last answer is complete. Prints one line of JSON. Usage:
 * `bun bench/support/load.ts URL WORKLOAD CONNECTIONS SECONDS [REQUESTS [SEED [SKIPPED [HEADER …]]]]`; it ends with the time or the
 * requests, whichever first. SKIPPED requests of each connection are left out at the start, because an earlier run has sent them.
 * A HEADER (`name: value`) is sent with each request.
 */
import { connect } from "node:net";
import { workloads } from "./workloads.ts";

const [
  target = "",
  name = "answers",
  connections = "32",
  seconds = "3",
  requests,
  seed = "seed",
  skipped = "0",
  ...more
] = process.argv.slice(2);
const moreHeaders = more.map((header) => `${header}\r\n`).join("");
const workload = workloads[name];
if (workload === undefined) throw new Error(`workload: one of ${Object.keys(workloads).join(", ")}`);
let left = requests === undefined ? Number.POSITIVE_INFINITY : Number(requests);
const url = new URL(`${target}${workload.path ?? "/chat/completions"}`);

function requestOf(body: string): Buffer {
  return Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer bench-token-0123456789\r\n` +
      `${moreHeaders}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const latencies: number[] = [];
const statuses: { [status: string]: number } = {};
let firstProblem: string | undefined;
const endsAt = performance.now() + Number(seconds) * 1000;
const startedAt = performance.now();

/** The length of an answer in bytes, once its head has arrived; "chunked" if only its end shows it. */
function extent(text: string): number | "chunked" | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1];
  return length === undefined ? "chunked" : headEnd + 4 + Number(length);
}

function problemIn(head: string, redactions: number): string | undefined {
  if (head.slice(9, 12) !== "200") return head.slice(0, 1_000);
  const redacted = /\r\nx-smart-gateway-redactions: *(\d+)/i.exec(head)?.[1];
  if (redacted === undefined || Number(redacted) === redactions) return undefined;
  return `${redacted} redactions where ${redactions} were expected`;
}

function keepAsking({ bodies, redactions }: typeof workload & object, connection: number): Promise<void> {
  const next = bodies(seed, connection);
  for (let count = 0; count < Number(skipped); count++) next.next();
  let last = "";
  let request: Buffer = Buffer.alloc(0);
  const prepare = () => {
    const body = next.next().value;
    if (body !== last) request = requestOf(body);
    last = body;
  };
  return new Promise((resolve) => {
    const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    let head = "";
    let size: number | "chunked" | undefined;
    let received = 0;
    let sentAt = 0;
    let asking = false;
    const ask = () => {
      asking = true;
      left -= 1;
      head = "";
      size = undefined;
      received = 0;
      prepare();
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on("connect", ask);
    socket.on("data", (bytes: Buffer) => {
      received += bytes.length;
      if (size === undefined) {
        head += bytes.toString("latin1");
        size = extent(head);
      }
      const whole =
        size === "chunked"
          ? bytes.toString("latin1", Math.max(0, bytes.length - 5)) === "0\r\n\r\n"
          : received === size;
      if (!whole) return;
      asking = false;
      const now = performance.now();
      latencies.push(now - sentAt);
      const status = head.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      firstProblem ??= problemIn(head, redactions);
      if (now < endsAt && left > 0) ask();
      else socket.end();
    });
    socket.on("error", (error) => {
      firstProblem ??= error.message;
    });
    socket.on("close", () => {
      if (asking) firstProblem ??= "a connection was closed before its answer was whole";
      resolve();
    });
  });
}

await Promise.all(Array.from({ length: Number(connections) }, (_, index) => keepAsking(workload, index)));
const elapsed = (performance.now() - startedAt) / 1000;
latencies.sort((a, b) => a - b);
const percentile = (share: number) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
console.log(
  JSON.stringify({
    answers: latencies.length,
    perSecond: latencies.length / elapsed,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    statuses,
    firstProblem,
  }),
);
