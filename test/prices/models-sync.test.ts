import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model, Price } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";

import type { Simulator } from "#simulator/simulator.ts";
import { aggregatorPages, type SimulatedHost } from "#simulator/testing/aggregator-pages.ts";
import { runCommand } from "../harness/command-line.ts";
import { shippedModels, startUpstream } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "models-sync-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const fileWith = (text: string, extension = "yaml") => {
  const path = join(folder, `registry-${++files}.${extension}`);
  writeFileSync(path, text);
  return path;
};

const perMTok = (usd: number) => Math.round(usd * 1e9) as NanoUsdPerMTok; // test prices are written by hand
const flash = "vendor_v4_flash";
const higherPrice: Price = {
  input: perMTok(0.28),
  cachedInput: perMTok(0.0028),
  output: perMTok(0.2),
  bands: [
    { window: { fromMinute: 990, toMinute: 30 }, rates: { output: perMTok(0.1) } },
    { fromInputTokens: 200_001, rates: { input: perMTok(0.56) } },
  ],
};

/** An aggregator with the shipped models, some of them changed or removed. */
function aggregator(
  change: (model: Model) => Model | undefined,
  hosts?: (model: Model) => readonly SimulatedHost[],
): Promise<Simulator> {
  const models = shippedModels.flatMap((model) => change(model) ?? []);
  return startUpstream({ models: () => models, pages: aggregatorPages(hosts) });
}
const withFlashAt = (price: Price) => (model: Model) => (model.key === flash ? { ...model, price } : model);

function sync(args: readonly string[], url: string, env: Record<string, string> = {}) {
  const none = `sqlite:${join(folder, "none.db")}`;
  return runCommand(["models", "sync", ...args], {
    cwd: folder,
    env: { DATABASE_URL: none, UPSTREAM_BASE_URL: url, UPSTREAM_API_KEY: "key-of-the-test", ...env },
  });
}

describe("smart-gateway models sync", () => {
  test("shows each rate that differs by band, and the hosts within the registry's price", async () => {
    const upstream = await aggregator(withFlashAt(higherPrice), ({ key }) =>
      key === flash
        ? [
            { name: "Cheap", priceFactor: 0.1 },
            { name: "Expensive", priceFactor: 1 },
          ]
        : [{ name: "Only", priceFactor: 1 }],
    );
    const [{ out, code }, { json }] = await Promise.all([sync([], upstream.url), sync(["--json"], upstream.url)]);
    expect(code).toBe(0);
    const lines = out.split("\n").filter((line) => line.startsWith(flash));
    expect(lines.map((line) => line.replace(/ {2,}/g, "|"))).toEqual([
      `${flash}|input|base|0.14|0.28|higher, +100 %`,
      `${flash}|output|base|0.28|0.2|lower, -28.6 %`,
      `${flash}|input|16:30-00:30 UTC|0.14|0.28|higher, +100 %`,
      `${flash}|output|16:30-00:30 UTC|0.28|0.1|lower, -64.3 %`,
      `${flash}|input|from 200001 tokens|0.14|0.56|higher, +300 %`,
      `${flash}|output|from 200001 tokens|0.28|0.2|lower, -28.6 %`,
      `${flash}|Cheap|true|true|0.028|0.02|1048576`,
      `${flash}|Expensive|false|true|0.28|0.2|1048576`,
    ]);
    const { ok, complete, models } = json();
    expect([ok, complete]).toEqual([true, true]);
    expect(models.find(({ key }: { key: string }) => key === flash)).toMatchObject({
      listed: true,
      canonical_id: "deepseek/deepseek-v4-flash-simulated",
      changes: [{ band: "base", rate: "input", registry: "0.14", listed: "0.28", increase: true }, {}, {}, {}, {}, {}],
      hosts: [
        { name: "Cheap", within_price_limit: true, uptime_percent: 99.9 },
        {
          name: "Expensive",
          within_price_limit: false,
          prices: { input: "0.28", bands: [{}, { from_input_tokens: 200_001 }] },
        },
      ],
    });
    // The public list is read without the key, the hosts with it.
    const asked = upstream.requests.map(({ path, headers }) => [path.replace("/api/v1", ""), headers["authorization"]]);
    expect(asked[0]).toEqual(["/models", undefined]);
    expect(asked).toContainEqual(["/models/deepseek/deepseek-v4-flash/endpoints", "Bearer key-of-the-test"]);
    expect(asked).toContainEqual([
      "/models/meta-llama/llama-3.3-70b-instruct:free/endpoints",
      "Bearer key-of-the-test",
    ]);
    await upstream.stop();
  });

  test("prints the lines that state the listed prices, and ends with 1 while a model is not listed or has no hosts", async () => {
    const gone = await aggregator((model) =>
      model.key === "vendor_v4_pro" ? undefined : withFlashAt(higherPrice)(model),
    );
    const path = fileWith("models: {}\n");
    const shown = await sync([path], gone.url);
    expect(shown.code).toBe(1);
    expect(shown.out).toContain("vendor_v4_pro: the list does not name deepseek/deepseek-v4-pro");
    const loaded = loadRegistry(fileWith(shown.out.slice(shown.out.indexOf("\nmodels:"))));
    if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
    const { price } = loaded.registry.models.get(flash) ?? {};
    expect(price).toEqual({ ...higherPrice, bands: expect.arrayContaining([...(higherPrice.bands ?? [])]) });
    await gone.stop();
    const empty = await aggregator(withFlashAt(higherPrice), ({ key }) =>
      key === flash ? [] : [{ name: "A", priceFactor: 1 }],
    );
    expect((await sync([path, "--json"], empty.url)).json()).toMatchObject({ ok: false, complete: false });
    await empty.stop();
    const unreadable = await aggregator(withFlashAt(higherPrice), ({ key }) => [
      { name: "A", priceFactor: key === "vendor_v4_pro" ? Number.NaN : 1 },
    ]);
    const half = await sync([path], unreadable.url);
    expect(half.code).toBe(1);
    expect(half.out).toContain("vendor_v4_pro: the prices of the hosts of deepseek/deepseek-v4-pro cannot be read");
    await unreadable.stop();
    expect(readFileSync(path, "utf8")).toBe("models: {}\n");
  });
});
