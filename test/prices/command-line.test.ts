import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Price } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { openPriceBookStore } from "#models/price-book/price-book-store.ts";
import { runCommand } from "../harness/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "prices-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));
const openRouter = "https://openrouter.ai/api/v1";
const database = `sqlite:${join(folder, "kept.db")}`;
const now = Date.now();

const perMTok = (usd: number) => Math.round(usd * 1e9) as NanoUsdPerMTok; // test prices are written by hand
/** The price book that a gateway on this database has read. */
beforeAll(async () => {
  const price: Price = {
    input: perMTok(0.25),
    cachedInput: perMTok(0.025),
    output: perMTok(0.5),
    cacheWrite: perMTok(0.3125),
    bands: [
      { fromInputTokens: 200_000, rates: { input: perMTok(0.5) } },
      { window: { fromMinute: 990, toMinute: 30 }, rates: { output: perMTok(0.25) } },
    ],
  };
  const store = await openPriceBookStore(database);
  const ids = ["deepseek/deepseek-v4-flash", "google/gemini-2.5-flash"];
  await store.save(openRouter, new Map(ids.map((id) => [id, { price, atMs: now - 1_000 }])));
  await store.close();
});

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(args, { cwd: folder, env: { PORT: "0", ...env } });

const own = join(folder, "models.json");
writeFileSync(own, JSON.stringify({ models: { vendor_emergency: { prices: { input: 0.3, output: 2.5 } } } }));
const aggregator = { UPSTREAM_BASE_URL: openRouter, DATABASE_URL: database, MODEL_REGISTRY_PATH: own };
const modelOf = (models: { key: string }[], key: string) => models.find((model) => model.key === key) ?? {};

describe("smart-gateway models", () => {
  test("shows the source of each price, and when a list was read", async () => {
    const [{ out }, { json }] = await Promise.all([run(["models"], aggregator), run(["models", "--json"], aggregator)]);
    const time = new Date(now - 1_000).toISOString();
    expect(out).toMatch(/vendor_v4_flash .* 0\.25 +0\.025 +0\.5 \* +price book \d{4}-\d\d-\d\dT[\d:.]+Z/);
    expect(out).toMatch(/vendor_emergency .* 0\.3 .* registry file/);
    expect(out).toMatch(/vendor_free_scout .* shipped/);
    expect(modelOf(json(), "vendor_v4_flash")).toMatchObject({
      price_source: { kind: "price_book", at: time },
      prices: {
        input: "0.25",
        cached_input: "0.025",
        cache_write: "0.3125",
        output: "0.5",
        bands: [
          { from_input_tokens: 200_000, input: "0.5" },
          { from: "16:30", to: "00:30", output: "0.25" },
        ],
      },
    });
    expect(modelOf(json(), "vendor_emergency")).toMatchObject({ price_source: { kind: "registry_file" } });
    expect(modelOf(json(), "vendor_free_scout")).toMatchObject({ price_source: { kind: "shipped" } });
  });
});
