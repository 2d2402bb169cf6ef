import type { AskFeatures } from "./features.ts";

/** The four complexity dimensions of a routing task, each 0..1; 0.3 is what is assumed when nothing is known. */
export interface Dimensions {
  readonly reasoning_requirement: number;
  readonly ambiguity: number;
  readonly dependency_depth: number;
  readonly verification_difficulty: number;
}

const unknown: Dimensions = {
  reasoning_requirement: 0.3,
  ambiguity: 0.3,
  dependency_depth: 0.3,
  verification_difficulty: 0.3,
};

export function dimensionsOf(features: AskFeatures, toolsOffered: number): Dimensions {
  const { topics, characters } = features;
  if (characters === 0) return unknown;
  const words = Math.max(1, topics.words);
  const some = (count: number, full: number) => Math.min(1, count / full);
  // Chinese and Japanese say in a third of the characters what Latin script says.
  const length = some(Math.log2(1 + (characters + 2 * features.hanCharacters) / 40), 7);
  const proof = topics.count("proof") > 0 ? 1 : 0;
  const design = some(topics.count("designing"), 2);
  const complexity = some(topics.count("complexity"), 3);
  const math = some(features.mathSigns, 12);
  const everyday = some(topics.count("everyday") + topics.count("greeting"), 1);
  const failing = features.traceLines > 0 || topics.count("debugging") > 0 ? 1 : 0;
  const constraints = some(topics.count("constraint"), 4);
  const parts = some(features.commas + features.listItems, 8);
  const steps = some(topics.count("sequence"), 3);
  const quantities = some(topics.count("quantity"), 3);

  return {
    reasoning_requirement: within(
      0.12 +
        0.28 * length +
        0.5 * proof +
        0.2 * design +
        0.2 * complexity +
        0.2 * math +
        0.12 * failing +
        0.1 * quantities +
        0.08 * some(features.numbers, 6) +
        0.1 * some(topics.count("optimizing"), 2) -
        0.15 * everyday,
    ),
    ambiguity: within(
      0.22 +
        0.3 * some(topics.count("vague"), 0.15 * words) +
        0.25 * design +
        0.1 * failing +
        0.1 * some(features.questions - 1, 3),
    ),
    dependency_depth: within(
      0.1 +
        0.2 * length +
        0.25 * complexity +
        0.2 * design +
        0.2 * parts +
        0.15 * steps +
        0.1 * constraints +
        0.15 * some(toolsOffered, 12),
    ),
    verification_difficulty: within(
      0.12 +
        0.2 * length +
        0.45 * proof +
        0.2 * complexity +
        0.15 * design +
        0.15 * failing +
        0.15 * constraints +
        0.15 * math +
        0.1 * some(features.codeLines, 30) -
        0.1 * everyday,
    ),
  };
}

/** Two decimals are all the precision there is. */
function within(value: number): number {
  return Math.round(Math.min(1, Math.max(0, value)) * 100) / 100;
}
