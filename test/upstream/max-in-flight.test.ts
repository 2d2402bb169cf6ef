import { expect, test } from "bun:test";
import { completes, fails } from "#simulator/behaviours.ts";
import { after, chunk, streams } from "#simulator/testing/scripted.ts";
import { eventually, start, upstreamIds } from "../harness/gateway.ts";
import { readStream } from "../harness/sse.ts";

const flash = upstreamIds["vendor_v4_flash"];
const limited = { vendor_v4_flash: { max_in_flight: 2 } };

test("further calls wait, hold no money meanwhile, and are seen in the metrics; streams count until their end", async () => {
  const gate = Promise.withResolvers<void>();
  await using gateway = await start({ models: limited });
  const held = streams({
    events: [chunk({ content: "a" }), chunk({}, "stop")],
    gate: (at) => (at === 1 ? gate.promise : undefined),
  });
  gateway.upstream.next(held, after(gate.promise, completes({ text: "b" })));
  const first = await gateway.chat({ stream: true });
  const others = [gateway.chat(), gateway.chat(), gateway.chat()];
  const metrics = async () => (await gateway.get("/metrics")).text();
  const waits = 'smart_gateway_calls_waiting{model="vendor_v4_flash"} 2';
  await eventually(async () => (await metrics()).includes(waits));
  expect(await metrics()).toContain('smart_gateway_calls_in_flight{model="vendor_v4_flash"} 2');
  await eventually(() => gateway.upstream.received() === 2);
  expect(await metrics()).toContain('smart_gateway_reservations_total{answer="held"} 2');
  gate.resolve();
  expect((await readStream(first)).done).toBe(true);
  for (const other of others) expect((await other).headers.get("x-smart-gateway-answered-by")).toBe("vendor_v4_flash");
  await eventually(async () => (await metrics()).includes('smart_gateway_calls_in_flight{model="vendor_v4_flash"} 0'));
});

test("who has waited too long is answered by the next model; failed calls give their places back", async () => {
  const gate = Promise.withResolvers<void>();
  await using gateway = await start({ models: limited, policy: { upstream: { queue_ms: 30 } } });
  for (let call = 0; call < 6; call++) gateway.upstream.next(fails(400));
  for (let call = 0; call < 6; call++) expect((await gateway.chat()).status).toBe(500);
  gateway.upstream.follow(({ body }) => (body?.["model"] === flash ? after(gate.promise, completes()) : undefined));
  const held = [gateway.chat(), gateway.chat()];
  await eventually(() => gateway.upstream.received() === 8);
  expect((await gateway.chat()).headers.get("x-smart-gateway-answered-by")).toBe("vendor_v4_pro");
  gate.resolve();
  for (const call of held) expect((await call).status).toBe(200);
});

test("where no other model is left: 503 with Retry-After; a caller that disconnects leaves the queue", async () => {
  const gate = Promise.withResolvers<void>();
  await using gateway = await start({
    models: {
      vendor_v4_flash: { max_in_flight: 1 },
      vendor_v4_pro: { max_in_flight: 1 },
      vendor_emergency: { enabled: false },
    },
    policy: { upstream: { queue_ms: 30 } },
    script: () => after(gate.promise, completes()),
  });
  const held = [gateway.chat(), gateway.chat({ model: "smart-router-pro" })];
  await eventually(() => gateway.upstream.received() === 2);
  const gone = new AbortController();
  const leaving = gateway.chat({}, {}, { signal: gone.signal }).catch(() => undefined);
  gone.abort();
  const refused = await gateway.chat({}, { "x-smart-gateway-errors": "openai" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  const { error, detail } = await refused.json();
  expect([error.code, detail]).toEqual(["no_capacity", expect.stringContaining("max_in_flight")]);
  await leaving;
  gate.resolve();
  for (const call of held) expect((await call).status).toBe(200);
  expect((await gateway.chat()).status).toBe(200);
  expect(gateway.upstream.received()).toBe(3);
});
