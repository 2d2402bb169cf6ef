import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { systemClock } from "#platform/system-clock.ts";
import { replies } from "#simulator/behaviours.ts";
import { start } from "../harness/gateway.ts";

/** An answer with these token counts and, if given, this cost. */
function answers(usage: JsonObject, bills: number) {
  return replies(
    200,
    {
      id: "gen-1",
      object: "chat.completion",
      created: 1,
      model: "deepseek/deepseek-v4-flash",
      choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
      usage,
    },
    { bills },
  );
}

const prices = {
  input: 1,
  cached_input: 0.1,
  output: 2,
  request: 0.001,
  tiers: [{ from_input_tokens: 300, input: 3, output: 5 }],
  windows: [{ from: "22:00", to: "02:00", output: 7, cache_write: 4 }],
};
const models = { vendor_v4_flash: { prices } };
const noon = Date.parse("2026-03-04T12:00:00Z");
const midnight = Date.parse("2026-03-05T00:10:00Z");
const clockAt = (nowMs: number) => ({ ...systemClock, now: () => nowMs });
const long = [{ role: "user", content: "x".repeat(1_000) }];

async function holdOf(gateway: Awaited<ReturnType<typeof start>>, body: JsonObject): Promise<number> {
  let held = 0;
  gateway.upstream.next(async (exchange) => {
    held = (await gateway.ledger(() => true)).held;
    await answers({ prompt_tokens: 1, completion_tokens: 1, cost: 0 }, 0)(exchange);
  });
  expect((await gateway.chat(body)).status).toBe(200);
  return held;
}

describe("an upstream that bills at the highest band that a call can reach", () => {
  test("stays within the hold, whatever the hour", async () => {
    for (const now of [noon, midnight]) {
      await using gateway = await start({ models, overrides: { clock: clockAt(now) } });
      const body = JSON.stringify({ model: "smart-router-flash", messages: long, max_tokens: 100 });
      // Every byte a token that is written to the cache, every allowed token used, at the rates of both bands.
      const bound = Buffer.byteLength(body) + 8 + 64;
      const highest = bound * 4_000 + 100 * 7_000 + 1_000_000;
      gateway.upstream.next(answers({ prompt_tokens: bound, completion_tokens: 100, cost: highest / 1e9 }, highest));
      expect((await gateway.chat({ messages: long, max_tokens: 100 })).status).toBe(200);
      expect(await gateway.ledger()).toEqual({ spent: highest, held: 0 });
      expect(gateway.log.map(({ event }) => event)).not.toContain("ledger_overrun");
      expect((await gateway.health())["vendor_v4_flash"]).not.toBe("QUARANTINE");
    }
  });
});

describe("an upstream that reports tokens and no cost", () => {
  const usage = { prompt_tokens: 400, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 100 } };
  test.each([
    ["a window that is open", midnight, 300 * 3_000 + 100 * 100 + 10 * 7_000 + 1_000_000],
    ["the tier alone when none is", noon, 300 * 3_000 + 100 * 100 + 10 * 5_000 + 1_000_000],
  ])("is settled at the prices of %s", async (_, now, cost) => {
    await using gateway = await start({ models, overrides: { clock: clockAt(now) } });
    gateway.upstream.next(answers(usage, cost));
    await gateway.chat({ messages: long });
    expect(await gateway.ledger()).toEqual({ spent: cost, held: 0 });
  });
});

describe("a call that asks for cache writes (cache_control)", () => {
  const cached = {
    max_tokens: 10,
    messages: [{ role: "user", content: [{ type: "text", text: "hello", cache_control: { type: "ephemeral" } }] }],
  };
  test("holds twice the input price if the price of cache writes is unknown", async () => {
    await using gateway = await start({ models: { vendor_v4_flash: { prices: { input: 1, output: 2 } } } });
    const bytes = Buffer.byteLength(JSON.stringify({ model: "smart-router-flash", ...cached }));
    expect(await holdOf(gateway, cached)).toBe((bytes + 72) * 2_000 + 10 * 2_000);
    const plain = JSON.stringify({
      model: "smart-router-flash",
      messages: [{ role: "user", content: "hello" }],
      max_tokens: 10,
    });
    expect(await holdOf(gateway, { max_tokens: 10 })).toBe((Buffer.byteLength(plain) + 72) * 1_000 + 10 * 2_000);
  });
  test("is settled for the written tokens, and ledger and bill agree", async () => {
    await using gateway = await start({
      models: { vendor_v4_flash: { prices: { input: 1, output: 2, cache_write: 1.25 } } },
    });
    expect((await gateway.chat(cached)).status).toBe(200);
    const { usage } = await (await gateway.chat(cached)).json();
    expect(usage.prompt_tokens_details.cache_write_tokens).toBeGreaterThan(0);
    expect((await gateway.ledger()).spent).toBe(gateway.upstream.billedNanoUsd());
    expect(gateway.upstream.billedNanoUsd()).toBe(2 * (usage.prompt_tokens * 1_250 + usage.completion_tokens * 2_000));
  });
});

describe("a call on the operator's own account with the host (is_byok)", () => {
  test("costs the aggregator's fee and the host's price", async () => {
    await using gateway = await start();
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 10,
      cost: 0.000001,
      is_byok: true,
      cost_details: { upstream_inference_cost: 0.00002 },
    };
    gateway.upstream.next(answers(usage, 21_000));
    await gateway.chat();
    expect((await gateway.ledger()).spent).toBe(21_000);
  });
});
