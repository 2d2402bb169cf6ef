import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type NormalizedText, normalize } from "#privacy/text/normalized-text.ts";
import { eachTokenRun } from "./run-index.ts";

const piece = fc.oneof(
  fc.constantFrom(" ", "\n", "/", "+", "//", "=", "==", ".", "const answer = ask(question);\n", "é\xff\x80", "@`[{"),
  fc.string({ unit: fc.constantFrom(..."aZ09_-"), minLength: 1, maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(..."aZ09_-+/"), minLength: 1, maxLength: 90 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
/** Long enough for WebAssembly. */
const longText = fc.tuple(text, fc.nat(64)).map(([body, lead]) => `${" ".repeat(1_024 + lead)}${body}`);

interface Visits {
  readonly runs: string[];
  readonly symbols: number[];
}

/** @param goOn how far behind the end of a run reading goes on */
function visitsIn(normalized: NormalizedText, goOn = 0): Visits {
  const visits: Visits = { runs: [], symbols: [] };
  eachTokenRun(
    normalized,
    (from, to) => {
      visits.runs.push(`${from} to ${to}`);
      return to + goOn;
    },
    (at) => {
      visits.symbols.push(at);
      return at + 1;
    },
  );
  return visits;
}

for (const [reader, texts, read] of [
  ["by WebAssembly", longText, normalize],
  ["in JavaScript", text, (source: string) => ({ ...normalize(source), memory: undefined })],
] as const) {
  describe(`runs of token characters, ${reader},`, () => {
    test("are all found that have 16 characters", () => {
      fc.assert(
        fc.property(texts, (source) => {
          const normalized = read(source);
          const runs = [...normalized.text.matchAll(/[\w-]{16,}/g)];
          expect(visitsIn(normalized).runs).toEqual(
            runs.map(({ index, 0: run }) => `${index} to ${index + run.length}`),
          );
        }),
        { numRuns: 400 },
      );
    });

    test("are found from where the visitor says on", () => {
      fc.assert(
        fc.property(texts, fc.nat(50), (source, goOn) => {
          const normalized = read(source);
          const expected: string[] = [];
          const pattern = /[\w-]{16,}/g;
          for (let run = pattern.exec(normalized.text); run !== null; run = pattern.exec(normalized.text)) {
            expected.push(`${run.index} to ${pattern.lastIndex}`);
            pattern.lastIndex += goOn;
          }
          expect(visitsIn(normalized, goOn).runs).toEqual(expected);
        }),
        { numRuns: 400 },
      );
    });

    test("or one of its symbols are visited in each stretch of base64 of 48 characters that holds a symbol", () => {
      fc.assert(
        fc.property(texts, (source) => {
          const normalized = read(source);
          const { runs, symbols } = visitsIn(normalized);
          const visited = [...runs.map((run) => Number.parseInt(run, 10)), ...symbols];
          for (const symbol of symbols) expect(normalized.text[symbol]).toMatch(/[+/]/);
          for (const { index, 0: stretch } of normalized.text.matchAll(/[\w+/-]{48,}/g)) {
            if (!/[+/]/.test(stretch)) continue;
            expect(visited.some((at) => at >= index && at < index + stretch.length)).toBe(true);
          }
        }),
        { numRuns: 400 },
      );
    });
  });
}

test("runs are the same with and without WebAssembly", () => {
  fc.assert(
    fc.property(longText, fc.nat(50), (source, goOn) => {
      const normalized = normalize(source);
      expect(normalized.memory).toBeDefined();
      const { runs } = visitsIn(normalized, goOn);
      expect(visitsIn({ ...normalized, memory: undefined }, goOn).runs).toEqual(runs);
    }),
    { numRuns: 400 },
  );
});

test("nothing is found behind the end of a text, where the memory holds an earlier one", () => {
  normalize(`${"const a_long_name_of_something = 1;\n".repeat(300)}`);
  for (let length = 1_024; length < 1_124; length++) {
    const normalized = normalize("a_very_long_name_of_a_function ".repeat(40).slice(0, length));
    const runs = [...normalized.text.matchAll(/[\w-]{16,}/g)];
    expect(visitsIn(normalized).runs).toEqual(runs.map(({ index, 0: run }) => `${index} to ${index + run.length}`));
  }
});
