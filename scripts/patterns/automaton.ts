// A pattern as an automaton: a state for each place that reads a character, an edge for each way from one to the next. Where the
// automaton is not exact, it has more ways than the pattern: a lookaround may always succeed, and what a backreference
// refers to is read anew.
import { type AST, RegExpParser } from "@eslint-community/regexpp";
import { type ReadonlyFlags, toUnicodeSet } from "regexp-ast-analysis";

type CharSet = ReturnType<typeof toUnicodeSet>["chars"];

export type State = {
  readonly chars: CharSet;
  /** Equal for states that read the same characters. */
  readonly charsId: number;
  readonly source: string;
  readonly edges: Edge[];
};

/**
 * `loop`: the quantifier whose way back it is. `ways` above 1: the same step in more ways than one. `isSure`: it does not depend on
 * an assertion that is not looked into.
 */
export type Edge = {
  readonly to: number;
  readonly loop: AST.Quantifier | undefined;
  readonly isSure: boolean;
  ways: number;
};

export type Automaton = {
  readonly states: readonly State[];
  /** The states that an attempt can begin with behind a character of this state. */
  readonly begun: (before: State) => readonly number[];
  /** Whether the match may end behind a state when a character of the next one, or any, follows: a way through here cannot fail. */
  readonly accepts: (state: State, next?: State) => boolean;
  readonly disjoint: (a: State, b: State) => boolean;
  readonly problems: readonly string[];
};

/** What must hold between two characters. `unknown`: an assertion that is not looked into, and may hold or not. */
type Condition =
  | { readonly kind: "text_start" | "text_end" | "unknown" }
  | { readonly kind: "line_start" | "line_end" }
  | { readonly kind: "word"; readonly negate: boolean }
  | { readonly kind: "behind" | "ahead"; readonly set: CharSet; readonly negate: boolean };

type Link = { readonly place: number; readonly conditions: readonly Condition[] };
type Fragment = { first: Link[]; last: Link[]; empty: (readonly Condition[])[] };
type Place = { readonly chars: CharSet; readonly source: string };
type PlaceEdge = { from: number; to: number; conditions: readonly Condition[]; loop: AST.Quantifier | undefined };

/** A repetition of a fixed count is written out up to this many places; above it, it is a loop. */
const placesOfRepetition = 300;

export function automatonOf(source: string, flagText: string): Automaton {
  const parser = new RegExpParser();
  const unicode = { unicode: flagText.includes("u"), unicodeSets: flagText.includes("v") };
  const pattern = parser.parsePattern(source, 0, source.length, unicode);
  const flags: ReadonlyFlags = parser.parseFlags(flagText);
  const places: Place[] = [];
  const edges: PlaceEdge[] = [];
  const problems: string[] = [];
  const setOf = (text: string) =>
    toUnicodeSet(parser.parsePattern(text).alternatives[0]?.elements[0] as AST.CharacterClass, flags).chars;
  const wordSet = setOf("\\w");
  const lineSet = setOf("[\\n\\r\\u2028\\u2029]");
  const openGroups = new Set<AST.CapturingGroup>();

  function alternatives(of: readonly AST.Alternative[]): Fragment {
    const parts = of.map((alternative) => sequence(alternative.elements));
    return {
      first: parts.flatMap((part) => part.first),
      last: parts.flatMap((part) => part.last),
      empty: parts.flatMap((part) => part.empty),
    };
  }

  function sequence(elements: readonly AST.Element[]): Fragment {
    let whole: Fragment = { first: [], last: [], empty: [[]] };
    for (const element of elements) whole = joined(whole, fragment(element));
    return whole;
  }

  function joined(a: Fragment, b: Fragment): Fragment {
    connect(a.last, b.first, undefined);
    return {
      first: [...a.first, ...a.empty.flatMap((empty) => b.first.map((link) => behind(empty, link)))],
      last: [...b.last, ...b.empty.flatMap((empty) => a.last.map((link) => ahead(link, empty)))],
      empty: distinct(a.empty.flatMap((one) => b.empty.map((other) => [...one, ...other]))),
    };
  }

  function connect(from: readonly Link[], to: readonly Link[], loop: AST.Quantifier | undefined): void {
    for (const a of from)
      for (const b of to)
        edges.push({ from: a.place, to: b.place, conditions: [...a.conditions, ...b.conditions], loop });
  }

  function place(chars: CharSet, raw: string): Fragment {
    if (chars.isEmpty) return { first: [], last: [], empty: [] };
    const link = { place: places.length, conditions: [] };
    places.push({ chars, source: raw });
    return { first: [link], last: [link], empty: [] };
  }

  function fragment(node: AST.Element): Fragment {
    switch (node.type) {
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
      case "ExpressionCharacterClass":
        return place(toUnicodeSet(node, flags).chars, node.raw);
      case "Group":
        return alternatives(node.alternatives);
      case "CapturingGroup": {
        openGroups.add(node);
        const inner = alternatives(node.alternatives);
        openGroups.delete(node);
        return inner;
      }
      case "Backreference": {
        const groups = [node.resolved].flat().filter((group) => !openGroups.has(group));
        const parts = groups.map((group) => alternatives(group.alternatives));
        return {
          first: parts.flatMap((part) => part.first),
          last: parts.flatMap((part) => part.last),
          empty: groups.every((group) => takesPart(group, node)) ? parts.flatMap((part) => part.empty) : [[]],
        };
      }
      case "Quantifier":
        return repeated(node);
      case "Assertion":
        return asserted(node);
      default:
        problems.push(`${(node as AST.Element).raw} is not understood`);
        return { first: [], last: [], empty: [[]] };
    }
  }

  function repeated(node: AST.Quantifier): Fragment {
    if (node.max === 0) return { first: [], last: [], empty: [[]] };
    const before = places.length;
    const edgesBefore = edges.length;
    const one = fragment(node.element);
    const size = places.length - before;
    const nested = edges.length > edgesBefore && edges.slice(edgesBefore).some((edge) => edge.loop !== undefined);
    if ((node.min === node.max || (nested && node.max !== Infinity)) && size * node.max <= placesOfRepetition) {
      // x{2,4} is x(?:x(?:x(?:x)?)?): written out from its end.
      let whole: Fragment = { first: [], last: [], empty: [[]] };
      for (let count = node.max; count > 0; count--) {
        whole = joined(count === node.max ? one : fragment(node.element), whole);
        if (count > node.min) whole = { ...whole, empty: [[]] };
      }
      return whole;
    }
    if (node.max > 1) connect(one.last, one.first, node);
    return node.min === 0 ? { ...one, empty: [[]] } : one;
  }

  function asserted(node: AST.Assertion): Fragment {
    const holds = (condition: Condition): Fragment => ({ first: [], last: [], empty: [[condition]] });
    if (node.kind === "start") return holds({ kind: flags.multiline ? "line_start" : "text_start" });
    if (node.kind === "end") return holds({ kind: flags.multiline ? "line_end" : "text_end" });
    if (node.kind === "word") return holds({ kind: "word", negate: node.negate });
    if (!("alternatives" in node)) return holds({ kind: "unknown" });
    const single = singleCharacter(node.alternatives);
    if (single !== undefined)
      return holds({ kind: node.kind === "lookahead" ? "ahead" : "behind", set: single, negate: node.negate });
    if (node.kind === "lookbehind") {
      if (/[*+]|,\}/.test(node.raw.replace(/\\./g, "").replace(/\[[^\]]*\]/g, "")))
        problems.push(`${node.raw} may look back over the whole text`);
      return holds({ kind: "unknown" });
    }
    // What it reads is read and given up: a way without an end.
    const inner = alternatives(node.alternatives);
    return { first: inner.first, last: [], empty: [[{ kind: "unknown" }]] };
  }

  function singleCharacter(of: readonly AST.Alternative[]): CharSet | undefined {
    const sets: CharSet[] = [];
    for (const { elements } of of) {
      const [element] = elements;
      if (elements.length !== 1 || element === undefined) return undefined;
      if (element.type !== "Character" && element.type !== "CharacterSet" && element.type !== "CharacterClass")
        return undefined;
      sets.push(toUnicodeSet(element, flags).chars);
    }
    return sets.reduce((all, set) => all.union(set));
  }

  const whole = alternatives(pattern.alternatives);

  // A place is split into states of characters that all conditions treat alike.
  const conditions = [
    ...edges.flatMap((edge) => edge.conditions),
    ...[...whole.first, ...whole.last].flatMap((link) => link.conditions),
  ];
  const cuts = new Map<string, CharSet>();
  for (const condition of conditions) {
    const set =
      condition.kind === "word"
        ? wordSet
        : condition.kind === "line_start" || condition.kind === "line_end"
          ? lineSet
          : "set" in condition
            ? condition.set
            : undefined;
    if (set !== undefined) cuts.set(keyOf(set), set);
  }
  const states: State[] = [];
  const ids = new Map<string, number>();
  const statesOf = places.map(({ chars, source: raw }) => {
    let parts = [chars];
    for (const cut of cuts.values())
      parts = parts.flatMap((part) => [part.intersect(cut), part.without(cut)]).filter((part) => !part.isEmpty);
    return parts.map((part) => {
      const key = keyOf(part);
      const charsId = ids.get(key) ?? ids.size;
      ids.set(key, charsId);
      states.push({ chars: part, charsId, source: raw, edges: [] });
      return states.length - 1;
    });
  });
  const state = (index: number) => states[index] as State;

  function allowed(all: readonly Condition[], before: CharSet | undefined, after: CharSet | undefined): boolean {
    const within = (set: CharSet, chars: CharSet | undefined) => chars !== undefined && !chars.isDisjointWith(set);
    return all.every((condition) => {
      switch (condition.kind) {
        case "text_start":
          return before === undefined;
        case "text_end":
          return after === undefined;
        case "line_start":
          return before === undefined || within(lineSet, before);
        case "line_end":
          return after === undefined || within(lineSet, after);
        case "word":
          return (within(wordSet, before) !== within(wordSet, after)) !== condition.negate;
        case "behind":
          return within(condition.set, before) !== condition.negate;
        case "ahead":
          return within(condition.set, after) !== condition.negate;
        default:
          return true;
      }
    });
  }

  for (const edge of edges) {
    for (const from of statesOf[edge.from] ?? []) {
      for (const to of statesOf[edge.to] ?? []) {
        if (!allowed(edge.conditions, state(from).chars, state(to).chars)) continue;
        const isSure = edge.conditions.every(({ kind }) => kind !== "unknown");
        const same = state(from).edges.find((one) => one.to === to && one.loop === edge.loop && one.isSure === isSure);
        if (same === undefined) state(from).edges.push({ to, loop: edge.loop, isSure, ways: 1 });
        else same.ways++;
      }
    }
  }
  const endings = new Map<State, (readonly Condition[])[]>();
  for (const link of whole.last) {
    // What reads anything up to the end of the text, and may end there, always ends.
    const anything = keyOf(places[link.place]?.chars ?? lineSet) === keyOf(setOf("[^]"));
    const goesOn = edges.some(
      (edge) =>
        edge.from === link.place &&
        edge.to === link.place &&
        edge.loop?.max === Infinity &&
        edge.conditions.length === 0,
    );
    const always = anything && goesOn && link.conditions.every((condition) => condition.kind === "text_end");
    for (const index of statesOf[link.place] ?? [])
      endings.set(state(index), [...(endings.get(state(index)) ?? []), always ? [] : link.conditions]);
  }
  const disjointOf = new Map<string, boolean>();
  const begunOf = new Map<State, readonly number[]>();
  return {
    states,
    problems,
    begun(before) {
      const known = begunOf.get(before);
      if (known !== undefined) return known;
      const fresh = whole.first.flatMap((link) =>
        (statesOf[link.place] ?? []).filter((index) => allowed(link.conditions, before.chars, state(index).chars)),
      );
      begunOf.set(before, fresh);
      return fresh;
    },
    accepts: (from, to) =>
      (endings.get(from) ?? []).some((all) => {
        if (to === undefined || all.length === 0) return all.length === 0;
        return !all.some(({ kind }) => kind === "unknown") && allowed(all, from.chars, to.chars);
      }),
    disjoint(a, b) {
      if (a.charsId === b.charsId) return false;
      const key = `${a.charsId} ${b.charsId}`;
      const known = disjointOf.get(key);
      if (known !== undefined) return known;
      const fresh = a.chars.isDisjointWith(b.chars);
      disjointOf.set(key, fresh);
      return fresh;
    },
  };
}

const behind = (empty: readonly Condition[], link: Link): Link => ({
  place: link.place,
  conditions: [...empty, ...link.conditions],
});
const ahead = (link: Link, empty: readonly Condition[]): Link => ({
  place: link.place,
  conditions: [...link.conditions, ...empty],
});

/** Two of a kind say as much as many: there is more than one way. */
function distinct(all: readonly (readonly Condition[])[]): (readonly Condition[])[] {
  const counts = new Map<string, number>();
  return all.filter((one) => {
    const key = one.map((condition) => condition.kind).join();
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return (counts.get(key) ?? 0) <= 2;
  });
}

/** Whether a group has always matched where it is referred to. */
function takesPart(group: AST.CapturingGroup, reference: AST.Backreference): boolean {
  const around = new Set<AST.Node>();
  for (let node: AST.Node | null = reference; node !== null; node = node.parent) around.add(node);
  for (let node: AST.Node | null = group; node !== null && !around.has(node); node = node.parent) {
    if (node.type === "Quantifier" && node.min === 0) return false;
    if (node.type === "Alternative" && node.parent.alternatives.length > 1) return false;
  }
  return true;
}

const keyOf = (set: CharSet) => set.ranges.map(({ min, max }) => `${min}-${max}`).join();
