import { expect, test } from "bun:test";
import { manualTime } from "#platform/testing/manual-time.ts";
import { openEventStream } from "./event-stream.ts";

interface Ping {
  readonly kind: "ping";
  readonly n: number;
}

/** A stream that is read through a socket. */
async function open() {
  const time = manualTime();
  const { signal } = new AbortController();
  const stream = openEventStream<Ping>(time.timers, signal, () => {});
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(stream.body) });
  return { time, stream, read: () => fetch(server.url), server };
}

test("events that wait for a slow caller are bounded, and the sender is notified", async () => {
  const { stream, server } = await open();
  const taken = Array.from({ length: 600 }, (_, n) => stream.send({ kind: "ping", n }));
  expect(taken.filter((one) => one).length).toBe(500);
  expect(taken.indexOf(false)).toBe(500);
  await server.stop(true);
});

test("an idle stream sends a comment every ten seconds", async () => {
  const { time, stream, read, server } = await open();
  stream.send({ kind: "ping", n: 1 });
  const reader = (await read()).body?.getReader();
  const next = async () => new TextDecoder().decode((await reader?.read())?.value);
  expect(await next()).toContain('"n":1');
  while (time.pending === 0) await new Promise((resolve) => setImmediate(resolve));
  time.advance(10_000);
  expect(await next()).toBe(": keep-alive\n\n");
  await server.stop(true);
});
