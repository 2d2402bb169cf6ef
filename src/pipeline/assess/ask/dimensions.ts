import type { Policy } from "#config/policy.ts";
import type { AskText } from "./ask-text.ts";
import { joined } from "./terms.ts";

export const dimensionNames = [
  "reasoning_requirement",
  "ambiguity",
  "dependency_depth",
  "verification_difficulty",
] as const;
/** The four complexity dimensions of a routing task, each 0..1. */
export type Dimensions = { readonly [Name in (typeof dimensionNames)[number]]: number };

type Weights = Policy["routing"]["ask_weights"];

/** What is assumed when nothing is known. */
const unknown = 0.3;
/** Different words at which an ask counts as full. */
const fullWords = 400;
/** Signs of formulas at which half of their weight is reached, and words of a list. */
const halfFormulas = 8;
const halfWords = 3;

/** Plain words, at most sixty a list: longer lists ranked questions that nobody had read worse. */
const wordLists = {
  technical: `algorithm database server matrix vector equation integral derivative polynomial protocol thread concurrent distributed memory
  cache network compiler query schema architecture complexity model system energy velocity temperature pressure voltage molecule enzyme protein gene
  equilibrium interest tax statute contract distribution variance ratio density force field frequency concentration reaction acid`,
  constraint: `must should only exactly without unless except not never cannot no least most such given require requires ensure limit maximum minimum
  less greater more fewer between within all any both neither same different`,
  step: `first second third then next after afterwards before finally last step steps until each every while when whenever if once again
  during later earlier begin begins start starts end ends continue repeat remaining left`,
};
const listOf = new Map(
  Object.entries(wordLists).flatMap(
    ([list, words]) => words.split(/\s+/).map((word) => [word, list as keyof typeof wordLists] as const), // its own keys
  ),
);

/** A greeting or a short question of fact. */
const trivialOpening =
  /^(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|what s|what is|what are|who|when|where|which|define|translate|say|tell me)\b/;
const shortAsk = 12;

/** The counts of an ask, each 0..1: they grow fast first and then ever more slowly. */
function askCounts({ features, words }: AskText): Readonly<Record<keyof Weights, number>> {
  const counts = { technical: 0, constraint: 0, step: features.list_items };
  for (const { text } of words) {
    const list = listOf.get(text);
    if (list !== undefined) counts[list]++;
  }
  return {
    length: Math.min(1, Math.log1p(features.distinct_words) / Math.log1p(fullWords)),
    formulas: features.math_signs / (features.math_signs + halfFormulas),
    technical_words: share(counts.technical),
    constraints: share(counts.constraint),
    steps: share(counts.step),
    trivial_opening: words.length < shortAsk && trivialOpening.test(joined(words.slice(0, 3))) ? 1 : 0,
  };
}

function share(count: number): number {
  return count / (count + halfWords);
}

/**
 * Difficulty can hardly be read from a prompt: the number of different words says nearly all there is, signs of formulas help where
 * there are any, the other counts add a little. Words of reasons and of code did not help on sources that they were not chosen on.
 */
export function dimensionsOf(text: AskText, weights: Weights): Dimensions {
  if (text.features.characters === 0) return everywhere(unknown);
  const counts = askCounts(text);
  const base = weights.length * counts.length + weights.trivial_opening * counts.trivial_opening;
  const formulas = weights.formulas * counts.formulas;
  return {
    reasoning_requirement: bounded(base + formulas),
    ambiguity: bounded(base + weights.technical_words * counts.technical_words),
    dependency_depth: bounded(base + weights.steps * counts.steps + weights.constraints * counts.constraints),
    verification_difficulty: bounded(base + formulas),
  };
}

/** The same in all four. */
export function everywhere(value: number): Dimensions {
  return Object.fromEntries(dimensionNames.map((name) => [name, value])) as Dimensions; // each has one
}

/** Three decimals: enough to rank, short enough to read. */
function bounded(value: number): number {
  return Math.round(Math.min(1, Math.max(0, value)) * 1_000) / 1_000;
}
