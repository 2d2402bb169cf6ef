import type { Price } from "#domain/model.ts";
import { modelFields } from "#models/model-fields.ts";
import { isSection } from "./config-file.ts";
import type { Config } from "./load-config.ts";

function plainOf({ policy, registry, learned }: Config): unknown {
  const { $schema: _, ...rest } = policy;
  // A stated price shows in the price, except where it equals the shipped one; so the stated names are included.
  const models = [...registry.models].map(([key, { statedPrice, ...model }]) => {
    return [key, { ...model, prices: Object.keys(statedPrice ?? {}).join(" ") }];
  });
  return {
    ...rest,
    ...(learned === undefined ? {} : { learned }),
    models: Object.fromEntries(models),
    order: [...registry.models.keys()].join(" "),
  };
}

/** The first 16 hexadecimal digits of the SHA-256 of everything that policy, registry and learned weights say. */
export function configHash(config: Config): string {
  return new Bun.CryptoHasher("sha256")
    .update(JSON.stringify(plainOf(config)))
    .digest("hex")
    .slice(0, 16);
}

/**
 * What changed, by the keys of the files: `budget.per_goal_hard_usd`, `models.vendor_v4_pro.prices.input`, `models` for another
 * order of the models; keys of the file of learned weights follow `learned.`. Empty only when nothing changed.
 */
export function changedPaths(before: Config, after: Config): string[] {
  const changed = differences(plainOf(before), plainOf(after));
  if (changed.length === 0) return changed;
  const paths = differences(asWritten(before), asWritten(after));
  if (orderOf(before) !== orderOf(after) && !paths.some((path) => /^models\.[^.]+$/.test(path))) paths.push("models");
  return paths.length > 0 ? paths : changed;
}

/** The configuration by the keys of its files. A value may stand in another form, as long as other values look different. */
function asWritten({ policy, registry, learned }: Config): unknown {
  const { $schema: _, ...rest } = policy;
  const models = [...registry.models].map(([key, { price, statedPrice = {}, ...model }]) => {
    return [key, { ...modelFields(model), prices: writtenPrices(price, statedPrice) }];
  });
  return { ...rest, ...(learned === undefined ? {} : { learned }), models: Object.fromEntries(models) };
}

/** Each price with whether the operator's own file states it, which counts even where it equals the shipped one. */
function writtenPrices({ bands, ...rates }: Price, stated: Partial<Price>): unknown {
  const prices: Record<string, unknown> = {};
  for (const [name, rate] of Object.entries(rates)) {
    // Without a price of its own, cached input costs what input costs.
    if (name === "cachedInput" && rate === rates.input) continue;
    prices[name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`)] = [rate, name in stated];
  }
  const { tiers, windows } = Object.groupBy(bands ?? [], ({ window }) => (window === undefined ? "tiers" : "windows"));
  if (tiers !== undefined) prices["tiers"] = [tiers, "bands" in stated];
  if (windows !== undefined) prices["windows"] = [windows, "bands" in stated];
  return prices;
}

function orderOf({ registry }: Config): string {
  return [...registry.models.keys()].join(" ");
}

/** The paths at which two plain values differ; lists count as one value. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (Object.is(a, b)) return [];
  if (!isSection(a) || !isSection(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], path === "" ? key : `${path}.${key}`));
}
