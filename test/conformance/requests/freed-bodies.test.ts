import { afterEach, beforeEach, expect, test } from "bun:test";
import { fails } from "#simulator/behaviours.ts";
import { chunk, streams, writesRaw } from "#simulator/testing/scripted.ts";
import { start, type TestGateway } from "../../harness/gateway.ts";
import { readStream } from "../../harness/sse.ts";

const text = "const total = orders.map((order) => order.price).reduce(add, 0);\n".repeat(1_900);
const events = [chunk({ content: "a" }), chunk({}, "stop")];

/** The bodies that the gateway has read. */
const read: Uint8Array[] = [];
const original = Request.prototype.bytes;
async function recorded(this: Request) {
  const body = await original.call(this);
  read.push(body);
  return body;
}
beforeEach(() => {
  read.length = 0;
  Object.assign(Request.prototype, { bytes: recorded });
});
afterEach(() => void Object.assign(Request.prototype, { bytes: original }));

/** Lengths of the large bodies that are still there. */
const kept = () => read.map(({ length }) => length).filter((length) => length > text.length);
const ask = (gateway: TestGateway, body: object) =>
  gateway.chat({ messages: [{ role: "user", content: text }], ...body });

test("a large body is freed with its whole answer, when its stream begins, and when it is refused", async () => {
  await using gateway = await start();
  expect((await ask(gateway, {})).status).toBe(200);
  gateway.upstream.next(streams({ events }));
  const streamed = await ask(gateway, { stream: true });
  expect(kept()).toEqual([]);
  expect((await readStream(streamed)).done).toBe(true);
  gateway.upstream.next(fails(400, "no"));
  expect((await ask(gateway, {})).status).toBeGreaterThanOrEqual(400);
  expect(read.length).toBeGreaterThanOrEqual(3);
  expect(kept()).toEqual([]);
});

test("a large body is sent whole to the next model after a failure", async () => {
  await using gateway = await start();
  gateway.upstream.next(fails(503, "overloaded"));
  expect((await ask(gateway, {})).status).toBe(200);
  const sent = gateway.upstream.requests.slice(-2);
  expect(sent.map(({ body }) => (body as { messages: { content: string }[] }).messages[0]?.content)).toEqual([
    text,
    text,
  ]);
});

test("a large body is kept while its model is silent, though the answer has begun", async () => {
  const timeouts = { first_event: 100, idle: 100 };
  await using patient = await start({ policy: { stream: { keepalive_ms: 30 }, upstream: { timeouts_ms: timeouts } } });
  patient.upstream.next(writesRaw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", "silence"));
  const response = await ask(patient, { stream: true });
  expect(response.status).toBe(200);
  expect(kept()).toHaveLength(1);
  expect((await readStream(response)).done).toBe(true);
});
