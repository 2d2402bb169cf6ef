import { expect, test } from "bun:test";
import { proseBounds } from "./prose-bound.ts";

const run = (n: number, prose: readonly number[], model = "flash") =>
  prose.map((chars, at) => ({ conversation: `c${n}`, continuation: at > 0, model, prose: chars }));
const runs = (count: number, model?: string) =>
  Array.from({ length: count }, (_, n) => run(n, [0, 50 * n, 100 * n], model)).flat();

test("is what nineteen of twenty runs of each model stay below, where enough runs were long enough", () => {
  const both = [...runs(200), ...runs(100, "pro")];
  const bounds = [
    { model: "flash", runs: 200, chars: 18_900 },
    { model: "pro", runs: 100, chars: 9_400 },
  ];
  expect(proseBounds(both, 3)).toEqual(bounds);
  expect(proseBounds(both, 4)).toEqual([]);
  expect(proseBounds([...runs(99), ...runs(100, "pro")], 3)).toEqual(bounds.slice(1));
});

test("counts what was written before a run went to another model, and each ask of a conversation", () => {
  const left = Array.from({ length: 100 }, (_, n) => [
    ...run(n, [0, 5_000, 6_000]),
    { conversation: `c${n}`, continuation: true, model: "pro", prose: 7_000 },
    { conversation: `c${n}`, continuation: true, model: "pro", prose: 90_000 },
    ...run(n, [0, 100, 4_100]),
  ]).flat();
  expect(proseBounds(left, 3)).toEqual([{ model: "flash", runs: 200, chars: 7_000 }]);
});
