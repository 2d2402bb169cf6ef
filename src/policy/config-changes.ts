import { isSection } from "#settings/section.ts";
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

/** The paths of what changed: `budget.per_goal_hard_usd`, `models.vendor_v4_pro.price.input`. */
export function changedPaths(before: Config, after: Config): string[] {
  return differences(plainOf(before), plainOf(after));
}

/** The paths at which two plain values differ; lists count as one value. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  if (Object.is(a, b)) return [];
  if (!isSection(a) || !isSection(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], path === "" ? key : `${path}.${key}`));
}
