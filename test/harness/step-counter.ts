import { type AST, RegExpParser } from "@eslint-community/regexpp";
import { type ReadonlyFlags, toUnicodeSet } from "regexp-ast-analysis";

/**
 * Counts what a plain backtracking matcher (ECMA-262, 22.2.2) does for all patterns that are run meanwhile, and the characters that
 * searches and loops over characters read: the same number on every machine, however busy it is. The results are the runtime's own.
 */
export class StepCounter {
  steps = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws TooManySteps above the limit, from within what is counted */
  add(steps: number): void {
    this.steps += steps;
    if (this.steps > this.#limit) throw new TooManySteps(`more than ${this.#limit} steps`);
  }

  /** Counts until the function that it returns is called. */
  start(): () => void {
    const { exec } = RegExp.prototype;
    const originals = Object.fromEntries(Object.keys(readBy).map((name) => [name, stringMethods[name]]));
    const counter = this;
    RegExp.prototype.exec = function (text: string) {
      countSteps(this, String(text), counter);
      return exec.call(this, text);
    };
    for (const [name, read] of Object.entries(readBy)) {
      const original = originals[name] as (...args: unknown[]) => unknown;
      stringMethods[name] = function (this: string, ...args: unknown[]) {
        const result = original.apply(this, args);
        counter.add(read(this, args, result));
        return result;
      };
    }
    return () => {
      RegExp.prototype.exec = exec;
      Object.assign(stringMethods, originals);
    };
  }
}

export class TooManySteps extends Error {}

const stringMethods = String.prototype as unknown as Record<string, unknown>;
/** Characters that methods of strings read. */
const readBy: Readonly<Record<string, (text: string, args: readonly unknown[], result: unknown) => number>> = {
  charCodeAt: () => 1,
  codePointAt: () => 1,
  indexOf: (text, [, from = 0], at) => Math.max(1, (Number(at) < 0 ? text.length : Number(at)) - Number(from)),
  toLowerCase: (text) => text.length,
};

/** Continuations: where a match goes on, or -1. */
type Then = (at: number) => number;
type Match = (at: number, then: Then) => number;

interface Run {
  text: string;
  counter: StepCounter;
  groups: (readonly [from: number, to: number] | undefined)[];
}

const compiled = new Map<string, { readonly match: Match; readonly run: Run }>();

function countSteps(pattern: RegExp, text: string, counter: StepCounter): void {
  const { source, flags, global, sticky } = pattern;
  const key = `${flags}/${source}`;
  const known = compiled.get(key) ?? compile(source, flags);
  compiled.set(key, known);
  const { match, run } = known;
  Object.assign(run, { text, counter });
  for (let at = global || sticky ? pattern.lastIndex : 0; at <= text.length; at++) {
    run.groups = [];
    counter.add(1);
    if (match(at, (end) => end) >= 0 || sticky) break;
  }
}

function compile(source: string, flagText: string): { readonly match: Match; readonly run: Run } {
  const parser = new RegExpParser();
  const flags: ReadonlyFlags = parser.parseFlags(flagText);
  const { alternatives } = parser.parsePattern(source, 0, source.length, {
    unicode: flags.unicode === true,
    unicodeSets: flags.unicodeSets === true,
  });
  const run: Run = { text: "", counter: new StepCounter(0), groups: [] };
  const wide = flags.unicode === true || flags.unicodeSets === true;
  const numbers = new Map<AST.CapturingGroup, number>();

  /** The place behind the character at a place that is in the set, or before the one before it; -1 for another. */
  function reader(
    node: AST.Character | AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass,
    back: boolean,
  ) {
    const { chars } = toUnicodeSet(node, flags);
    const narrow = Uint8Array.from({ length: 256 }, (_, code) => Number(chars.has(code)));
    return (at: number): number => {
      run.counter.add(1);
      const code = codeAt(run.text, back ? at - 1 : at, wide, back);
      if (code === undefined || !(code < 256 ? narrow[code] : chars.has(code))) return -1;
      const width = code > 0xffff ? 2 : 1;
      return back ? at - width : at + width;
    };
  }

  function choice(of: readonly AST.Alternative[], back: boolean): Match {
    const all = of.map(({ elements }) => sequence(back ? elements.toReversed() : elements, back));
    return (at, then) => {
      for (const one of all) {
        run.counter.add(1);
        const end = one(at, then);
        if (end >= 0) return end;
      }
      return -1;
    };
  }

  function sequence(elements: readonly AST.Element[], back: boolean): Match {
    return elements
      .map((element) => matcher(element, back))
      .reduceRight<Match>(
        (rest, one) => (at, then) => one(at, (next) => rest(next, then)),
        (at, then) => then(at),
      );
  }

  function matcher(node: AST.Element, back: boolean): Match {
    switch (node.type) {
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
      case "ExpressionCharacterClass": {
        const read = reader(node, back);
        return (at, then) => {
          const next = read(at);
          return next < 0 ? -1 : then(next);
        };
      }
      case "Group":
        return choice(node.alternatives, back);
      case "CapturingGroup": {
        const number = numbers.size;
        numbers.set(node, number);
        const inner = choice(node.alternatives, back);
        return (at, then) =>
          inner(at, (end) => {
            const before = run.groups[number];
            run.groups[number] = back ? [end, at] : [at, end];
            const result = then(end);
            if (result < 0) run.groups[number] = before;
            return result;
          });
      }
      case "Backreference":
        return (at, then) => {
          const range = [node.resolved].flat().flatMap((group) => run.groups[numbers.get(group) ?? -1] ?? []);
          const [from = 0, to = 0] = range;
          run.counter.add(1 + to - from);
          const start = back ? at - (to - from) : at;
          const same = run.text.slice(from, to) === run.text.slice(start, start + to - from);
          return same && start >= 0 ? then(back ? start : start + to - from) : -1;
        };
      case "Quantifier":
        return repetition(node, back);
      default:
        return assertion(node as AST.Assertion);
    }
  }

  function repetition({ element, min, max, greedy }: AST.Quantifier, back: boolean): Match {
    if (element.type === "Character" || element.type === "CharacterSet" || element.type === "CharacterClass") {
      const read = reader(element, back);
      return (at, then) => {
        const ends = [at];
        const more = () => {
          const next = ends.length > max ? -1 : read(ends.at(-1) as number);
          if (next >= 0) ends.push(next);
          return next >= 0;
        };
        while (ends.length <= min) if (!more()) return -1;
        if (!greedy) {
          do {
            const end = then(ends.at(-1) as number);
            if (end >= 0) return end;
          } while (more());
          return -1;
        }
        while (more());
        for (let count = ends.length - 1; count >= min; count--) {
          run.counter.add(1);
          const end = then(ends[count] as number);
          if (end >= 0) return end;
        }
        return -1;
      };
    }
    const one = matcher(element, back);
    return (at, then) => {
      const again = (count: number, place: number): number => {
        run.counter.add(1);
        const more = () =>
          count >= max ? -1 : one(place, (next) => (next === place && count >= min ? -1 : again(count + 1, next)));
        const done = () => (count >= min ? then(place) : -1);
        const end = greedy ? more() : done();
        return end >= 0 ? end : greedy ? done() : more();
      };
      return again(0, at);
    };
  }

  function assertion(node: AST.Assertion): Match {
    const isLine = (at: number) => "\n\r\u2028\u2029".includes(run.text[at] ?? " ");
    const isWord = (at: number) => wordCharacters.includes(run.text[at] ?? " ");
    if (node.kind === "start") return (at, then) => (at === 0 || (flags.multiline && isLine(at - 1)) ? then(at) : -1);
    if (node.kind === "end")
      return (at, then) => (at === run.text.length || (flags.multiline && isLine(at)) ? then(at) : -1);
    if (node.kind === "word") return (at, then) => ((isWord(at - 1) !== isWord(at)) !== node.negate ? then(at) : -1);
    if (!("alternatives" in node)) return (at, then) => then(at);
    const inner = choice(node.alternatives, node.kind === "lookbehind");
    return (at, then) => (inner(at, (end) => end) >= 0 !== node.negate ? then(at) : -1);
  }

  return { match: choice(alternatives, false), run };
}

const { charCodeAt } = String.prototype;

function codeAt(text: string, at: number, wide: boolean, back: boolean): number | undefined {
  const code = charCodeAt.call(text, at);
  if (Number.isNaN(code)) return undefined;
  const other = wide ? charCodeAt.call(text, back ? at - 1 : at + 1) : 0;
  if (back && code >= 0xdc00 && code < 0xe000 && other >= 0xd800 && other < 0xdc00)
    return 0x10000 + ((other - 0xd800) << 10) + (code - 0xdc00);
  if (!back && code >= 0xd800 && code < 0xdc00 && other >= 0xdc00 && other < 0xe000)
    return 0x10000 + ((code - 0xd800) << 10) + (other - 0xdc00);
  return code;
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
