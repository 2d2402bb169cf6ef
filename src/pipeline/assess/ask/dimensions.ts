import type { Policy } from "#config/policy.ts";
import type { AskFeatures, AskText } from "./ask-text.ts";
import { Vocabulary } from "./terms.ts";

/** The four complexity dimensions of a routing task, each 0..1. */
export interface Dimensions {
  readonly reasoning_requirement: number;
  readonly ambiguity: number;
  readonly dependency_depth: number;
  readonly verification_difficulty: number;
}

/** What is assumed when nothing is known. */
const unknown = 0.3;

/** Plain words, at most sixty a list. Longer lists ranked unread questions worse. */
const vocabulary = new Vocabulary({
  reasoning: `prove proof derive explain why reason analyze analyse evaluate compare contrast determine justify infer deduce
    conclude imply implies therefore because assume suppose hypothesis argument logic logical theorem demonstrate whether cause
    effect optimal minimize maximize probability estimate predict design architecture debug`,
  technical: `algorithm database server matrix vector equation integral derivative polynomial protocol thread concurrent distributed
    memory cache network compiler query schema optimize complexity model system energy velocity temperature pressure voltage
    molecule enzyme protein gene equilibrium interest tax statute contract function distribution variance ratio density mass
    force field wavelength frequency concentration reaction acid`,
  code: `class method variable array string loop return import program script python java javascript typescript sql html css json api
    bug compile exception parameter argument object recursion regex implement refactor library module null pointer stack queue tree`,
  step: `first second third then next after afterwards before finally last step until each every while when whenever if once again
    during later earlier begin start end continue repeat remaining left`,
  constraint: `must should only exactly without unless except not never cannot no least most such given require ensure limit maximum
    minimum less greater more fewer between within all any both neither same different`,
});
const trivialOpening =
  /^(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|what(?:'s| is| are)|who|when|where|which|define|translate|say|tell me)\b/;
/** Words up to which an opening says what the ask is. */
const shortAsk = 12;
/** Different words at which an ask counts as full. */
const fullWords = 400;

export type AskCount = keyof Policy["routing"]["ask_weights"];

/** The counts of an ask, each 0..1: they grow fast first and then ever more slowly. */
export function askCounts(text: AskText): Readonly<Record<AskCount, number>> {
  const { features, words } = text;
  const named = vocabulary.read(text);
  const opening = words.slice(0, 4).join(" ");
  return {
    length: Math.min(1, Math.log1p(features.distinct_words) / Math.log1p(fullWords)),
    formulas: saturating(features.math_signs, 8),
    reasoning_words: saturating(named.count("reasoning"), 3),
    technical_words: saturating(named.count("technical"), 3),
    code: saturating(features.code_lines + features.identifiers / 2 + named.count("code"), 4),
    steps: saturating(named.count("step") + features.list_items, 3),
    constraints: saturating(named.count("constraint"), 4),
    trivial_opening: words.length < shortAsk && trivialOpening.test(opening) ? 1 : 0,
  };
}

/** Half of the whole at `half`. */
function saturating(count: number, half: number): number {
  return count / (count + half);
}

/** What each count speaks of. Length and a trivial opening speak of all four dimensions. */
const dimensions: Readonly<Record<keyof Dimensions, readonly AskCount[]>> = {
  reasoning_requirement: ["reasoning_words", "formulas"],
  ambiguity: ["technical_words"],
  dependency_depth: ["steps", "constraints"],
  verification_difficulty: ["code", "formulas"],
};

/**
 * A weighted sum of the counts for each dimension. Difficulty can hardly be read from a prompt: the number of different words says
 * nearly all there is, each other count adds a little.
 */
export function dimensionsOf(text: AskText, weights: Policy["routing"]["ask_weights"]): Dimensions {
  if (text.features.characters === 0) return everywhere(unknown);
  const counts = askCounts(text);
  const valueOf = (dimension: keyof Dimensions) => {
    let sum = 0;
    for (const count of ["length", "trivial_opening", ...dimensions[dimension]] as const) sum += weights[count] * counts[count];
    return Math.round(Math.min(1, Math.max(0, sum)) * 1_000) / 1_000;
  };
  return {
    reasoning_requirement: valueOf("reasoning_requirement"),
    ambiguity: valueOf("ambiguity"),
    dependency_depth: valueOf("dependency_depth"),
    verification_difficulty: valueOf("verification_difficulty"),
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
