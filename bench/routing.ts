/**
 * The quality and the cost of routing: prompts with recorded outcomes, captured requests and recorded runs of agents.
 * `bun bench/routing.ts [prompts] [captured] [runs] [--other CHECKOUT] [--write]`; without a name all of them. `--other` also measures
 * the score of another checkout, `--write` puts the tables into docs/routing.md. Needs the development data in ../shared.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Form, replayRuns } from "./routing/agent-runs.ts";
import { assessCaptured } from "./routing/captured.ts";
import { measurePrompts } from "./routing/prompts.ts";

const parts = ["prompts", "captured", "runs"] as const;
const asked = parts.filter((part) => process.argv.includes(part));
const wanted = new Set(asked.length === 0 ? parts : asked);
const otherAt = process.argv.indexOf("--other");
const lines: string[] = [];
const say = (...text: string[]) => {
  lines.push(...text);
  for (const line of text) console.log(line);
};
const percent = (share: number, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const three = (value: number | undefined) => (value === undefined ? "" : value.toFixed(3));

const prompts = wanted.has("prompts")
  ? await measurePrompts(otherAt < 0 ? undefined : process.argv[otherAt + 1])
  : undefined;
if (prompts !== undefined) {
  const { sources, kinds, falseAlarms, judged, languages } = prompts;
  const other = sources.some((source) => source.other !== undefined);
  const whole = (share: number) => (100 * share).toFixed(0);
  const row = (name: string, cells: readonly (string | number)[]) => `| ${name} | ${cells.join(" | ")} |`;
  const optional = (value: string) => (other ? [value] : []);
  say(
    row("prompts: APGR", [
      "score",
      "left out",
      "length",
      "regexes",
      ...optional("other"),
      "hard to flash, %",
      "easy to pro, %",
      "× all-pro",
    ]),
    row("---", ["---", "---", "---", "---", ...optional("---"), "---", "---", "---"]),
  );
  // The page has the mean; single sources are too many to read there.
  for (const each of sources)
    console.log(
      row(each.source.replace(/^llmrouter-/, ""), [
        three(each.score),
        three(each.leftOut),
        three(each.length),
        three(each.regexes),
        ...optional(three(each.other)),
        whole(each.hardToFlash),
        whole(each.easyToPro),
        each.timesPro.toFixed(2),
      ]),
    );
  const mean = (value: (source: (typeof sources)[number]) => number) =>
    sources.reduce((sum, source) => sum + value(source), 0) / sources.length;
  type Value = (source: (typeof sources)[number]) => number | undefined;
  const better = (score: Value, than: Value) =>
    `${sources.filter((source) => (score(source) ?? 0) > (than(source) ?? 0)).length} of ${sources.length}`;
  const comparison = (name: string, score: Value) =>
    row(`${name} is better on`, [
      "",
      "",
      better(score, ({ length }) => length),
      better(score, ({ regexes }) => regexes),
      ...optional(better(score, (each) => each.other)),
      "",
      "",
      "",
    ]);
  const totals = { missed: 0, highRisk: 0, falseAlarms: 0, ordinary: 0 };
  for (const { name, highRisk, missed, ordinary, falseAlarms } of judged) {
    totals.missed += missed * highRisk;
    totals.highRisk += highRisk;
    totals.falseAlarms += falseAlarms * ordinary;
    totals.ordinary += ordinary;
    console.log(
      `${name}: ${percent(missed)} of ${highRisk} missed; ${percent(falseAlarms)} of ${ordinary} false alarms`,
    );
  }
  say(
    row(`mean of ${sources.length} sources`, [
      three(mean(({ score }) => score)),
      three(mean(({ leftOut }) => leftOut)),
      three(mean(({ length }) => length)),
      three(mean(({ regexes }) => regexes)),
      ...optional(three(mean((each) => each.other ?? 0))),
      whole(mean(({ hardToFlash }) => hardToFlash)),
      whole(mean(({ easyToPro }) => easyToPro)),
      mean(({ timesPro }) => timesPro).toFixed(2),
    ]),
    comparison("the score", ({ score }) => score),
    comparison("left out", ({ leftOut }) => leftOut),
    "",
    `High-risk asks of ${judged.length} written sets that were missed, and went to flash: ${percent(totals.missed / totals.highRisk)} of ${totals.highRisk}; ordinary ones taken for high-risk: ${percent(totals.falseAlarms / totals.ordinary)} of ${totals.ordinary}, and ${percent(falseAlarms.found / falseAlarms.of, 2)} of ${falseAlarms.of} public prompts.`,
    "",
    `Kind right: ${percent(kinds.right / kinds.of)} of ${kinds.of} labelled prompts; high-risk kinds in twelve languages: ${percent(languages)}.`,
    "",
  );
}

const captured = wanted.has("captured") ? assessCaptured() : undefined;
if (captured !== undefined) {
  const { right, hardToFlash, easyToPro } = captured;
  say(
    `Captured requests of agents: ${right} right, ${hardToFlash.length} hard ones sent to flash, ${easyToPro.length} easy ones sent to pro.`,
    "",
  );
  for (const name of [...hardToFlash, ...easyToPro]) console.log(`wrong: ${name}`);
}

if (wanted.has("runs")) {
  const forms: readonly (readonly [Form, number])[] = [
    ["tool", 1],
    ["raw", 1],
    ["tool", 5],
  ];
  const replays = forms.flatMap(([form, asks]) => {
    const replay = replayRuns(form, asks);
    return replay === undefined
      ? []
      : [{ name: `${form} calls, ${asks === 1 ? "one ask" : `${asks} asks`} a session`, replay }];
  });
  if (replays.length > 0) {
    say(
      "| recorded runs | calls on pro | failed left on flash | resolved sent to pro | lift | at the first call | × all-flash | × all-pro | switches |",
      "|---|---|---|---|---|---|---|---|---|",
      ...replays.map(({ name, replay }) => {
        const lift = replay.failedMeetingPro / replay.resolvedMeetingPro;
        return `| ${name} | ${percent(replay.proCalls)} | ${percent(1 - replay.failedMeetingPro)} | ${percent(replay.resolvedMeetingPro)} | ${lift.toFixed(2)} | ${percent(replay.atFirstCall)} | ${replay.timesFlash.toFixed(2)} | ${replay.timesPro.toFixed(2)} | ${replay.switchesPerSession.toFixed(2)} |`;
      }),
    );
    for (const { name, replay } of replays) console.log(`${name}: ${replay.readingUs.toFixed(0)} µs to assess a call`);
  }
}

if (process.argv.includes("--write")) {
  const file = join(import.meta.dir, "../docs/routing.md");
  const [begin, end] = ["<!-- bench/routing.ts: begin -->", "<!-- bench/routing.ts: end -->"];
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error("docs/routing.md has no place for the tables");
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n${lines.join("\n").trim()}\n${text.slice(to)}`);
}
