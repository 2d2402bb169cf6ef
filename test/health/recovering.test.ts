import { expect, test } from "bun:test";
import { fails } from "#simulator/behaviours.ts";
import { chunk, streams, usageChunk } from "#simulator/testing/scripted.ts";
import { eventually, start, type TestGateway, upstreamIds } from "../harness/gateway.ts";

const flash = upstreamIds["vendor_v4_flash"] ?? "";
const pro = upstreamIds["vendor_v4_pro"] ?? "";

/** A gateway whose flash model is DEGRADED after its first failures; with the random number 0 everything that may be shed is shed. */
async function withDegradedFlash(policy: object = {}): Promise<TestGateway> {
  let failures = 2;
  const gateway = await start({
    policy: { health: { failures_in_a_row: 3, ...policy } },
    script: ({ body }) => (body?.["model"] === flash && failures-- > 0 ? fails(500) : undefined),
    overrides: { random: () => 0 },
  });
  await (await gateway.chat()).text();
  expect(await gateway.health()).toMatchObject({ vendor_v4_flash: "DEGRADED" });
  return gateway;
}

const title = { max_tokens: 64, messages: [{ role: "user", content: "Write a short title for this conversation." }] };
const work = { messages: [{ role: "user", content: "Implement the parser for the new file format." }] };

async function answeredBy(gateway: TestGateway, body: object): Promise<string> {
  return (await (await gateway.chat(body as never)).json()).model; // a body is JSON
}

test("a DEGRADED flash model sheds work to pro, and keeps titles and commit messages", async () => {
  await using gateway = await withDegradedFlash();
  expect(await answeredBy(gateway, work)).toBe(pro);
  expect(await answeredBy(gateway, title)).toBe(flash);
});

test("shed_upwards: never keeps all traffic in its tier, always sheds housekeeping too", async () => {
  await using never = await withDegradedFlash({ shed_upwards: "never" });
  expect(await answeredBy(never, work)).toBe(flash);
  await using always = await withDegradedFlash({ shed_upwards: "always" });
  expect(await answeredBy(always, title)).toBe(pro);
});

test("the next probe of a recovering model does not wait for the end of a stream that has begun", async () => {
  const health = { failures_in_a_row: 2, open_base_ms: 20, open_max_ms: 20 };
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
