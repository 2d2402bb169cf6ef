import { guardedTerms } from "./guarded-terms.ts";
import { furtherTermsOf } from "./more-languages.ts";
import { classOf, inWord, wordByItself } from "./term-characters.ts";
import { faultTopics, type Topic, topicTerms } from "./topic-terms.ts";

export const topics = Object.keys(topicTerms) as readonly Topic[]; // keys of the literal, nothing else

/** The number of each topic. */
export const placeOf = Object.fromEntries(topics.map((topic, number) => [topic, number])) as {
  readonly [T in Topic]: number;
}; // each of them

/** The concepts of guarded asks and of faults. */
const concepts = new Set([...Object.keys(guardedTerms), ...faultTopics].map((topic) => topics.indexOf(topic as Topic))); // a part of the topics

/** A term of the vocabulary, and the numbers of the topics that it names. */
export interface Term {
  readonly text: string;
  /** As a whole word. */
  whole: readonly number[];
  /** As the beginning of a longer word; undefined where words may not go on behind it. */
  begin: readonly number[] | undefined;
}

/** All terms, each once, by the characters that they begin with: a term stands behind all that it begins with. */
export function termMeanings(): readonly Term[] {
  const terms = listedTerms();
  /** The terms that the present one begins with, the shortest first. */
  const beginnings: Term[] = [];
  for (const term of terms) {
    while (beginnings.length > 0 && !term.text.startsWith(beginnings.at(-1)?.text ?? "")) beginnings.pop();
    const also = meaningsOf(term, beginnings);
    term.whole = [...new Set([...term.whole, ...also])];
    if (term.begin !== undefined) term.begin = [...new Set([...term.begin, ...also])];
    beginnings.push(term);
  }
  return terms;
}

function listedTerms(): readonly Term[] {
  const terms = new Map<string, Term>();
  for (const [number, topic] of topics.entries()) {
    for (const entry of `${topicTerms[topic]} ${furtherTermsOf(topic)}`.trim().split(/\s+/)) {
      const isMarked = entry.endsWith("*");
      const text = (isMarked ? entry.slice(0, -1) : entry).replaceAll("_", " ");
      const isOpen = isMarked || classOf[text.charCodeAt(text.length - 1)] === wordByItself;
      const known = terms.get(text);
      const whole = [...(known?.whole ?? []), number];
      const begin = isOpen ? [...(known?.begin ?? []), number] : known?.begin;
      if (known === undefined) terms.set(text, { text, whole, begin });
      else Object.assign(known, { whole, begin });
    }
  }
  return [...terms.keys()].sort().flatMap((text) => terms.get(text) ?? []);
}

/** What a term means because of the terms that it begins with. */
function meaningsOf({ text, whole }: Term, beginnings: readonly Term[]): readonly number[] {
  if (beginnings.length === 0) return [];
  // A longer term of one word means what its beginning means, too: `sanitize` is also a `sanitiz*`.
  const lastWordAt = text.lastIndexOf(" ") + 1;
  const begun = beginnings.flatMap((each) => (each.text.length < lastWordAt ? [] : (each.begin ?? [])));
  // Several words do not take from the first of them the concepts that it names, and if they name nothing else, no meaning at all.
  const firstWords = beginnings.findLast((each) => classOf[text.charCodeAt(each.text.length)] !== inWord)?.whole ?? [];
  if (whole.every((number) => concepts.has(number))) return [...begun, ...firstWords];
  if (whole.includes(placeOf.elsewhere)) return begun;
  return [...begun, ...firstWords.filter((number) => concepts.has(number))];
}
