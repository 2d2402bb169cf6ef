import { expect, test } from "bun:test";
import { type ProseCall, proseBound } from "./prose-bound.ts";

const run = (n: number, prose: readonly number[], more: Partial<ProseCall> = {}): ProseCall[] =>
  prose.map((chars, at) => ({ conversation: `c${n}`, continuation: at > 0, model: "flash", prose: chars, ...more }));
const runs = (count: number, more: Partial<ProseCall> = {}) =>
  Array.from({ length: count }, (_, n) => run(n, [0, 50 * n, 100 * n], more)).flat();

test("is what nineteen of twenty runs of the model stay below", () => {
  expect(proseBound(runs(200), "flash", 3)).toEqual({ model: "flash", runs: 200, chars: 18_900 });
});

test("is not known from few runs, short ones, or those of another model", () => {
  expect(proseBound(runs(99), "flash", 3)).toBeUndefined();
  expect(proseBound(runs(200), "flash", 4)).toBeUndefined();
  expect(proseBound(runs(200, { model: "pro" }), "flash", 3)).toBeUndefined();
});

test("counts what was written before a run went to pro, and each ask of a conversation", () => {
  const left = Array.from({ length: 100 }, (_, n) => [
    ...run(n, [0, 5_000, 6_000]),
    { conversation: `c${n}`, continuation: true, model: "pro", prose: 7_000 },
    { conversation: `c${n}`, continuation: true, model: "pro", prose: 90_000 },
    ...run(n, [0, 100, 4_100]),
  ]).flat();
  expect(proseBound(left, "flash", 3)).toEqual({ model: "flash", runs: 200, chars: 7_000 });
});
