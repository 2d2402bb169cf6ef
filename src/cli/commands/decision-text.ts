import { alignedLines, textOf, textTable } from "#cli/output.ts";
import { dollarText } from "#domain/money/money.ts";
import type { DecisionRecord, ExplainedDecision } from "#records/decision-record.ts";

/** Durations as people read them: `2 ms`, `3.2 s`, `1 m 04 s`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`;
}

/** Local time of day, and the day where it is not today. */
function timeText(ms: number): string {
  const at = new Date(ms);
  // Swedish is written as ISO 8601.
  const time = `${at.toLocaleTimeString("sv")}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return new Date().toDateString() === at.toDateString() ? time : `${at.toLocaleDateString("sv")} ${time}`;
}

/** Control characters of an id could move a terminal's cursor; line breaks are our own. */
function plain(text: string): string {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "?");
}

/** What a request has cost: `~` before an estimate, `?` where it is not known yet, `–` where no money was held. */
function costText({ cost_state, cost_nano_usd, hold_nano_usd }: DecisionRecord): string {
  if (cost_state === "unknown") return "?";
  if (hold_nano_usd === 0) return "–";
  return `${cost_state === "estimated" ? "~" : ""}${dollarText(cost_nano_usd)}`;
}

const maxWidth = 40;
/** What is usual, so that lines which are printed one by one are aligned too. */
const usualWidths = [12, 16, 27, 16, 9, 7];

/** Decisions as lines with aligned columns; first when each ended, which orders them. */
export function decisionLines(records: readonly DecisionRecord[]): string[] {
  const rows = records.map((record) => {
    const repeated = record.repeated > 1 ? ` ×${record.repeated}` : "";
    const went = record.outcome === "refused" ? `refused ${record.status}${repeated}` : (record.tier ?? record.outcome);
    return [
      timeText(record.recorded_ms),
      plain(record.goal ?? "–"),
      `${record.alias ?? record.route} → ${went}`,
      record.rule ?? record.cause ?? record.error_class ?? "",
      costText(record),
      durationText(record.timings.total_ms),
      record.outcome === "answered" || record.outcome === "refused" ? "" : record.outcome,
    ].map((cell) => (cell.length > maxWidth ? `${cell.slice(0, maxWidth - 1)}…` : cell));
  });
  return alignedLines(rows, usualWidths);
}

const attemptColumns = [
  ..."attempt model purpose outcome upstream_status started_ms duration_ms first_token_ms".split(" "),
  ..."hold_nano_usd cost_nano_usd tokens_in tokens_out host reason".split(" "),
];

/** A decision, explained: the sentence first, then the stages. */
export function explanationText(record: ExplainedDecision): string {
  const { explanation, attempts, timings } = record;
  const stages = explanation.stages.map(({ stage, verdict, decided, would, evidence }) => {
    const said = would === null ? verdict : `would have said: ${would}`;
    const seen = stage === "score" || evidence.length === 0 ? "" : `\n             ${evidence.join(" ")}`;
    return `${decided ? "▶" : " "} ${stage.padEnd(8)} ${said}${seen}`;
  });
  const rows = attempts.map(({ number, tokens, ...attempt }) => ({
    attempt: number,
    ...attempt,
    tokens_in: tokens?.prompt,
    tokens_out: tokens?.completion,
  }));
  const ids = {
    received: timeText(record.at_ms),
    ended: timeText(record.recorded_ms),
    decision: record.decision_id,
    request: record.request_id,
    goal: record.goal,
    session: record.session,
    task: record.task,
    key: record.label,
    generation: record.generation_ids.join(" ") || null,
    policy_hash: record.policy_hash,
    reported: record.reported?.outcome,
  };
  const given = explanation.given.map(({ name, value }) => `${name.replaceAll("_", " ")} ${value}`);
  const spent = [timings.decision_ms ?? 0, timings.ledger_ms ?? 0, timings.total_ms].map(durationText);
  const lines = [
    explanation.sentence,
    ...(explanation.findings === null ? [] : [explanation.findings]),
    ...(given.length === 0 ? [] : [`Given: ${given.join(", ")}`]),
    "",
    ...stages,
    ...(explanation.would_change.length > 0 ? ["\nWhat would have changed it:"] : []),
    ...explanation.would_change.map(({ sentence }) => `  ${sentence}`),
    ...(rows.length === 0 ? [] : [`\nAttempts (decision ${spent[0]}, ledger ${spent[1]}, total ${spent[2]}):`]),
    ...(rows.length === 0 ? [] : [textTable(rows, attemptColumns).replace(/^/gm, "  ")]),
    `\n${textOf(ids)}`,
  ];
  return plain(lines.join("\n"));
}
