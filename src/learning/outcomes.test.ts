import { expect, test } from "bun:test";
import { type RoutedCall, trialsIn } from "./outcomes.ts";

const flash = { tier: "flash" } as const;
const pro = { tier: "pro" } as const;
const further = { continuation: true };
const escalating = { ...pro, ...further, hardRule: true };
const again = { ask: "a" };
const failure = { reportedFailure: true };
const solved = { outcome: "solved" } as const;
const failed = { outcome: "failed" } as const;
const minutes = (n: number) => ({ atMs: n * 60_000 });

/** Calls of one conversation, a minute apart: each a new ask of its own, unless it says otherwise. */
const calls = (given: readonly Partial<RoutedCall>[]): RoutedCall[] =>
  given.map((more, at) => ({
    ...{ conversation: "c", atMs: at * 60_000, continuation: false, ask: at === 0 ? "a" : `${at}`, tier: "flash" },
    ...{ model: "m", score: at, hardRule: false, reportedFailure: false, outcome: undefined, prose: 0 },
    ...more,
  }));

type Row = readonly [string, readonly Partial<RoutedCall>[], failed: boolean, rescued: boolean | undefined];
const rows: readonly Row[] = [
  ["nothing follows", [flash], false, undefined],
  ["another ask follows", [flash, flash], false, undefined],
  ["the caller says that it failed", [{ ...flash, ...failed }], true, undefined],
  ["the report is about a further turn", [flash, { ...further, ...failed }], true, undefined],
  ["a failure is reported with a further turn", [flash, { ...further, ...failure }], true, undefined],
  [
    "a failure is reported, and the caller says that it was solved",
    [
      { ...flash, ...solved },
      { ...further, ...failure },
    ],
    false,
    undefined,
  ],
  ["it is asked again within ten minutes, on flash", [flash, again], true, undefined],
  ["it is asked again later", [flash, { ...again, ...minutes(11) }], false, undefined],
  ["a failure is reported an hour later", [flash, { ...failure, ...minutes(61) }], false, undefined],
  ["pro is asked again, and nothing follows", [flash, { ...again, ...pro }], true, true],
  [
    "pro is asked after a reported failure, and its answer fails",
    [flash, { ...failure, ...pro, ...failed }],
    true,
    false,
  ],
  ["pro is asked again, and again", [flash, { ...again, ...pro }, { ...again, ...pro }], true, false],
  ["pro is asked something else", [flash, pro], false, undefined],
  ["the run escalates, and nothing follows", [flash, escalating], true, undefined],
  ["the run escalates, and another ask follows", [flash, escalating, flash], true, true],
  ["the run escalates and fails again", [flash, escalating, { ...further, ...pro, ...failure }, flash], true, false],
  ["the run escalates, and the caller says that it is solved", [flash, { ...escalating, ...solved }], true, true],
  [
    "the run escalates, and the caller says that it has failed",
    [flash, { ...escalating, ...failed }, flash],
    true,
    false,
  ],
];
test.each(rows)("what became of an ask when %s", (_, given, isFailed, rescued) => {
  expect(trialsIn(calls(given))[0]).toEqual({ score: 0, failed: isFailed, rescued });
});

test("only asks that flash answered first are trials, and conversations do not mix", () => {
  expect(trialsIn(calls([pro, flash, { ...failure, conversation: "d" }]))).toEqual([
    { score: 1, failed: false, rescued: undefined },
    { score: 2, failed: false, rescued: undefined },
  ]);
});
