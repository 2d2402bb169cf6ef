import { expect, test } from "bun:test";
import { fails } from "#simulator/behaviours.ts";
import { chunk, streams, usageChunk } from "#simulator/testing/scripted.ts";
import { eventually, start, upstreamIds } from "../harness/gateway.ts";

const flash = upstreamIds["vendor_v4_flash"] ?? "";

test("the next probe of a recovering model does not wait for the end of a stream that has begun", async () => {
  const health = { failures_in_a_row: 2, degraded_in_a_row: 2, open_base_ms: 20, open_max_ms: 20 };
  await using gateway = await start({ policy: { health, upstream: { max_attempts: 1 } } });
  gateway.upstream.next(fails(500), fails(500));
  for (let call = 0; call < 2; call++) expect((await gateway.chat()).status).toBe(500);
  expect((await gateway.health())["vendor_v4_flash"]).toBe("UNHEALTHY");

  const { promise: end, resolve } = Promise.withResolvers<void>();
  const events = [chunk({ role: "assistant", content: "one" }), chunk({}, "stop"), usageChunk({ input: 1, output: 1 })];
  const answeredBy = async (body: object) =>
    (await gateway.chat(body as never)).headers.get("x-smart-gateway-answered-by"); // shaped by hand
  const held = streams({ events, gate: (index) => (index === 1 ? end : undefined) });
  gateway.upstream.follow(({ body }) => (body?.["stream"] === true && body["model"] === flash ? held : undefined));
  // Until the pause is over, the next model of the chain answers.
  await eventually(async () => (await answeredBy({ stream: true })) === "vendor_v4_flash");
  expect((await gateway.health())["vendor_v4_flash"]).toBe("HALF_OPEN");
  expect(await answeredBy({})).toBe("vendor_v4_flash");
  resolve();
});
