import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#platform/system-clock.ts";
import type { Timers } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { replies } from "#simulator/behaviours.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { readGeneration } from "#upstream/aggregator.ts";
import { type Answer, start, startUpstream } from "../harness/gateway.ts";

/** The rounds of look-ups run at once, and each look-up is due at once: 4 s of the store's clock after the call. */
function immediateLookups() {
  const wheel = timerWheel({ clock: systemClock });
  const timers: Timers = { after: (ms, run) => wheel.after(ms > 2_300 && ms < 3_700 ? 10 : ms, run) };
  let offsetMs = 0;
  const clock = { now: () => Date.now() + offsetMs, monotonic: () => performance.now() };
  return {
    overrides: { timers, clock },
    later: () => {
      offsetMs += 4_000;
    },
  };
}

const policy = {
  upstream: { generation_lookup: "on", max_attempts: 1 },
  health: { failures_in_a_row: 100 },
};
const large = { max_tokens: 50_000 };

describe("a call of unknown outcome is settled by the billed cost", () => {
  test.each<[string, Parameters<typeof streams>[0] | { status: number }]>([
    [
      "a stream that breaks off, by the id in its chunks",
      { events: [chunk({ content: "hi" })], end: "rst", bills: 77_000 },
    ],
    [
      "a stream that is silent, by the id in its head",
      { events: [], end: "rst", headers: { "x-generation-id": "gen-2-head" }, bills: 77_000 },
    ],
    ["an error after work was done", { status: 500 }],
  ])("%s", async (_, script) => {
    const { overrides, later } = immediateLookups();
    await using gateway = await start({ policy, overrides });
    const failing = { headers: { "x-generation-id": "gen-3-failed" }, bills: 77_000 };
    gateway.upstream.follow(() =>
      "status" in script ? replies(script.status, { error: { message: "oops" } }, failing) : streams(script),
    );
    await (await gateway.chat({ ...large, stream: true })).text();
    expect((await gateway.ledger(({ held }) => held > 0)).held).toBeGreaterThan(77_000);
    later();
    expect(await gateway.ledger()).toEqual({ spent: 77_000, held: 0 });
    expect(await (await gateway.get("/metrics")).text()).toContain(
      'smart_gateway_billing_lookups_total{answer="billed"} 1',
    );
  });

  test("a charge for a call whose caller disconnected is corrected", async () => {
    const { overrides, later } = immediateLookups();
    await using gateway = await start({ policy, overrides });
    gateway.upstream.follow(() => streams({ events: [chunk({ content: "hi" })], end: "silence", bills: 55_000 }));
    const leaving = new AbortController();
    const reply = await gateway.chat({ ...large, stream: true }, {}, { signal: leaving.signal });
    expect(reply.status).toBe(200);
    leaving.abort();
    expect((await gateway.ledger()).spent).toBeGreaterThan(1_000_000);
    later();
    expect((await gateway.ledger(({ spent }) => spent < 1_000_000)).spent).toBe(55_000);
  });

  test("a later process looks the cost up too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-lookup-"));
    const env = { DATABASE_URL: `sqlite:${join(folder, "gateway.db")}` };
    const asks = { ...policy, upstream: { ...policy.upstream, timeouts_ms: { total: 300_000 } } };
    const upstream = await startUpstream();
    const first = immediateLookups();
    const before = await start({
      policy: asks,
      env: { ...env, UPSTREAM_BASE_URL: upstream.url },
      overrides: first.overrides,
    });
    upstream.follow(() => streams({ events: [chunk({ content: "hi" })], end: "rst", bills: 66_000 }));
    await (await before.chat({ ...large, stream: true })).text();
    await before.ledger(({ held }) => held > 0);
    await before.stop();
    const second = immediateLookups();
    second.later();
    const after = await start({
      policy: asks,
      env: { ...env, UPSTREAM_BASE_URL: upstream.url },
      overrides: second.overrides,
    });
    expect(await after.ledger()).toEqual({ spent: 66_000, held: 0 });
    await after.stop();
    await upstream.stop();
    rmSync(folder, { recursive: true });
  });
});

describe("a look-up at the aggregator", () => {
  const asking = async (data: Answer, status = 200) => {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        expect(new URL(request.url).searchParams.get("id")).toBe("gen-1/x");
        expect(request.headers.get("authorization")).toBe("Bearer lookup-key");
        return typeof data === "string" ? new Response(data, { status }) : Response.json(data, { status });
      },
    });
    const timers = timerWheel({ clock: systemClock });
    const options = {
      baseUrl: `http://127.0.0.1:${server.port}/v1/`,
      apiKey: "lookup-key",
      clock: systemClock,
      timers,
    };
    try {
      return await readGeneration(options, "gen-1/x");
    } finally {
      await server.stop(true);
    }
  };
  test.each<[Answer, number | undefined]>([
    [{ data: { total_cost: 0.0015 } }, 1_500_000],
    [{ data: { total_cost: 0, cancelled: true } }, 0],
    // With the operator's own key at the host, the fee and the host's part are both owed; otherwise the host's part is included.
    [{ data: { total_cost: 0.0001, is_byok: true, upstream_inference_cost: 0.002 } }, 2_100_000],
    [{ data: { total_cost: 0.0015, is_byok: false, upstream_inference_cost: 0.0014 } }, 1_500_000],
    [{ data: { total_cost: 0.0001, is_byok: true, upstream_inference_cost: null } }, undefined],
    [{ data: { total_cost: null } }, undefined],
    [{ data: { total_cost: -1 } }, undefined],
  ])("%j is owed %p nano-dollars", async (answer, cost) => {
    expect(await asking(answer)).toEqual(
      cost === undefined ? { kind: "not_found" } : { kind: "billed", costNanoUsd: cost },
    );
  });
  test("404 means not yet; any other answer without a record is a failure, without the upstream's message", async () => {
    expect(await asking({ error: { message: "no" } }, 404)).toEqual({ kind: "not_found" });
    expect(await asking("secret words", 500)).toEqual({ kind: "failed", detail: "it answered 500" });
    expect(await asking("secret words")).toEqual({ kind: "failed", detail: "its answer is not JSON" });
    expect(await asking({})).toEqual({ kind: "failed", detail: "its answer has no data" });
    expect(await asking(" ".repeat(100_000))).toMatchObject({ kind: "failed" });
  });
});
