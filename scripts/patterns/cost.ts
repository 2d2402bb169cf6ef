// How much a backtracking matcher may do for a character of a text, at most. A matcher tries the ways through an automaton
// one after another, and gives up a way only when it fails; so what counts is how many ways read the same text (Weber and
// Seidl, "On the degree of ambiguity of finite automata"). Two ways around a loop: exponential. A loop that is entered
// anew while another one goes on over the same text, or the search for a place to begin: the two multiply.
// A way through a state where the match may end does not fail, so it is never tried twice.
import { type Automaton, automatonOf, type Edge, type State } from "./automaton.ts";

/** Steps for each character that may pass: a bounded repetition is a constant, as long as it is a small one. */
const stepsForCharacter = 4_000;
const stepsForText = 1_000_000;
/** A bounded loop with two ways around it may be taken so often. */
const timesAround = 12;
const workLimit = 30_000_000;

/** `length`: how many times the length of the text is a factor. */
type Cost = { readonly length: number; readonly factor: number };
/** A step around a loop, with the characters that it reads. */
type Step = Edge & { readonly state: State };
type Loop = {
  readonly members: readonly number[];
  readonly next: ReadonlyMap<number, readonly Step[]>;
  readonly cost: Cost;
};

class TooLarge extends Error {}

/** What is wrong with a pattern; undefined when its time is linear in the text that it reads. */
export function problemOf(source: string, flags: string): string | undefined {
  try {
    const automaton = automatonOf(source, flags);
    if (automaton.problems.length > 0) return automaton.problems.join("; ");
    return new Judgement(automaton).problem();
  } catch (error) {
    if (error instanceof TooLarge) return "too large to be judged: divide it";
    throw error;
  }
}

class Judgement {
  readonly #automaton: Automaton;
  #work = 0;
  #nextId = 1_000_000;

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
  }

  problem(): string | undefined {
    const all = this.#loops((from) => this.#at(from).edges.map((edge) => ({ ...edge, state: this.#at(edge.to) })));
    const failing = this.#loops((from) => this.#failingSteps(from));
    for (const loop of failing) {
      if (loop.cost.length === 0 && loop.cost.factor <= timesAround) continue;
      if (this.#twoWaysAround(loop)) return `exponential: two ways around ${this.#sourceOf(loop)}`;
    }
    const chains = new Map<Loop, { readonly cost: Cost; readonly of: string }>();
    for (const loop of failing) {
      let dearest = { cost: loop.cost, of: this.#sourceOf(loop) };
      if (this.#beginsAnew(loop))
        dearest = { cost: times({ length: 1, factor: 1 }, loop.cost), of: `search, then ${dearest.of}` };
      for (const earlier of [...all, ...failing]) {
        if (earlier.members.every((member) => loop.next.has(member))) continue;
        const before = chains.get(earlier) ?? { cost: earlier.cost, of: this.#sourceOf(earlier) };
        const cost = times(before.cost, loop.cost);
        if (!dearer(cost, dearest.cost) || !this.#entersAnew(earlier, loop)) continue;
        dearest = { cost, of: `${before.of}, then ${this.#sourceOf(loop)}` };
      }
      if (dearest.cost.length > 1) return `n to the power of ${dearest.cost.length}: ${dearest.of}`;
      if (dearest.cost.factor > (dearest.cost.length === 1 ? stepsForCharacter : stepsForText))
        return `up to ${dearest.cost.factor} steps a character: ${dearest.of}`;
      chains.set(loop, dearest);
    }
    return undefined;
  }

  #at(index: number): State {
    return this.#automaton.states[index] as State;
  }

  #spend(steps: number): void {
    this.#work += steps;
    if (this.#work > workLimit) throw new TooLarge();
  }

  #together(a: State, b: State): boolean {
    return !this.#automaton.disjoint(a, b);
  }

  #sourceOf(loop: Loop): string {
    const sources = [...new Set(loop.members.map((member) => this.#at(member).source))];
    return `${sources.slice(0, 4).join(" ")}${sources.length > 4 ? " …" : ""} (repeated)`;
  }

  /** The strongly connected components with an edge inside, earlier ones first. */
  #loops(stepsFrom: (from: number) => Step[]): Loop[] {
    const steps = this.#automaton.states.map((_, index) => stepsFrom(index));
    const edgesOf = (from: number) => steps[from] ?? [];
    const all = this.#automaton.states.map((_, index) => index);
    return components(
      all,
      (from) => edgesOf(from).map(({ to }) => to),
      (steps) => this.#spend(steps),
    )
      .reverse()
      .flatMap((members) => {
        const inside = new Set(members);
        const next = new Map(members.map((member) => [member, edgesOf(member).filter(({ to }) => inside.has(to))]));
        const edges = [...next.values()].flat();
        if (edges.length === 0) return [];
        const quantifiers = [...new Set(edges.flatMap((edge) => edge.loop ?? []))];
        const cost = quantifiers.some(({ max }) => max === Infinity)
          ? { length: 1, factor: 1 }
          : { length: 0, factor: quantifiers.reduce((product, { max }) => product * max, 1) };
        return [{ members, next, cost }];
      });
  }

  /** The steps by which an attempt may still fail: not with a character that also ends the match. */
  #failingSteps(from: number): Step[] {
    const { accepts } = this.#automaton;
    const state = this.#at(from);
    const ends = state.edges
      .filter((edge) => edge.isSure)
      .map((edge) => this.#at(edge.to))
      .filter((next) => accepts(next));
    return state.edges.flatMap((edge) => {
      const next = this.#at(edge.to);
      if (accepts(state, next)) return [];
      const chars = ends.reduce((set, end) => set.without(end.chars), next.chars);
      if (chars.isEmpty) return [];
      return [{ ...edge, state: chars.equals(next.chars) ? next : { ...next, chars, charsId: this.#nextId++ } }];
    });
  }

  #twoWaysAround(loop: Loop): boolean {
    const { members } = loop;
    for (const edges of loop.next.values()) {
      const ways = new Map<number, number>();
      for (const edge of edges) ways.set(edge.to, (ways.get(edge.to) ?? 0) + edge.ways);
      if ([...ways.values()].some((count) => count > 1)) return true;
    }
    if (members.length === 1) return false;
    // Pairs of states that two ways over the same text can be in; a way round from a pair of equals over a pair of others.
    const count = this.#automaton.states.length;
    const next = (pair: number) => {
      const [a, b] = [Math.floor(pair / count), pair % count];
      const pairs: number[] = [];
      for (const one of loop.next.get(a) ?? [])
        for (const other of loop.next.get(b) ?? [])
          if (this.#together(one.state, other.state)) pairs.push(one.to * count + other.to);
      return pairs;
    };
    const starts = members.map((member) => member * count + member);
    return components(starts, next, (steps) => this.#spend(steps)).some((pairs) => {
      const equal = pairs.some((pair) => Math.floor(pair / count) === pair % count);
      return equal && pairs.some((pair) => Math.floor(pair / count) !== pair % count);
    });
  }

  /** Whether a text exists that leads around the loop, and from a beginning anywhere in it into the loop. */
  #beginsAnew(loop: Loop): boolean {
    const count = this.#automaton.states.length;
    return loop.members.some((target) =>
      this.#reaches(
        [[-1, target] as readonly [number, number]],
        ([searching, looping]) => {
          const nexts: (readonly [number, number])[] = [];
          const on =
            searching === -1
              ? [-1, ...this.#automaton.begun(this.#at(looping))]
              : this.#at(searching).edges.map((edge) => edge.to);
          for (const { to, state } of loop.next.get(looping) ?? [])
            for (const one of on) if (one === -1 || this.#together(this.#at(one), state)) nexts.push([one, to]);
          return nexts;
        },
        ([searching, looping]) => searching === target && looping === target,
        ([searching, looping]) => (searching + 1) * count + looping,
      ),
    );
  }

  /** Whether a text exists that leads around the earlier loop, from it into the later one, and around the later one. */
  #entersAnew(earlier: Loop, later: Loop): boolean {
    const count = this.#automaton.states.length;
    return earlier.members.some((from) => {
      if (later.next.has(from)) return false;
      return later.members.some((target) =>
        this.#reaches(
          [[from, from, target] as readonly [number, number, number]],
          ([first, between, second]) => {
            const nexts: (readonly [number, number, number])[] = [];
            for (const one of earlier.next.get(first) ?? []) {
              for (const other of later.next.get(second) ?? []) {
                if (!this.#together(one.state, other.state)) continue;
                for (const edge of this.#at(between).edges) {
                  const state = this.#at(edge.to);
                  if (this.#together(state, one.state) && this.#together(state, other.state))
                    nexts.push([one.to, edge.to, other.to]);
                }
              }
            }
            return nexts;
          },
          ([first, between, second]) => first === from && between === target && second === target,
          ([first, between, second]) => (first * count + between) * count + second,
        ),
      );
    });
  }

  #reaches<T>(starts: readonly T[], next: (of: T) => T[], goal: (of: T) => boolean, keyOf: (of: T) => number): boolean {
    const seen = new Set<number>();
    const open = [...starts];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      const nexts = next(one);
      this.#spend(nexts.length + 1);
      for (const to of nexts) {
        if (goal(to)) return true;
        const key = keyOf(to);
        if (seen.has(key)) continue;
        seen.add(key);
        open.push(to);
      }
    }
    return false;
  }
}

const times = (a: Cost, b: Cost): Cost => ({ length: a.length + b.length, factor: a.factor * b.factor });
const dearer = (a: Cost, b: Cost) => a.length > b.length || (a.length === b.length && a.factor > b.factor);

/** Strongly connected components (Tarjan), later ones first; without recursion, since patterns are long. */
function components(
  starts: readonly number[],
  next: (of: number) => readonly number[],
  spend: (steps: number) => void,
): number[][] {
  const order = new Map<number, number>();
  const low = new Map<number, number>();
  const onStack = new Set<number>();
  const stack: number[] = [];
  const found: number[][] = [];
  for (const start of starts) {
    if (order.has(start)) continue;
    const calls: { of: number; nexts: readonly number[]; at: number }[] = [];
    const enter = (of: number) => {
      order.set(of, order.size);
      low.set(of, order.get(of) ?? 0);
      stack.push(of);
      onStack.add(of);
      const nexts = next(of);
      spend(nexts.length + 1);
      calls.push({ of, nexts, at: 0 });
    };
    enter(start);
    for (let call = calls.at(-1); call !== undefined; call = calls.at(-1)) {
      const to = call.nexts[call.at++];
      if (to !== undefined) {
        if (!order.has(to)) enter(to);
        else if (onStack.has(to)) low.set(call.of, Math.min(low.get(call.of) ?? 0, order.get(to) ?? 0));
        continue;
      }
      calls.pop();
      const caller = calls.at(-1);
      if (caller !== undefined) low.set(caller.of, Math.min(low.get(caller.of) ?? 0, low.get(call.of) ?? 0));
      if (low.get(call.of) !== order.get(call.of)) continue;
      const members: number[] = [];
      let member: number | undefined;
      do {
        member = stack.pop() as number;
        onStack.delete(member);
        members.push(member);
      } while (member !== call.of);
      found.push(members);
    }
  }
  return found;
}
