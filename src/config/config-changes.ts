import { isSection } from "./config-file.ts";
import type { Config } from "./load-config.ts";

/** The first 16 hexadecimal digits of the SHA-256 of everything that policy and registry say. */
export function configHash(config: Config): string {
  return new Bun.CryptoHasher("sha256")
    .update(JSON.stringify(asWritten(config)))
    .digest("hex")
    .slice(0, 16);
}

/**
 * What changed, by the keys of the files: `budget.per_goal_hard_usd`, `models.vendor_v4_pro.prices.input`, `models` for
 * another order of the models. Empty only when nothing changed.
 */
export function changedPaths(before: Config, after: Config): string[] {
  const changes = differences(asWritten(before), asWritten(after));
  const paths = changes.map(({ path }) => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const withModels = paths.some((path) => /^models\.[^.]+$/.test(path));
  return paths.flatMap((path) => (path !== "order" ? [path] : withModels ? [] : ["models"]));
}

/** The configuration by the keys of its files. */
function asWritten({ policy, registry }: Config): unknown {
  const { $schema: _, ...keys } = policy;
  const models = [...registry.models].map(([key, { key: _, price, ...model }]) => [key, { ...model, prices: price }]);
  return { ...keys, models: Object.fromEntries(models), order: [...registry.models.keys()].join(" ") };
}

export interface Difference {
  /** The keys, with dots between them. */
  readonly path: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Where two plain values differ. A list counts as one value. */
export function differences(from: unknown, to: unknown, path = ""): Difference[] {
  if (Bun.deepEquals(from, to)) return [];
  if (!isSection(from) || !isSection(to)) return [{ path, from, to }];
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...keys].flatMap((key) => differences(from[key], to[key], path === "" ? key : `${path}.${key}`));
}
