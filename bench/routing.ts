/**
 * The quality and the cost of routing: prompts with recorded outcomes, captured requests and recorded runs of agents.
 * `bun bench/routing.ts [prompts] [captured] [runs] [--write]`; without a name all of them. `--write` puts the table into docs/routing.md. Needs the development data in ../shared; what is absent is left out.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Form, replayRuns } from "./routing/agent-runs.ts";
import { assessCaptured } from "./routing/captured.ts";
import { measurePrompts } from "./routing/prompts.ts";

const parts = ["prompts", "captured", "runs"] as const;
const asked = parts.filter((part) => process.argv.includes(part));
const wanted = new Set(asked.length === 0 ? parts : asked);
const lines: string[] = [];
const say = (...text: string[]) => {
  lines.push(...text);
  for (const line of text) console.log(line);
};
const percent = (share: number, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const three = (value: number) => value.toFixed(3);

const prompts = wanted.has("prompts") ? measurePrompts() : undefined;
if (prompts !== undefined) {
  say(
    "| prompts: APGR (0.5 is chance) | rows | gap | score [95 %] | random | length | keywords |",
    "|---|---|---|---|---|---|---|",
  );
  for (const { source, rows, gap, score, random, length, keywords, counts } of prompts.sources) {
    say(
      `| ${source}${counts ? "" : " (not in the means)"} | ${rows} | ${gap.toFixed(2)} | ${three(score.apgr)} [${score.low.toFixed(2)}, ${score.high.toFixed(2)}] | ${three(random)} | ${three(length)} | ${three(keywords)} |`,
    );
  }
  const { score, random, length, keywords } = prompts.means;
  for (const [name, key] of [
    ["mean", "plain"],
    ["mean by inverse variance", "weighted"],
  ] as const) {
    say(
      `| **${name}** | | | **${three(score[key])}** | ${three(random[key])} | ${three(length[key])} | ${three(keywords[key])} |`,
    );
  }
  const { kinds, guarded, falseAlarms, judged, languages, zones } = prompts;
  say(
    "",
    "| words | |",
    "|---|---|",
    `| kind right | ${percent(kinds.right / kinds.of)} of ${kinds.of} labelled prompts |`,
    `| guarded asks | recall ${percent(guarded.recall)}, precision ${percent(guarded.precision)}; ${guarded.of} asks |`,
    `| false alarms | ${falseAlarms.found} of ${falseAlarms.of} prompts that are not guarded (${percent(falseAlarms.found / falseAlarms.of, 2)}) |`,
    ...judged.map(
      ({ name, recall, precision, guarded, ordinary }) =>
        `| guarded asks, written to judge the rules: ${name} | recall ${percent(recall)}, precision ${percent(precision)}; ${guarded} asks, ${ordinary} others |`,
    ),
    `| guarded kinds in twelve languages | ${languages.right} of ${languages.of} |`,
    `| zones, every source counting the same | flash ${percent(zones.flash)}, gray ${percent(zones.gray)}, pro ${percent(zones.pro)} |`,
    "",
  );
}

const captured = wanted.has("captured") ? assessCaptured() : undefined;
if (captured !== undefined) {
  const { right, wrong } = captured;
  say("| captured requests of agents | |", "|---|---|", `| right tier | ${right} of ${right + wrong.length} |`, "");
  for (const file of wrong) console.log(`wrong: ${file}`);
}

if (wanted.has("runs")) {
  const replays = (
    [
      ["tool", 1],
      ["raw", 1],
      ["tool", 5],
    ] as [Form, number][]
  ).flatMap(([form, asks]) => {
    const replay = replayRuns(form, asks);
    return replay === undefined ? [] : [{ form, asks, replay }];
  });
  if (replays.length > 0) {
    say(
      "| recorded runs | calls | calls on pro | met pro: resolved | failed | lift | × all-flash | without flagged asks | flagged asks: share | cost on top | × all-pro | switches |",
      "|---|---|---|---|---|---|---|---|---|---|---|---|",
      ...replays.map(({ form, asks, replay }) => {
        const lift = replay.failedMeetingPro / replay.resolvedMeetingPro;
        return `| ${form} calls, ${asks === 1 ? "one ask" : `${asks} asks`} a session | ${replay.calls} | ${percent(replay.proCalls)} | ${percent(replay.resolvedMeetingPro)} | ${percent(replay.failedMeetingPro)} | ${lift.toFixed(2)} | ${replay.timesFlash.toFixed(2)} | ${replay.flagged.others.toFixed(2)} | ${percent(replay.flagged.share)} | ${replay.flagged.extra.toFixed(2)} | ${replay.timesPro.toFixed(2)} | ${replay.switchesPerSession.toFixed(2)} |`;
      }),
      "",
    );
    say(
      "| what hard rules see, tool calls, one ask a session | met: resolved | failed | lift | share of calls |",
      "|---|---|---|---|---|",
      ...(replays[0]?.replay.conditions ?? []).map(
        ({ name, resolved, failed, calls }) =>
          `| ${name} | ${percent(resolved)} | ${percent(failed)} | ${resolved === 0 ? "" : (failed / resolved).toFixed(2)} | ${percent(calls)} |`,
      ),
      "",
    );
    for (const { form, asks, replay } of replays) {
      const causes = [...replay.causes].map(([cause, count]) => `${cause} ${count}`).join(", ");
      console.log(`${form}, ${asks}: ${replay.readingUs.toFixed(0)} µs a call; ${causes}`);
    }
  }
}

if (process.argv.includes("--write")) {
  const file = join(import.meta.dir, "../docs/routing.md");
  const [begin, end] = ["<!-- bench/routing.ts: begin -->", "<!-- bench/routing.ts: end -->"];
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error("docs/routing.md has no place for the table");
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n${lines.join("\n").trim()}\n${text.slice(to)}`);
}
