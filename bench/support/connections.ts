import { connect } from "node:net";
import { type Workload, workloads } from "./workloads.ts";

export interface LoadOptions {
  /** Up to and including `/v1`. */
  readonly target: string;
  /** One of `workloads`. */
  readonly workload: string;
  readonly connections: number;
  readonly seed?: string;
  /** Requests of each connection that are left out at the start, because an earlier run has sent them. */
  readonly skipped?: number;
  /** `name: value` each, sent with each request. */
  readonly headers?: readonly string[];
}

/** What a run of requests got. */
export interface LoadResult {
  /** Milliseconds, in the order of the answers. */
  readonly latencies: readonly number[];
  readonly statuses: { readonly [status: string]: number };
  readonly firstProblem?: string;
}

interface Run {
  left: number;
  readonly endsAt: number;
  readonly latencies: number[];
  readonly statuses: { [status: string]: number };
  firstProblem?: string;
}

/** Connections that ask on raw sockets, cheap enough to share a core with the upstream. Each asks again when its answer is complete. */
export class Connections {
  readonly #all: readonly Connection[];

  constructor({ target, workload: name, connections, seed = "seed", skipped = 0, headers = [] }: LoadOptions) {
    const workload = workloads[name];
    if (workload === undefined) throw new Error(`workload: one of ${Object.keys(workloads).join(", ")}`);
    const url = new URL(`${target}${workload.path ?? "/chat/completions"}`);
    const moreHeaders = headers.map((header) => `${header}\r\n`).join("");
    this.#all = Array.from({ length: connections }, (_, index) => {
      const bodies = workload.bodies(seed, index);
      for (let count = 0; count < skipped; count++) bodies.next();
      return new Connection(url, moreHeaders, bodies, workload.redactions);
    });
  }

  /** Sends so many requests over all connections, until the time is over (milliseconds); each connection sends one at least. */
  async send(requests: number, forMs: number): Promise<LoadResult> {
    const run: Run = { left: requests, endsAt: performance.now() + forMs, latencies: [], statuses: {} };
    await Promise.all(this.#all.map((connection) => connection.keepAsking(run)));
    return run;
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }
}

class Connection {
  readonly #url: URL;
  readonly #moreHeaders: string;
  readonly #bodies: ReturnType<Workload["bodies"]>;
  readonly #redactions: number;
  readonly #socket;
  #last = "";
  #request: Buffer = Buffer.alloc(0);
  #run: Run | undefined;
  #done = () => {};
  #closed = false;
  #head = "";
  #size: number | "chunked" | undefined;
  #received = 0;
  #sentAt = 0;

  constructor(url: URL, moreHeaders: string, bodies: ReturnType<Workload["bodies"]>, redactions: number) {
    this.#url = url;
    this.#moreHeaders = moreHeaders;
    this.#bodies = bodies;
    this.#redactions = redactions;
    this.#socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    this.#socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    this.#socket.on("error", (error) => this.#fail(error.message));
    this.#socket.on("close", () => {
      this.#closed = true;
      this.#fail("a connection was closed before its answer was whole");
    });
  }

  keepAsking(run: Run): Promise<void> {
    return new Promise((resolve) => {
      this.#run = run;
      this.#done = resolve;
      if (this.#closed) this.#fail("a connection was closed");
      else this.#ask(run);
    });
  }

  close(): void {
    this.#socket.end();
  }

  #ask(run: Run): void {
    run.left -= 1;
    this.#head = "";
    this.#size = undefined;
    this.#received = 0;
    const body = this.#bodies.next().value;
    if (body !== this.#last) this.#request = this.#requestOf(body);
    this.#last = body;
    this.#sentAt = performance.now();
    this.#socket.write(this.#request);
  }

  #receive(bytes: Buffer): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#received += bytes.length;
    if (this.#size === undefined) {
      this.#head += bytes.toString("latin1");
      this.#size = extent(this.#head);
    }
    const whole =
      this.#size === "chunked"
        ? bytes.toString("latin1", Math.max(0, bytes.length - 5)) === "0\r\n\r\n"
        : this.#received === this.#size;
    if (!whole) return;
    const now = performance.now();
    run.latencies.push(now - this.#sentAt);
    const status = this.#head.slice(9, 12);
    run.statuses[status] = (run.statuses[status] ?? 0) + 1;
    const problem = problemIn(this.#head, this.#redactions);
    if (problem !== undefined) run.firstProblem ??= problem;
    if (now < run.endsAt && run.left > 0) this.#ask(run);
    else this.#end();
  }

  #fail(problem: string): void {
    if (this.#run !== undefined) this.#run.firstProblem ??= problem;
    this.#end();
  }

  #end(): void {
    this.#run = undefined;
    this.#done();
  }

  #requestOf(body: string): Buffer {
    return Buffer.from(
      `POST ${this.#url.pathname} HTTP/1.1\r\nHost: ${this.#url.host}\r\nAuthorization: Bearer bench-token-0123456789\r\n` +
        `${this.#moreHeaders}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
}

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
