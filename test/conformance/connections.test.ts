import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { chunk, streams } from "#simulator/behaviours.ts";
import { eventually, start, type TestGateway, token } from "../harness/gateway.ts";

/** What a caller's connection goes through, seen from a raw socket. */
class RawCaller {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor({ url }: TestGateway) {
    this.socket = connect(Number(new URL(url).port), "127.0.0.1");
    this.socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.closed = true;
    });
  }

  send(bytes: string): this {
    this.socket.write(bytes);
    return this;
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
  }
}

const common = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`;
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\n${common}${more}\r\n`;
const post = (path: string, body: object, more = "") => {
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  return `${head}${more}\r\n${text}`;
};
const ask = { model: "smart-router-flash", messages: [{ role: "user", content: "hello" }] };
const chat = (more: object = {}, headers = "") => post("/v1/chat/completions", { ...ask, ...more }, headers);
const dryRun = post("/v1/route/decision", { task: { task_id: "t", instruction: "x" } });

describe("an idle connection is closed", () => {
  const rows: [what: string, request: string, end: string][] = [
    ["after another answer", get("/livez"), "}"],
    ["after a whole answer", chat(), "}"],
    ["after a stream", chat({ stream: true }), "[DONE]"],
    ["after a refusal", chat({ model: "smart-router-free", metadata: { routing: "free" } }), "}"],
    ["after an invalid request", chat({ n: 0 }), "}"],
    ["after a dry run", dryRun, "}"],
  ];
  for (const [what, request, end] of rows) {
    test.concurrent(what, async () => {
      await using gateway = await start({ overrides: { idleSeconds: 1 } });
      const caller = new RawCaller(gateway).send(request);
      await eventually(() => caller.closed);
      expect(caller.text).toContain(end);
    });
  }

  test.concurrent("but not while its answer is waited for, however long that takes", async () => {
    await using gateway = await start({ overrides: { idleSeconds: 1 } });
    const gate = Promise.withResolvers<void>();
    const events = [chunk({ content: "a" }), chunk({}, "stop")];
    gateway.upstream.next(streams({ events, gate: () => gate.promise }));
    const caller = new RawCaller(gateway).send(chat({ stream: true }));
    // Another connection, idle for a shorter time, tells when the runtime has looked at both.
    await eventually(() => gateway.upstream.received() === 1);
    const idle = new RawCaller(gateway).send(get("/livez"));
    await eventually(() => idle.closed);
    expect(caller.closed).toBe(false);
    gate.resolve();
    await eventually(() => caller.text.includes("[DONE]"));
  });
});
