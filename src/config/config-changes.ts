import type { Price } from "#domain/model.ts";
import { isSection } from "./config-file.ts";
import type { Config } from "./load-config.ts";

/** The first 16 hexadecimal digits of the SHA-256 of everything that policy, registry and learned weights say. */
export function configHash(config: Config): string {
  return new Bun.CryptoHasher("sha256")
    .update(JSON.stringify(asWritten(config)))
    .digest("hex")
    .slice(0, 16);
}

/**
 * What changed, by the keys of the files: `budget.per_goal_hard_usd`, `models.vendor_v4_pro.prices.input`, `models` for another
 * order of the models; keys of the file of learned weights follow `learned.`. Empty only when nothing changed.
 */
export function changedPaths(before: Config, after: Config): string[] {
  const paths = differences(asWritten(before), asWritten(after));
  const withModels = paths.some((path) => /^models\.[^.]+$/.test(path));
  return paths.flatMap((path) => (path !== "order" ? [path] : withModels ? [] : ["models"]));
}

/** The configuration by the keys of its files. A value may stand in another form, as long as other values look different. */
function asWritten({ policy, registry, learned }: Config): unknown {
  const { $schema: _, ...keys } = policy;
  const models = [...registry.models].map(([key, { key: _, price, statedPrice = {}, ...model }]) => {
    const fields = Object.entries(model).map(([name, value]) => [snakeCase(name), value]);
    return [key, { ...Object.fromEntries(fields), prices: writtenPrices(price, statedPrice) }];
  });
  return { ...keys, learned, models: Object.fromEntries(models), order: [...registry.models.keys()].join(" ") };
}

/** Each price with whether the operator's own file states it, which counts even where it equals the shipped one. */
function writtenPrices({ bands = [], ...rates }: Price, stated: Partial<Price>): unknown {
  const prices: Record<string, unknown> = {};
  for (const [name, rate] of Object.entries(rates)) {
    // Without a price of its own, cached input costs what input costs.
    if (name !== "cachedInput" || rate !== rates.input) prices[snakeCase(name)] = [rate, name in stated];
  }
  for (const band of bands) {
    const name = band.window === undefined ? "tiers" : "windows";
    prices[name] = [prices[name], band, "bands" in stated];
  }
  return prices;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The paths at which two plain values differ; lists count as one value. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (Object.is(a, b)) return [];
  if (!isSection(a) || !isSection(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], path === "" ? key : `${path}.${key}`));
}
