import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { eventually, start, type TestGateway, token } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

const common = `Host: localhost\r\nAuthorization: Bearer ${token}\r\n`;
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\n${common}${more}\r\n`;
const post = (path: string, body: object, more = "") => {
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  return `${head}${more}\r\n${text}`;
};
const body = { model: "smart-router-flash", messages: [{ role: "user", content: "hello" }] };
const chat = (more: object = {}, headers = "") => post("/v1/chat/completions", { ...body, ...more }, headers);
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
  test("after each kind of answer", async () => {
    await using gateway = await start({ overrides: { idleSeconds: 1 } });
    const callers = rows.map(([what, request, end]) => ({ what, end, caller: new RawCaller(gateway).send(request) }));
    for (const { what, end, caller } of callers) {
      await eventually(() => caller.closed);
      expect([what, caller.text.includes(end)]).toEqual([what, true]);
    }
  });

  test("but not while its answer is pending, however long that takes", async () => {
    await using gateway = await start({ overrides: { idleSeconds: 1 } });
    const gate = Promise.withResolvers<void>();
    const events = [chunk({ content: "a" }), chunk({}, "stop")];
    gateway.upstream.next(streams({ events, gate: () => gate.promise }));
    const caller = new RawCaller(gateway).send(chat({ stream: true }));
    // Another connection, idle for a shorter time, shows when the runtime has checked both.
    await eventually(() => gateway.upstream.received() === 1);
    const idle = new RawCaller(gateway).send(get("/livez"));
    await eventually(() => idle.closed);
    expect(caller.closed).toBe(false);
    gate.resolve();
    await eventually(() => caller.text.includes("[DONE]"));
  });
});

describe("pipelined requests", () => {
  const pairs: [what: string, first: string, second: string][] = [
    ["two GETs", get("/livez"), get("/v1/models")],
    ["two POSTs", dryRun, dryRun],
    ["a GET and a POST", get("/healthz"), dryRun],
    ["a POST and a GET", dryRun, get("/livez")],
    ["a refused and an accepted POST", chat({ n: 0 }), dryRun],
    ["a POST that nothing takes and a chat request", post("/v1/nothing", {}), chat()],
  ];
  for (const [what, first, second] of pairs) {
    test(`${what} are answered in order, in one segment or split anywhere`, async () => {
      const alone = async (request: string) => {
        const caller = new RawCaller(gateway).send(request);
        await eventually(() => caller.statuses.length === 1);
        caller.socket.destroy();
        return caller.statuses;
      };
      const wanted = [...(await alone(first)), ...(await alone(second))];
      const both = first + second;
      const cuts = Array.from({ length: Math.ceil(both.length / 5) }, (_, at) => at * 5);
      const answered = cuts.map(async (cut) => {
        const caller = new RawCaller(gateway).send(both.slice(0, cut));
        // The second part is another segment: the first has been read when this has been answered.
        await alone(get("/livez"));
        caller.send(both.slice(cut));
        await eventually(() => caller.statuses.length === 2 || caller.closed);
        caller.socket.destroy();
        return caller.statuses;
      });
      expect(await Promise.all(answered)).toEqual(cuts.map(() => wanted));
    });
  }

  for (const stream of [false, true]) {
    test(`behind a ${stream ? "streamed" : "whole"} chat answer close the connection; no answers are mixed up, and the call is settled`, async () => {
      await using gateway = await start();
      const caller = new RawCaller(gateway).send(chat({ stream }) + chat({ stream }));
      await eventually(() => caller.closed);
      // The runtime closes the connection; the second request is not reported to the gateway.
      expect(caller.text).toBe("");
      await eventually(() => gateway.gateway.http.streams.count === 0 && gateway.upstream.unfinished() === 0);
      expect(gateway.upstream.received()).toBeLessThanOrEqual(1);
      const { held } = await gateway.ledger();
      expect(held).toBe(0);
    });
  }
});

describe("`Connection: close` of a caller is honoured", () => {
  const rows: [what: string, request: string, end: string][] = [
    ["by a whole answer", chat({}, "Connection: close\r\n"), "}"],
    ["by a stream", chat({ stream: true }, "Connection: close\r\n"), "[DONE]"],
    ["by a refusal", chat({ n: 0 }, "Connection: close\r\n"), "}"],
    ["by a GET", get("/livez", "Connection: close\r\n"), "}"],
  ];
  test.each(rows)("%s", async (_, request, end) => {
    const begun = performance.now();
    const caller = new RawCaller(gateway).send(request);
    await eventually(() => caller.closed);
    expect(caller.text).toContain(end);
    expect(caller.text.toLowerCase()).toContain("\r\nconnection: close\r\n");
    // Not because of the idle timeout.
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});
