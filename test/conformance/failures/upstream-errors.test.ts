import { describe, expect, test } from "bun:test";
import { manualTime } from "#platform/testing/manual-time.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { type Answer, authorization, eventually, start, upstreamIds } from "../../harness/gateway.ts";

/** One model and a single attempt, so that each failure shows alone. */
const single = { policy: { upstream: { max_attempts: 1 } } };

const notRetried = [400, 401, 402, 403, 404, 413, 422];

describe("a status that is not retried", () => {
  test("becomes 500 at once, with the upstream's status and words", async () => {
    await using gateway = await start();
    for (const [index, status] of notRetried.entries()) {
      const said = `the reason for ${status}`;
      gateway.upstream.next(fails(status, said));
      const response = await gateway.chat({ stream: index % 2 === 0 });
      expect([status, response.status]).toEqual([status, 500]);
      const body: Answer = await response.json();
      expect(Object.keys(body)).toEqual(["detail"]);
      expect(body.detail).toContain(String(status));
      expect(body.detail).toContain(said);
      expect(gateway.upstream.received()).toBe(index + 1);
    }
    expect(await gateway.ledger()).toEqual({ spent: 0, held: 0 });
  });

  test("the upstream's message is cut to 300 characters, redacted, and contains no other caller's prompt", async () => {
    await using gateway = await start();
    const secret = ["ghp", "_", "Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3i2"].join("");
    gateway.upstream.next(fails(400, `bad: ${secret} ${"x".repeat(5_000)}`));
    const { detail }: Answer = await (await gateway.chat()).json();
    expect(detail.length).toBeLessThan(500);
    expect(detail).not.toContain(secret);
  });

  test("an error body in any form still gives 500", async () => {
    await using gateway = await start();
    const forms = ["", "<html>Bad</html>", "null", "[]", '{"error":"text"}', '{"error":{"message":7}}', "\u0000\u0001"];
    for (const body of forms) {
      gateway.upstream.next(replies(400, body));
      const response = await gateway.chat();
      expect([body, response.status]).toEqual([body, 500]);
      expect(Object.keys(await response.json())).toEqual(["detail"]);
    }
  });
});

describe("why a call has failed, in the upstream's innermost words,", () => {
  const secret = ["ghp", "_", "Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3i2"].join("");
  const wrapped = (raw: string) => ({ error: { message: "Provider returned error", metadata: { raw } } });
  const broken = (event: string) => streams({ events: [chunk({ content: "a" }), event], end: "silence" });
  type Row = readonly [what: string, behaviour: Behaviour, stream: boolean, error_class: string, reason: string];
  test.each<Row>([
    ["of a wrapped refusal", replies(400, wrapped(`bad token ${secret}`)), false, "rejected", "bad token [REDACTED"],
    ["of a page", replies(403, "<html><h1>You are blocked</h1></html>"), false, "rejected", "You are blocked"],
    [
      "of an error in a 200",
      replies(200, { error: { code: 503, message: '{"detail":"busy"}' } }),
      false,
      "upstream_error",
      "busy",
    ],
    [
      "of a stream that is refused",
      replies(422, { detail: [{ msg: "n must be 1" }] }),
      true,
      "rejected",
      "n must be 1",
    ],
    [
      "of vLLM in mid-stream",
      broken('data: {"object":"error","message":"engine died","code":500}\n\n'),
      true,
      "upstream_error",
      "engine died",
    ],
    [
      "of llama.cpp in mid-stream",
      broken('error: {"code":500,"message":"slot lost"}\n\n'),
      true,
      "upstream_error",
      "slot lost",
    ],
    ["of a text in mid-stream", broken("event: error\ndata: try later\n\n"), true, "upstream_error", "try later"],
  ])("%s: in the answer, the log and the record", async (...[, behaviour, stream, error_class, reason]) => {
    await using gateway = await start({ ...single, script: () => behaviour });
    const response = await gateway.chat({ stream }, { "x-goal-id": "g1" });
    const text = await response.text();
    expect(text).toContain(reason);
    expect(text).not.toContain(secret);
    await eventually(() => gateway.log.some(({ event }) => event === "upstream_failed"));
    const failed: Answer = gateway.log.find(({ event }) => event === "upstream_failed")?.fields;
    expect(failed).toMatchObject({ error_class, model: "vendor_v4_flash", goal: "g1" });
    expect(failed.reason).toStartWith(reason);
    const path = `/v1/route/decisions/${response.headers.get("x-smart-gateway-decision-id")}`;
    let record: Answer;
    await eventually(async () => {
      record = await (await gateway.get(path, authorization)).json();
      return record.detail === undefined;
    });
    expect(record.attempts).toMatchObject([{ outcome: error_class, reason: failed.reason }]);
  });
});

describe("a status that is retried", () => {
  test("a free model is never a fallback", async () => {
    const free = upstreamIds["vendor_free_scout"];
    await using gateway = await start({
      script: (request) => (request.body?.["model"] === free ? undefined : fails(500)),
    });
    const response = await gateway.chat({ model: "smart-router", metadata: { sensitive: false } });
    expect(response.status).toBe(500);
    expect(gateway.upstream.requests.map((request) => request.body?.["model"])).not.toContain(free);
  });
});

test("an upstream that cannot be reached: 502, and nothing is held", async () => {
  await using gateway = await start(single);
  await gateway.upstream.stop();
  const response = await gateway.chat();
  expect(response.status).toBe(502);
  expect((await response.json()).detail).toContain("reached");
  expect(await gateway.ledger()).toEqual({ spent: 0, held: 0 });
});

describe("Retry-After", () => {
  const later = (value: string) => fails(429, "slow down", { "retry-after": value });

  for (const value of ["86400", new Date(Date.now() + 3_600_000).toUTCString()])
    test(`${value.length > 10 ? "an hour, as a date" : `${value} s`} means the next model now`, async () => {
      await using gateway = await start();
      gateway.upstream.next(later(value));
      const response = await gateway.chat();
      expect(response.status).toBe(200);
      expect(response.headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
      // And the limited model is not called again, as it asked.
      expect((await gateway.chat()).headers.get("x-smart-gateway-model")).toBe("vendor_v4_pro");
    });

  test("is sent to the caller if every model has asked for a pause: the shortest of them", async () => {
    await using gateway = await start();
    gateway.upstream.next(later("40"), later("20"), later("50"));
    const response = await gateway.chat();
    expect(response.status).toBe(500);
    const seconds = Number(response.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(15);
    expect(seconds).toBeLessThanOrEqual(20);
    expect(response.headers.get("x-should-retry")).toBe("true");
    expect(gateway.upstream.received()).toBe(3);
    // A caller who returns earlier gets the same answer, and the upstream is not called.
    const again = await gateway.chat();
    expect(Number(again.headers.get("retry-after"))).toBeLessThanOrEqual(20);
    expect(gateway.upstream.received()).toBe(3);
  });

  test.each(["seconds", "a date"])("in %s is not prolonged by a clock that is set back", async (form) => {
    const { clock, timers, setWallClock } = manualTime();
    await using gateway = await start({ overrides: { clock, timers } });
    const value = form === "seconds" ? "20" : new Date(clock.now() + 20_000).toUTCString();
    gateway.upstream.next(later(value), later(value), later(value));
    expect((await gateway.chat()).headers.get("retry-after")).toBe("20");
    setWallClock(clock.now() - 3_600_000);
    expect((await gateway.chat()).headers.get("retry-after")).toBe("20");
    expect(gateway.upstream.received()).toBe(3);
  });

  test("that SDKs would not wait for comes with x-should-retry: false; beyond the longest pause it is cut", async () => {
    for (const [asked, expected] of [
      ["300", 300],
      ["86400", 900],
    ] as const) {
      await using gateway = await start();
      gateway.upstream.next(later(asked), later(asked), later(asked));
      const response = await gateway.chat();
      expect(response.status).toBe(500);
      const seconds = Number(response.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(expected - 5);
      expect(seconds).toBeLessThanOrEqual(expected);
      expect(response.headers.get("x-should-retry")).toBe("false");
      // A second request is refused without a call, with the remaining time.
      const again = await gateway.chat();
      expect(again.headers.get("x-smart-gateway-cause")).toBe("all_models_unhealthy");
      expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(expected - 8);
      expect(gateway.upstream.received()).toBe(3);
    }
  });

  test("comes with each failure that may pass, and with no other", async () => {
    await using gateway = await start();
    // A rate limit without a time means the usual one.
    for (const [status, leastS, mostS] of [
      [503, 1, 900],
      [429, 30, 30],
    ] as const) {
      await using failing = await start({ script: () => fails(status) });
      const passing = await failing.chat();
      expect(passing.status).toBe(500);
      expect(Number(passing.headers.get("retry-after"))).toBeWithin(leastS, mostS + 1);
      expect(passing.headers.get("x-should-retry")).toBe("true");
    }
    for (const status of [400, 401, 402, 422]) {
      gateway.upstream.next(fails(status));
      const lasting = await gateway.chat();
      expect(lasting.status).toBe(500);
      expect(lasting.headers.get("retry-after")).toBeNull();
      expect(lasting.headers.get("x-should-retry")).toBe("false");
    }
  });
});
