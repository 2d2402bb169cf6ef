import { isSection } from "#config/config-file.ts";

/** The part of `value` that differs from `base`; undefined when none does. */
export function changedFrom(base: unknown, value: unknown): unknown {
  if (!isSection(base) || !isSection(value)) return JSON.stringify(base) === JSON.stringify(value) ? undefined : value;
  const changed = Object.entries(value).flatMap(([key, entry]) => {
    const difference = changedFrom(base[key], entry);
    return difference === undefined ? [] : [[key, difference] as const];
  });
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** A key with different values; `undefined` where one side does not have it. */
export interface KeyChange {
  readonly key: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** All keys whose values differ, as dotted paths, in order. A list counts as one value. */
export function changesBetween(from: unknown, to: unknown, path = ""): readonly KeyChange[] {
  if (!isSection(from) || !isSection(to)) {
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ key: path, from, to }];
  }
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].toSorted();
  return keys.flatMap((key) => changesBetween(from[key], to[key], path === "" ? key : `${path}.${key}`));
}
