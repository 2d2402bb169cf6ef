import { expect, test } from "bun:test";
import { manualTime } from "#platform/testing/manual-time.ts";
import { fails } from "#simulator/behaviours.ts";
import { start, type TestGateway } from "../harness/gateway.ts";

/** What callers get while nothing can be called, and how soon they are served once it can. Time is the test's. */

const hard = { model: "smart-router", metadata: { kind: "AUTH", risk_level: "HIGH" } };
const asks = [{}, { model: "smart-router-pro" }, hard, { stream: true }];

/** An upstream on a port that can be closed and opened again. */
function upstreamOnOnePort() {
  const answer = { choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }] };
  const serve = (port: number) => Bun.serve({ port, hostname: "127.0.0.1", fetch: () => Response.json(answer) });
  let server = serve(0);
  const port = server.port ?? 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => server.stop(true),
    open() {
      server = serve(port);
    },
  };
}

/** The test's time, by which health goes; waits of no length end by themselves. */
function time() {
  const { clock, timers, advance, setWallClock } = manualTime();
  const after = (ms: number, callback: () => void) => {
    if (ms === 0) setImmediate(() => advance(0));
    return timers.after(ms, callback);
  };
  return { overrides: { clock, timers: { after } }, advance: (ms: number) => setWallClock(clock.now() + ms) };
}

/** Sends ten requests a second, of all kinds in turn, until `until` says so; each one's status, Retry-After and x-should-retry. */
async function load(gateway: TestGateway, pass: (ms: number) => void, until: (statuses: readonly string[]) => boolean) {
  const seen: string[] = [];
  while (!until(seen)) {
    const { status, headers, body } = await gateway.chat(asks[seen.length % asks.length]);
    await body?.cancel();
    seen.push([status, headers.get("retry-after") ?? "", headers.get("x-should-retry") ?? ""].join(" ").trim());
    pass(100);
  }
  return seen;
}

test("a closed port for 10 s under load: never 403, and served within a second of its return, ten times of ten", async () => {
  const upstream = upstreamOnOnePort();
  const { overrides, advance } = time();
  await using gateway = await start({
    env: { UPSTREAM_BASE_URL: upstream.url },
    overrides,
  });
  for (let outage = 0; outage < 10; outage++) {
    expect(new Set(await load(gateway, advance, ({ length }) => length === 8))).toEqual(new Set(["200"]));
    await upstream.close();
    const refused = await load(gateway, advance, ({ length }) => length === 100);
    expect(new Set(refused)).toEqual(new Set(["502 1 true", "503 1 true"]));
    // The probes: about one a second.
    expect(refused.filter((status) => status.startsWith("502")).length).toBeWithin(10, 16);
    const health = await gateway.get("/healthz");
    expect([health.status, (await health.json()).aggregator?.reason]).toEqual([503, expect.any(String)]);
    advance(7 * outage);
    upstream.open();
    const waiting = await load(gateway, advance, (seen) => seen.at(-1) === "200");
    expect(100 * (waiting.length - 1)).toBeLessThanOrEqual(800);
    expect(Object.values(await gateway.health())).toEqual(Array(4).fill("HEALTHY"));
  }
  await upstream.close();
}, 60_000);

test("what tripped before the port closed does not keep callers waiting either", async () => {
  let isFaulty = true;
  const { overrides, advance } = time();
  await using gateway = await start({ overrides, script: () => (isFaulty ? fails(503) : undefined) });
  const statuses = await load(gateway, advance, ({ length }) => length === 300);
  // Now and then a request is the probe; the others may try again in a second.
  expect(new Set(statuses.slice(30))).toEqual(new Set(["500 1 true", "403 1 true"]));
  expect(statuses.slice(200).filter((status) => status.startsWith("500")).length).toBeWithin(10, 15);
  isFaulty = false;
  const waiting = await load(gateway, advance, (seen) => seen.at(-1) === "200");
  expect(100 * (waiting.length - 1)).toBeLessThanOrEqual(800);
  expect(new Set(await load(gateway, advance, ({ length }) => length === 40))).toEqual(new Set(["200"]));
}, 30_000);
