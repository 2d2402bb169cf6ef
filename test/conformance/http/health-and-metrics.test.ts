import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualTime } from "#platform/testing/manual-time.ts";
import { fails } from "#simulator/behaviours.ts";
import { type Answer, call, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

describe("GET /healthz", () => {
  test("has the version, the start time, the store, and the health of every model", async () => {
    const response = await gateway.get("/healthz");
    expect(response.status).toBe(200);
    const body: Answer = await response.json();
    expect(body).toMatchObject({
      status: "ok",
      version: expect.any(String),
      policy_version: "1",
      uptime_s: expect.any(Number),
      database: { kind: "sqlite", ok: true },
    });
    expect(Object.keys(body.models).toSorted()).toEqual(Object.keys(upstreamIds).toSorted());
    for (const model of Object.values<Answer>(body.models)) expect(model.state).toBe("HEALTHY");
  });

  test("says degraded, and where, while a changed file is refused; and never its values", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-health-"));
    const path = join(folder, "policy.yaml");
    writeFileSync(path, "budget: { per_goal_hard_usd: 1 }\n");
    await using refusing = await start({ env: { ROUTING_POLICY_PATH: path } });
    writeFileSync(path, "budget:\n  per_goal_hard_usd: private-text\n");
    expect((await refusing.gateway.reload()).kind).toBe("refused");
    const response = await refusing.get("/healthz");
    const body: Answer = await response.json();
    expect([response.status, body.status]).toEqual([200, "degraded"]);
    expect(body.config).toMatchObject({
      state: "refused",
      reason: "policy.yaml:2 is refused: budget.per_goal_hard_usd",
    });
    expect(JSON.stringify(body)).not.toContain("private-text");
    rmSync(folder, { recursive: true });
  });

  test("says degraded while a model is excluded, and why; unavailable with 503 if none is routable", async () => {
    await using sick = await start({
      policy: { health: { failures_in_a_row: 1 }, upstream: { max_attempts: 1 } },
      script: () => fails(500),
    });
    await (await sick.chat()).text();
    const degraded = await sick.get("/healthz");
    const body: Answer = await degraded.json();
    expect([degraded.status, body.status, body.models.vendor_v4_flash.state]).toEqual([200, "degraded", "UNHEALTHY"]);
    expect(body.models.vendor_v4_flash.reason).toBeTruthy();
    for (const alias of ["smart-router-pro", "smart-router-flash", "smart-router-flash"])
      await (await sick.chat({ model: alias })).text();
    await (await sick.chat({ model: "smart-router-free", metadata: { sensitive: false } })).text();
    const states = Object.values(await sick.health());
    expect(new Set(states)).toEqual(new Set(["UNHEALTHY"]));
    const unavailable = await sick.get("/healthz");
    expect([unavailable.status, (await unavailable.json()).status]).toEqual([503, "unavailable"]);
    // That is a report and no rejected request: neither the log, the metrics nor the records count it.
    expect(sick.log.filter(({ event }) => event === "request_rejected")).toEqual([]);
    expect(await (await sick.get("/metrics")).text()).not.toMatch(/^smart_gateway_\w*reject\w*\{.*status="503"/m);
    expect((await sick.get("/healthz", { origin: "https://attacker.example" })).status).toBe(403);
    expect(sick.log.filter(({ event }) => event === "request_rejected").length).toBe(1);
  });

  test("says unavailable while only a free model is routable, because no sensitive request can be answered then", async () => {
    await using sick = await start({
      policy: { health: { failures_in_a_row: 1 }, upstream: { max_attempts: 1 } },
      script: () => fails(500),
      overrides: manualTime(), // stands still
    });
    for (let calls = 0; calls < 3; calls++) await (await sick.chat()).text();
    expect(await sick.health()).toMatchObject({ vendor_free_scout: "HEALTHY", vendor_v4_pro: "UNHEALTHY" });
    // The one early probe that is due is used.
    await (await sick.chat()).text();
    expect((await sick.chat()).status).toBe(403);
    const response = await sick.get("/healthz");
    expect([response.status, (await response.json()).status]).toEqual([503, "unavailable"]);
  });
});

test("livez and readyz answer; readyz fails while draining, and then the port closes", async () => {
  const draining = await start();
  expect((await draining.get("/livez")).status).toBe(200);
  expect((await draining.get("/readyz")).status).toBe(200);
  const gate = Promise.withResolvers<void>();
  draining.upstream.next(async (exchange) => {
    await exchange.until(gate.promise);
    await fails(400)(exchange);
  });
  const running = draining.chat();
  await draining.upstream.request(0);
  draining.gateway.http.drain();
  expect((await draining.get("/readyz")).status).toBe(503);
  expect((await draining.get("/livez")).status).toBe(200);
  gate.resolve();
  expect((await running).status).toBe(500);
  await draining.stop();
  expect(
    await draining.get("/livez").then(
      () => "answered",
      () => "closed",
    ),
  ).toBe("closed");
});

describe("GET /metrics", () => {
  const sample = (text: string, name: string, labels: Record<string, string> = {}): number => {
    const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    const matching = lines.filter((line) =>
      Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)),
    );
    return matching.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  };

  test("is Prometheus text that counts requests, refusals at the edge, tokens, cost and health under the gateway's prefix", async () => {
    await (await gateway.chat({ model: "smart-router-pro" })).text();
    await (await gateway.chat({ model: "smart-router-free" })).text();
    await gateway.ledger();
    await call(`${gateway.url}/v1/chat/completions`, { method: "POST" });
    const response = await gateway.get("/metrics");
    expect(response.headers.get("content-type")).toStartWith("text/plain");
    const text = await response.text();
    const names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => String(match[1])));
    expect([...names].filter((name) => name.startsWith("smart_gateway_")).length).toBeGreaterThan(10);
    expect(sample(text, "smart_gateway_requests_total", { alias: "smart-router-pro", status: "200" })).toBe(1);
    expect(sample(text, "smart_gateway_requests_total", { alias: "smart-router-free", status: "403" })).toBe(1);
    expect(sample(text, "smart_gateway_rejections_total", { route: "chat_completions", status: "401" })).toBe(1);
    for (const subject of [
      /tokens_total$/,
      /cost/,
      /health/,
      /retries|attempts/,
      /held|hold/,
      /redactions/,
      /duration_seconds$|latency_seconds$/,
      /first_(token|event)/,
      /streams|in_flight/,
    ])
      expect([subject, [...names].some((name) => subject.test(name))]).toEqual([subject, true]);
  });
});

describe("logs", () => {
  test("one line per request, with its cost and the reason of its route, and no text of it", async () => {
    const word = ["another", "private", "word"].join("");
    const before = gateway.log.length;
    await (await gateway.chat({ messages: [{ role: "user", content: word }] }, { "x-request-id": "logged-1" })).text();
    await gateway.ledger();
    const lines = gateway.log.slice(before);
    const finished = lines.filter(
      ({ event, fields }) => event === "request_finished" && fields["request_id"] === "logged-1",
    );
    expect(finished).toHaveLength(1);
    const text = JSON.stringify(finished[0]);
    for (const expected of ["logged-1", "explicit_flash", "vendor_v4_flash"]) expect(text).toContain(expected);
    expect(JSON.stringify(lines)).not.toContain(word);
  });
});
