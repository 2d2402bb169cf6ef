import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { completes } from "#simulator/behaviours.ts";
import { shippedModels, start, type TestGateway, upstreamIds } from "../harness/gateway.ts";

const on = { upstream: { price_limit: "on", retry_budget_per_second: 0 } };
const stated = {
  vendor_v4_flash: { prices: { input: 0.14, cached_input: 0.0028, output: 0.28 } },
  vendor_v4_pro: { prices: { input: 0.435, cached_input: 0.003625, output: 0.87 } },
};
const limit = { prompt: 0.14, completion: 0.28, request: 0 };
const flash = upstreamIds["vendor_v4_flash"];

/** The shipped models, some with multiples of our prices. */
function hostsWithPrices(factors: { [key: string]: number }): () => Model[] {
  const times = (rate: number, factor: number) => (rate * factor) as NanoUsdPerMTok; // test prices are written by hand
  return () =>
    shippedModels.map((model) => {
      const factor = factors[model.key] ?? 1;
      const { input, cachedInput, output } = model.price;
      const price = {
        input: times(input, factor),
        cachedInput: times(cachedInput, factor),
        output: times(output, factor),
      };
      return { ...model, price };
    });
}

async function sent(gateway: TestGateway, body: JsonObject = {}): Promise<JsonObject> {
  gateway.upstream.next(completes());
  expect((await gateway.chat(body)).status).toBe(200);
  return gateway.upstream.requests.at(-1)?.body ?? {};
}

describe("the price limit of a call", () => {
  test("is the model's price per million tokens and per call", async () => {
    await using gateway = await start({ policy: on, models: stated });
    expect((await sent(gateway))["provider"]).toEqual({ max_price: limit });
  });
  test("is the price of the highest band that the call can reach, like its hold", async () => {
    const tiers = [{ from_input_tokens: 500, input: 1, output: 2 }];
    const windows = [{ from: "00:00", to: "12:00", output: 4 }];
    const prices = { input: 0.14, output: 0.28, request: 0.01, tiers, windows };
    await using gateway = await start({ policy: on, models: { vendor_v4_flash: { prices } } });
    expect((await sent(gateway))["provider"]).toEqual({ max_price: { prompt: 0.14, completion: 4, request: 0.01 } });
    const messages = [{ role: "user", content: "x".repeat(500) }];
    expect((await sent(gateway, { messages }))["provider"]).toEqual({
      max_price: { prompt: 1, completion: 4, request: 0.01 },
    });
  });
  test("is not sent to an aggregator that may not know it, unless the policy says so", async () => {
    await using gateway = await start({ models: stated });
    expect(await sent(gateway)).not.toHaveProperty("provider");
  });
  test("keeps the caller's other preferences and lower limits, and lowers higher ones", async () => {
    await using gateway = await start({ policy: on, models: stated });
    const provider = { sort: "price", order: ["a", "b"] };
    expect((await sent(gateway, { provider }))["provider"]).toEqual({ ...provider, max_price: limit });
    const wished = (max_price: JsonObject) => sent(gateway, { provider: { ...provider, max_price } });
    expect((await wished({ prompt: 0.1, completion: 99 }))["provider"]).toEqual({
      ...provider,
      max_price: { ...limit, prompt: 0.1 },
    });
    expect((await wished({ prompt: "0.1", completion: "1e9" }))["provider"]).toEqual({
      ...provider,
      max_price: { ...limit, prompt: "0.1" },
    });
    for (const nonsense of [-1, "", " ", "NaN", "cheap", null, true, [0], {}]) {
      expect((await wished({ completion: nonsense as string }))["provider"]).toEqual({ ...provider, max_price: limit });
    }
  });
});

describe("a model whose hosts all charge more than its price", () => {
  test("is skipped for the next, costs nothing, keeps its health and raises an alarm", async () => {
    await using gateway = await start({
      policy: on,
      models: stated,
      upstreamModels: hostsWithPrices({ vendor_v4_flash: 2 }),
    });
    const reply = await gateway.chat();
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-smart-gateway-answered-by")).toBe("vendor_v4_pro");
    expect(gateway.upstream.requests.map(({ body }) => body?.["model"])).toEqual([flash, upstreamIds["vendor_v4_pro"]]);
    expect((await gateway.ledger()).spent).toBe(gateway.upstream.billedNanoUsd());
    expect((await gateway.health())["vendor_v4_flash"]).not.toMatch(/DEGRADED|UNHEALTHY|QUARANTINE|DISABLED/);
    expect(gateway.log.filter(({ event }) => event === "price_drift")).toEqual([
      {
        event: "price_drift",
        fields: {
          model: "vendor_v4_flash",
          reason: "constraint_filtered",
          detail: "the aggregator has no host for the model within the price limit that was sent",
        },
      },
    ]);
    expect(await (await gateway.get("/metrics")).text()).toContain(
      'smart_gateway_price_drift_total{model="vendor_v4_flash",reason="constraint_filtered"} 1',
    );
  });

  test("ends the request with that cause if no other model has a host either", async () => {
    await using gateway = await start({
      policy: on,
      models: { ...stated, vendor_emergency: { prices: { input: 0.3, output: 2.5 } } },
      upstreamModels: hostsWithPrices({ vendor_v4_flash: 2, vendor_v4_pro: 2, vendor_emergency: 2 }),
    });
    const reply = await gateway.chat({}, { "x-smart-gateway-errors": "openai" });
    expect(reply.status).toBe(500);
    expect(reply.headers.get("x-should-retry")).toBe("false");
    const text = JSON.stringify(await reply.json());
    expect(text).toContain("upstream_constraint_filtered");
    expect(text).toContain("price limit");
    expect(await gateway.ledger()).toEqual({ spent: 0, held: 0 });
    expect(gateway.upstream.billedNanoUsd()).toBe(0);
    expect(gateway.log.filter(({ event }) => event === "price_drift")).toHaveLength(3);
  });
});
