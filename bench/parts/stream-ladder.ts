/**
 * What each layer of a stream costs where it runs: proxies that have one layer more each, from one that sends on what it reads
 * to the whole gateway, beside the bare proxy. All streams get an event, all callers wait for theirs, and so on: microseconds of
 * processor time per event while no stream begins or ends, whatever else runs on the machine. Linux only.
 *
 * `bun bench/parts/stream-ladder.ts [--rung NAME …] [--streams 64] [--steps 60] [--warmup 300] [--rounds 10] [--pause 0] [--tree TREE …]`
 * With a pause (milliseconds between two events of a stream) the caches forget what the streams need, as they do in a gateway.
 * A tree is a checkout of this repository whose gateway is the rung `gateway`, by default this one.
 */
import { parseArgs } from "node:util";
import { openSse } from "#http/sse/sse-response.ts";
import { HttpAgent } from "#http-client/http-agent.ts";
import type { HttpExchange } from "#http-client/http-exchange.ts";
import type { TextReader } from "#http-client/response/text-reader.ts";
import { AnswerStream } from "#pipeline/respond/stream/answer-stream.ts";
import { StreamShaper } from "#pipeline/respond/stream/shape-stream.ts";
import { LightAbortController } from "#platform/abort.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { createAnswerGuard } from "#privacy/restore/answer-guard.ts";
import { upstreamClient } from "#upstream/client.ts";
import { SseReader } from "#upstream/stream/sse-reader.ts";
import { StreamValidator } from "#upstream/stream/stream-validator.ts";
import type { EventReceiver, EventStream } from "#upstream/upstream.ts";
import { timed } from "../support/counters.ts";
import { lowerQuartile } from "../support/quantiles.ts";
import { Servers } from "../support/servers.ts";

type Sink = ReadableStreamDirectController;
type Answer = (body: Uint8Array, url: string) => Promise<ReadableStream>;

const timers = timerWheel({ clock: systemClock });
const now = () => systemClock.monotonic();
const endless = {
  first_event: 60_000,
  idle: 60_000,
  idle_data: 60_000,
  total: 600_000,
  connect: 10_000,
  headers: 60_000,
};

/** A body of the direct type that `begin` is given the sink of. */
function direct(begin: (sink: Sink) => void): ReadableStream {
  return new ReadableStream({ type: "direct", pull: (sink) => begin(sink) });
}

function write(sink: Sink, piece: string | Uint8Array): void {
  sink.write(piece);
  void sink.flush();
}

/** A socket whose bytes are sent on, with the framing of the upstream's chunks and all. */
const socket: Answer = async (body, url) => {
  const { hostname, port, pathname } = new URL(`${url}/chat/completions`);
  const state: { sink: Sink | undefined; early: Uint8Array[]; headDone: boolean } = {
    sink: undefined,
    early: [],
    headDone: false,
  };
  const begun = Promise.withResolvers<void>();
  await Bun.connect<typeof state>({
    hostname,
    port: Number(port),
    data: state,
    socket: {
      open: (socket) => {
        socket.write(
          `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.byteLength}\r\n\r\n`,
        );
        socket.write(body);
      },
      data: ({ data }, bytes) => {
        if (!data.headDone) {
          data.headDone = true;
          begun.resolve();
          data.early.push(Uint8Array.from(bytes.subarray(bytes.indexOf("\r\n\r\n") + 4)));
        } else if (data.sink === undefined) data.early.push(Uint8Array.from(bytes));
        else write(data.sink, bytes);
      },
      close: ({ data }) => void data.sink?.close(),
    },
  });
  await begun.promise;
  return direct((sink) => {
    state.sink = sink;
    for (const bytes of state.early) if (bytes.length > 0) sink.write(bytes);
    void sink.flush();
  });
};

/** One process has one upstream. */
let agent: HttpAgent | undefined;
function post(body: Uint8Array, url: string): HttpExchange {
  agent ??= new HttpAgent({ url: `${url}/chat/completions`, now });
  return agent.post(agent.head({ "content-type": "application/json" }), [body], false, () => undefined);
}

/** Our connection and parser: the bytes of the body. */
const http: Answer = async (body, url) => {
  const exchange = post(body, url);
  let sink: Sink | undefined;
  const early: Uint8Array[] = [];
  exchange.onBody = (bytes: Buffer, from: number, to: number) => {
    if (sink === undefined) early.push(Uint8Array.from(bytes.subarray(from, to)));
    else write(sink, bytes.subarray(from, to));
  };
  exchange.onEnd = () => void sink?.close();
  await exchange.head();
  return direct((given) => {
    sink = given;
    for (const bytes of early) if (bytes.length > 0) sink.write(bytes);
    void sink.flush();
  });
};

function sendOn(reader: TextReader, take: (text: string) => string): ReadableStream {
  return direct((sink) =>
    reader.pull?.({
      onText: (text) => {
        write(sink, take(text));
        return true;
      },
      onEnd: () => void sink.close(),
      onError: () => void sink.close(),
    }),
  );
}

/** The exchange with its decoder: the text of the body. */
const text: Answer = async (body, url) => {
  const exchange = post(body, url);
  await exchange.head();
  return sendOn(exchange, (piece) => piece);
};

/** Event boundaries and templates. */
const events: Answer = async (body, url) => {
  const exchange = post(body, url);
  await exchange.head();
  const validator = new StreamValidator(500_000);
  let out = "";
  const sse = new SseReader(16_000_000, (piece, from, until) => {
    const run = validator.matchTemplate(piece, from, until);
    if (run === undefined) return from;
    out += run.events;
    return from + run.events.length;
  });
  const sink = (data: string, name: string) => {
    const validated = validator.validate(data, name);
    if (validated.kind === "chunk") out += `data: ${validated.raw}\n\n`;
    else if (validated.kind === "done") out += "data: [DONE]\n\n";
  };
  return sendOn(exchange, (piece) => {
    out = "";
    sse.push(piece, sink);
    return out;
  });
};

const decoder = new TextDecoder();

async function streamOf(body: Uint8Array, url: string): Promise<EventStream> {
  const client = upstreamClient({ baseUrl: url, clock: systemClock, timers });
  const call = {
    model: undefined as never, // the client does not look at it
    body: JSON.parse(decoder.decode(body)),
    stream: true,
    timeoutsMs: endless,
    requestId: "bench",
  };
  const reply = await client.send(call, new LightAbortController());
  if (reply.kind !== "stream") throw new Error(reply.kind);
  return reply.events;
}

/** The upstream's client: batches of events, with deadlines. */
const client: Answer = async (body, url) => {
  const stream = await streamOf(body, url);
  return direct((sink) => {
    const receiver: EventReceiver = {
      onEvents(batch) {
        let out = "";
        for (const event of batch) {
          if (event.kind === "run") out = out === "" ? event.events : out + event.events;
          else if (event.kind === "chunk") out += `data: ${event.raw}\n\n`;
          else if (event.kind === "end") out += "data: [DONE]\n\n";
        }
        write(sink, out);
        return true;
      },
      onOver: () => void sink.close(),
      onError: () => void sink.close(),
    };
    stream.pull?.(receiver);
  });
};

const guard = createAnswerGuard({ rule: "own_key", value: "bench-upstream-key-0123456789" });

async function answerOf(body: Uint8Array, url: string, guarded: boolean): Promise<AnswerStream> {
  const shaper = new StreamShaper({
    model: "deepseek/deepseek-v4-flash",
    identity: { id: "bench", created: 0 },
    wantsUsage: false,
    reasoning: "field",
    maxHeldCharacters: 1_000_000,
    ...(guarded && guard !== undefined ? { guard } : {}),
  });
  const nothing = () => undefined;
  return new AnswerStream({
    events: await streamOf(body, url),
    shaper,
    redactFailure: (failure) => failure,
    abort: nothing,
    ended: nothing,
  });
}

const shaped =
  (guarded: boolean): Answer =>
  async (body, url) => {
    const answer = await answerOf(body, url, guarded);
    return direct((sink) =>
      answer.pull({
        onText: (piece) => {
          write(sink, piece);
          return true;
        },
        onEnd: () => void sink.close(),
        onError: () => void sink.close(),
      }),
    );
  };

/** With what writes to the caller: all of a stream but the request before it. */
const whole: Answer = async (body, url) => {
  const stream = await answerOf(body, url, true);
  return openSse(stream, {
    timers,
    clock: systemClock,
    keepaliveMs: 15_000,
    writeStallMs: 60_000,
    onClose: () => undefined,
  }).body;
};

const rungs: { readonly [name: string]: Answer } = {
  socket,
  http,
  text,
  events,
  client,
  shaped: shaped(false),
  guarded: shaped(true),
  whole,
};

function serve(rung: string, url: string): void {
  const answer = rungs[rung];
  if (answer === undefined) throw new Error(`--rung ${rung}: one of ${Object.keys(rungs).join(", ")}`);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) =>
      new Response(await answer(await request.bytes(), url), { headers: { "content-type": "text/event-stream" } }),
  });
  console.log(`listening on http://127.0.0.1:${server.port}/v1`);
}

/** An upstream that answers with as many streams as are asked for, and sends one event on each of them when it is told to. */
class SteppedUpstream {
  readonly url: string;
  readonly #server: Bun.TCPSocketListener<undefined>;
  readonly #streams: Bun.Socket<undefined>[] = [];
  #sent = 0;

  constructor() {
    this.#server = Bun.listen<undefined>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket, bytes) => {
          // The end of a request's body: requests are small, and models are not asked for.
          if (!bytes.toString("latin1").includes('"stream":true')) return;
          this.#streams.push(socket);
          socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
          for (let event = 0; event < 3; event++) socket.write(chunked(eventOf(`begun ${event} `)));
        },
        close: () => undefined,
      },
    });
    this.url = `http://127.0.0.1:${this.#server.port}/v1`;
  }

  step(): void {
    const event = chunked(eventOf(words[this.#sent++ % words.length] ?? ""));
    for (const socket of this.#streams) socket.write(event);
  }

  end(): void {
    const last = chunk({ choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop" }] });
    for (const socket of this.#streams) socket.write(`${chunked(`${last}data: [DONE]\n\n`)}0\r\n\r\n`);
    this.#streams.length = 0;
  }

  stop(): void {
    this.#server.stop(true);
  }
}

const words = ["The ", "quick ", "brown ", "fox ", "jumps ", "over ", "a ", "lazy ", "dog", ".\\n"];
const envelope = { id: "gen-1-bench", provider: "Bench", model: "deepseek/deepseek-v4-flash", created: 1_700_000_000 };
const chunk = (rest: object) =>
  `data: ${JSON.stringify({ ...envelope, object: "chat.completion.chunk", ...rest })}\n\n`;
const template = chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "@" }, finish_reason: null }] });
const eventOf = (content: string) => template.replace("@", content);
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Callers that wait until each has got so many events. */
class Callers {
  #events = 0;
  #awaited = 0;
  #arrived: (() => void) | undefined;
  readonly #sockets: Bun.Socket<undefined>[] = [];

  async open(url: string, count: number): Promise<void> {
    const { hostname, port, pathname } = new URL(`${url}/chat/completions`);
    const messages = [{ role: "user", content: "Count to fifty." }];
    const body = JSON.stringify({ model: "smart-router-flash", stream: true, max_tokens: 256, messages });
    const request = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer bench-token-0123456789\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const all = this.until(count * 3);
    for (let caller = 0; caller < count; caller++) {
      const socket = await Bun.connect<undefined>({
        hostname,
        port: Number(port),
        socket: { data: (_, bytes) => this.#onData(bytes), error: () => undefined },
      });
      this.#sockets.push(socket);
      socket.write(request);
    }
    await all;
  }

  until(events: number): Promise<void> {
    this.#awaited += events;
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.end();
    this.#sockets.length = 0;
  }

  #onData(bytes: Buffer): void {
    for (let at = bytes.indexOf("data: {"); at >= 0; at = bytes.indexOf("data: {", at + 7)) this.#events++;
    if (this.#events >= this.#awaited) this.#arrived?.();
  }
}

/** Microseconds of processor time per event: of the main thread, of all threads. */
interface Cost {
  readonly main: number;
  readonly total: number;
}

async function measure(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      rung: { type: "string", multiple: true },
      streams: { type: "string", default: "64" },
      steps: { type: "string", default: "60" },
      warmup: { type: "string", default: "300" },
      rounds: { type: "string", default: "10" },
      pause: { type: "string", default: "0" },
      tree: { type: "string", multiple: true },
    },
  });
  const streams = Number(options.streams);
  const steps = Number(options.steps);
  const pauseMs = Number(options.pause);
  await using servers = new Servers();
  const upstream = new SteppedUpstream();
  const here = { url: upstream.url, pid: process.pid };
  const started = [{ name: "bare proxy", ...(await servers.proxy(here)), costs: [] as Cost[] }];
  for (const rung of options.rung ?? [...Object.keys(rungs), "gateway"]) {
    if (rung === "gateway") {
      for (const tree of options.tree ?? [undefined])
        started.push({ name: `gateway ${tree ?? ""}`, ...(await servers.gateway(here, tree)), costs: [] });
    } else {
      const script = await servers.script(import.meta.path, "--serve", rung, upstream.url);
      started.push({ name: rung, ...script, costs: [] });
    }
  }
  const take = async (callers: Callers, count: number) => {
    for (let step = 0; step < count; step++) {
      const arrived = callers.until(streams);
      upstream.step();
      await arrived;
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  };
  for (let round = 0; round <= Number(options.rounds); round++) {
    for (const { url, pid, costs } of started) {
      const callers = new Callers();
      await callers.open(url, streams);
      await take(callers, round === 0 ? Number(options.warmup) : 20);
      const { total, main } = await timed(pid, () => take(callers, steps));
      // The first round warms up.
      const per = streams * steps * 1_000;
      if (round > 0) costs.push({ main: main / per, total: total / per });
      upstream.end();
      await Bun.sleep(20);
      callers.close();
    }
  }
  upstream.stop();
  console.log(`${"".padEnd(28)}${["µs main", "total", "÷ bare"].map((head) => head.padStart(9)).join("")}`);
  const quartile = (costs: readonly Cost[], of: keyof Cost) => lowerQuartile(costs.map((cost) => cost[of]));
  const bare = quartile(started[0]?.costs ?? [], "total");
  for (const { name, costs } of started) {
    const total = quartile(costs, "total");
    const columns = [quartile(costs, "main"), total, total / bare].map((value) => value.toFixed(2).padStart(9));
    console.log(`${name.slice(-28).padEnd(28)}${columns.join("")}`);
  }
}

const [command, rung = "", url = ""] = process.argv.slice(2);
if (command === "--serve") serve(rung, url);
else await measure();
