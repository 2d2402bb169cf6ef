import type { Policy } from "#config/policy.ts";
import type { AskText } from "./ask-text.ts";

/** The four complexity dimensions of a routing task, each 0..1. */
export interface Dimensions {
  readonly reasoning_requirement: number;
  readonly ambiguity: number;
  readonly dependency_depth: number;
  readonly verification_difficulty: number;
}

type Weights = Policy["routing"]["ask_weights"];

/** What is assumed when nothing is known. */
const unknown = 0.3;
/** Different words at which an ask counts as full. */
const fullWords = 400;
/** Signs of formulas, and words of order, at which half of their weight is reached. */
const halfFormulas = 8;
const halfSteps = 3;
/** Words of order: what has to be kept in mind. */
const stepWords = new Set(
  `first second third then next after afterwards before finally last step steps until each every while when whenever if once again
  during later earlier begin begins start starts end ends continue repeat remaining left`.split(/\s+/),
);
/** A greeting or a short question of fact. */
const trivialOpening =
  /^(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|what s|what is|what are|who|when|where|which|define|translate|say|tell me)\b/;
const shortAsk = 12;

/** The counts of an ask, each 0..1: they grow fast first and then ever more slowly. */
export function askCounts({ features, words }: AskText): Readonly<Record<keyof Weights, number>> {
  const steps = words.filter((word) => stepWords.has(word)).length + features.list_items;
  const opening = words.slice(0, 3).join(" ");
  return {
    length: Math.min(1, Math.log1p(features.distinct_words) / Math.log1p(fullWords)),
    formulas: features.math_signs / (features.math_signs + halfFormulas),
    steps: steps / (steps + halfSteps),
    trivial_opening: words.length < shortAsk && trivialOpening.test(opening) ? 1 : 0,
  };
}

/**
 * Difficulty can hardly be read from a prompt: the number of different words says nearly all there is. Counts of reasoning words,
 * technical words, constraints and code did not help on sources that their weights were not chosen on, so there are none.
 */
export function dimensionsOf(text: AskText, weights: Weights): Dimensions {
  if (text.features.characters === 0) return everywhere(unknown);
  const counts = askCounts(text);
  const base = weights.length * counts.length + weights.trivial_opening * counts.trivial_opening;
  const formulas = share(base + weights.formulas * counts.formulas);
  return {
    reasoning_requirement: formulas,
    ambiguity: share(base),
    dependency_depth: share(base + weights.steps * counts.steps),
    verification_difficulty: formulas,
  };
}

/** The same in all four. */
export function everywhere(value: number): Dimensions {
  return {
    reasoning_requirement: value,
    ambiguity: value,
    dependency_depth: value,
    verification_difficulty: value,
  };
}

/** Three decimals: enough to rank, short enough to read. */
function share(value: number): number {
  return Math.round(Math.min(1, Math.max(0, value)) * 1_000) / 1_000;
}
