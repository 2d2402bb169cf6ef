import type { AskFeatures } from "./features.ts";
import type { Topic } from "./vocabulary/topic-terms.ts";

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

/**
 * Measured on recorded outcomes of weak and strong models, one thing tells best, in nearly every kind of question, where
 * the strong model is worth its price: how much there is to heed, which the number of different words stands for. Signs
 * of formulas, joined and negated demands add a little. So all four dimensions begin with that load; the rest are the
 * plain words by which people ask for proofs, designs and optimizations, which such questions hardly contain.
 */
export function dimensionsOf(features: AskFeatures, toolsOffered: number): Dimensions {
  const { topics, characters } = features;
  if (characters === 0) return unknown;
  const count = (topic: Topic) => topics.count(topic);
  const load = loadOf(features);
  const proof = share(count("proof"), 1);
  // In a question with answers to choose from, these words are its subject and no work that is asked for.
  const quiz = features.options >= 3;
  const design = quiz ? 0 : share(topics.first("designing") < 3 ? 2 : count("designing"), 2);
  const complexity = quiz ? 0 : share(count("complexity"), 2);
  const math = share(features.mathSigns, 16);
  const demands = share(count("joining") + count("negating") + count("constraint"), 8);
  const steps = share(count("sequence"), 4);
  const parts = share(features.commas + features.listItems, 8);
  const optimizing = quiz ? 0 : share(count("optimizing"), 2);
  // Words that point at something said elsewhere, and steps: what has to be kept in mind. They tell where length does not. In a sum
  // they belong to its story: "he then buys twice as many of them".
  const technical = count("software") + count("data") + count("coding") > 0;
  const sum = features.numbers >= 2 && !technical && !quiz && features.identifiers === 0 && features.codeLines === 0;
  const kept = sum
    ? 0
    : 0.035 * Math.log1p(Math.min(20, count("vague"))) +
      0.02 * Math.log1p(Math.min(20, count("sequence"))) +
      0.01 * Math.log1p(Math.min(20, count("joining")));
  const base = 0.06 + 0.4 * load + kept;
  // What happens only now and then in a program is hard to find, however few words tell of it.
  const elusive = count("intermittent") > 0 && (technical || count("complexity") > 0) ? 0.6 : 0;
  const intricate = quiz
    ? 0
    : share(count("intricate") + elusive + (contends(features, technical) || isDeepFault(features) ? 1 : 0), 1);
  const vague = share(count("vague"), 2) * (1 - load);
  const greeting = share(count("greeting"), 1) * (1 - load);

  return {
    reasoning_requirement: within(
      base +
        0.6 * proof +
        0.3 * design +
        0.3 * complexity +
        0.5 * intricate +
        0.12 * math +
        0.1 * optimizing +
        0.03 * demands -
        0.12 * greeting,
    ),
    ambiguity: within(base + 0.15 * vague + 0.35 * design + 0.4 * intricate + 0.1 * optimizing + 0.25 * proof),
    dependency_depth: within(
      base +
        0.35 * complexity +
        0.3 * design +
        0.4 * intricate +
        0.15 * parts * Math.max(complexity, design) +
        0.1 * steps +
        0.04 * demands +
        0.1 * share(toolsOffered, 16),
    ),
    verification_difficulty: within(
      base +
        0.6 * proof +
        0.35 * complexity +
        0.25 * design +
        0.5 * intricate +
        0.1 * math +
        0.04 * demands +
        0.05 * steps -
        0.12 * greeting,
    ),
  };
}

/** Several want the same at once, or get it now and then: a race, which is to be ended. */
function contends({ topics, numbers }: AskFeatures, technical: boolean): boolean {
  if (topics.count("contended") === 0 || numbers > 3) return false;
  const acting = topics.count("acting") > 0;
  const debugging = topics.count("debugging") > 0;
  if (topics.count("simultaneous") > 0)
    return technical || acting || debugging || topics.count("money") + topics.count("curbing") > 0;
  return topics.count("intermittent") > 0 && (technical || debugging) && acting;
}

/** Words up to which an ask is short enough for one fault to be all that it tells. */
const maxFaultWords = 40;

/** A short ask tells of a fault in what programs share, keep or compute, and by more than one sign. */
function isDeepFault({ topics, numbers, options }: AskFeatures): boolean {
  const parts = 2 * topics.count("machinery") + topics.count("resource");
  const anomaly = topics.count("anomaly");
  if (parts === 0 || anomaly === 0 || topics.words > maxFaultWords || numbers > 1 || options > 0) return false;
  // To add, to show, to word or to explain something ends no fault.
  const looks = topics.count("interface") + topics.count("appearance") + topics.count("wording") > 0;
  const ordered = Math.min(topics.first("acting"), topics.first("coding")) < 2 && topics.count("mending") === 0;
  if (looks || ordered || topics.first("light") < 2 || topics.first("explaining") < 3) return false;
  const when = topics.count("circumstance") + topics.count("intermittent") + topics.count("simultaneous");
  return parts + anomaly + when >= 3;
}

/** Words at which an ask counts as full. */
const fullWords = 400;

/** How much there is to heed, 0..1, growing with the logarithm of the words and of the different words. */
function loadOf({ topics, denseCharacters }: AskFeatures): number {
  // A Chinese or Japanese character is counted as a word, and says about three fifths of one.
  const weight = 1 - (0.4 * denseCharacters) / Math.max(1, topics.words);
  const words = topics.words * Math.max(0.6, weight);
  const distinct = topics.distinctWords * Math.max(0.6, weight);
  return Math.min(1, (Math.log1p(words) + Math.log1p(1.6 * distinct)) / (2 * Math.log1p(fullWords)));
}

function share(count: number, full: number): number {
  return Math.min(1, Math.max(0, count / full));
}

/** Three decimals: enough to rank, short enough to read. */
function within(value: number): number {
  return Math.round(Math.min(1, Math.max(0, value)) * 1_000) / 1_000;
}
