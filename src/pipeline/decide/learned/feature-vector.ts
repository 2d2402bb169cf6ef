import type { RoutingTask } from "#domain/routing.ts";

const dimensions = ["reasoning_requirement", "ambiguity", "dependency_depth", "verification_difficulty"] as const;
const counts = [
  "characters",
  "words",
  "distinct_words",
  "code_lines",
  "trace_lines",
  "list_items",
  "options",
  "numbers",
  "commas",
  "math_signs",
  "identifiers",
] as const;

/** The features of an ask, in the order of the vector. A release that changes them changes `featureVersion`. */
export const featureNames = [...dimensions, ...counts] as const;

/** The four dimensions as they are, counts as log(1 + count) / 8: most lie between 0 and 1. A count that a record lacks is 0. */
export function featureVector(
  task: Pick<RoutingTask, (typeof dimensions)[number]>,
  features: { readonly [name in (typeof counts)[number]]?: number },
): readonly number[] {
  return [...dimensions.map((name) => task[name]), ...counts.map((name) => logged(features[name] ?? 0))];
}

function logged(count: number): number {
  return Math.round((Math.log1p(count) / 8) * 1e4) / 1e4;
}
