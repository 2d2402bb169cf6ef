import type { RoutingTask } from "#domain/routing.ts";
import type { AskFeatures } from "#pipeline/assess/ask/features.ts";

/** The features of an ask, in the order of the vector. A release that changes them changes `featureVersion`. */
export const featureNames = [
  "reasoning_requirement",
  "ambiguity",
  "dependency_depth",
  "verification_difficulty",
  "characters",
  "words",
  "distinct_words",
  "code_lines",
  "numbers",
  "math_signs",
  "commas",
  "list_items",
  "options",
  "trace_lines",
  "identifiers",
  "dense_characters",
] as const;

/** What the vector reads of an ask's features. */
export type CountedFeatures = Omit<AskFeatures, "topics" | "verbLast" | "failureLines"> & {
  readonly topics: Pick<AskFeatures["topics"], "words" | "distinctWords">;
};

/** The four dimensions as they are, counts as log(1 + count) / 8: most lie between 0 and 1. */
export function featureVectorOf(
  task: Pick<RoutingTask, "reasoning_requirement" | "ambiguity" | "dependency_depth" | "verification_difficulty">,
  features: CountedFeatures,
): readonly number[] {
  return [
    task.reasoning_requirement,
    task.ambiguity,
    task.dependency_depth,
    task.verification_difficulty,
    logged(features.characters),
    logged(features.topics.words),
    logged(features.topics.distinctWords),
    logged(features.codeLines),
    logged(features.numbers),
    logged(features.mathSigns),
    logged(features.commas),
    logged(features.listItems),
    logged(features.options),
    logged(features.traceLines),
    logged(features.identifiers),
    logged(features.denseCharacters),
  ];
}

function logged(count: number): number {
  return Math.round((Math.log1p(count) / 8) * 1e4) / 1e4;
}
