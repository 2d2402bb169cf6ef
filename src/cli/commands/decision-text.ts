import { textOf, textTable } from "#cli/output.ts";
import { dollarText } from "#domain/money/dollar-text.ts";
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
  const two = (value: number, width = 2) => String(value).padStart(width, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${two(at.getMilliseconds(), 3)}`;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return new Date().toDateString() === at.toDateString() ? time : `${day} ${time}`;
}

/** Control characters of an id could move a terminal's cursor. */
function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");
}

/** What a request has cost: `~` before an estimate, `?` where it is not known yet, `–` where no money was held. */
function costText({ cost_state, cost_nano_usd, hold_nano_usd }: DecisionRecord): string {
  if (cost_state === "unknown") return "?";
  if (hold_nano_usd === 0) return "–";
  return `${cost_state === "estimated" ? "~" : ""}${dollarText(cost_nano_usd)}`;
}

/** The columns of a decision's line: first when it ended, which orders the lines. */
function cellsOf(record: DecisionRecord): readonly string[] {
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
  ];
}

const maxWidth = 40;
const numeric = [0, 4, 5];

/** Formats decisions as lines with aligned columns; a column becomes wider when a cell needs it. */
export class DecisionLines {
  /** At first those that are usual: lines which are printed one by one are aligned too. The last column has no width. */
  readonly #widths = [12, 16, 27, 16, 9, 7];

  /** Lines that are printed together are aligned with each other and with those before. */
  of(records: readonly DecisionRecord[]): readonly string[] {
    const rows = records.map(cellsOf);
    for (const [column, width] of this.#widths.entries()) {
      const longest = Math.max(0, ...rows.map((row) => row[column]?.length ?? 0));
      this.#widths[column] = Math.max(width, Math.min(maxWidth, longest));
    }
    const aligned = (cell: string, column: number) => {
      const width = this.#widths[column] ?? 0;
      if (width > 0 && cell.length > width) return `${cell.slice(0, width - 1)}…`;
      return numeric.includes(column) ? cell.padStart(width) : cell.padEnd(width);
    };
    return rows.map((row) => row.map(aligned).join("  ").trimEnd());
  }
}

/** A decision, explained: the sentence first, then the stages. */
export function explanationText(record: ExplainedDecision): string {
  const { explanation } = record;
  const lines = [explanation.sentence, ""];
  for (const { stage, verdict, decided, would, evidence } of explanation.stages) {
    lines.push(`${decided ? "▶" : " "} ${stage.padEnd(8)} ${would === null ? verdict : `would have said: ${would}`}`);
    if (stage === "score") lines.push(...scoreLines(record));
    else if (evidence.length > 0) lines.push(`             ${plain(evidence.join(" "))}`);
  }
  if (explanation.would_change.length > 0) {
    lines.push("", "What would have changed it:");
    for (const { sentence } of explanation.would_change) lines.push(`  ${sentence}`);
  }
  lines.push("", ...attemptLines(record), idText(record));
  return lines.join("\n");
}

const barWidth = 20;

function scoreLines({ contributions, score, thresholds }: ExplainedDecision): string[] {
  const most = Math.max(1, ...contributions.map(({ value }) => Math.abs(value)));
  const bars = contributions.map(({ name, value }) => {
    const bar = "▪".repeat(Math.round((Math.abs(value) / most) * barWidth));
    return `             ${name.padEnd(24)} ${value.toFixed(2).padStart(6)} ${bar}`;
  });
  const zone = thresholds === null ? "" : `; flash below ${thresholds.flash_below}, pro from ${thresholds.pro_from}`;
  return [`             score ${score ?? "–"}${zone}`, ...bars];
}

function attemptLines({ attempts, timings }: ExplainedDecision): string[] {
  if (attempts.length === 0) return [];
  const { decision_ms, ledger_ms, total_ms } = timings;
  const head = `Attempts (decision ${durationText(decision_ms ?? 0)}, ledger ${durationText(ledger_ms ?? 0)}, total ${durationText(total_ms)}):`;
  const rows = attempts.map(({ model, purpose, outcome, tokens, host, ...attempt }) => ({
    model,
    purpose,
    outcome,
    status: attempt.upstream_status,
    began: durationText(attempt.started_ms),
    took: durationText(attempt.duration_ms),
    first_token: attempt.first_token_ms === null ? null : durationText(attempt.first_token_ms),
    held: dollarText(attempt.hold_nano_usd),
    cost: attempt.cost_nano_usd === null ? "?" : dollarText(attempt.cost_nano_usd),
    cost_source: attempt.cost_source,
    tokens_in: tokens?.prompt,
    cached: tokens?.cached,
    out: tokens?.completion,
    host: host === null ? null : plain(host),
  }));
  return [head, textTable(rows).replace(/^/gm, "  "), ""];
}

function idText(record: ExplainedDecision): string {
  const { at_ms, recorded_ms, decision_id, request_id, goal, session, task, generation_ids, policy_hash, reported } =
    record;
  const ids = { decision: decision_id, request: request_id, goal, session, task, generation: generation_ids.join(" ") };
  const times = { received: timeText(at_ms), ended: timeText(recorded_ms) };
  return textOf({ ...times, ...ids, policy_hash, reported: reported?.outcome })
    .split("\n")
    .map(plain)
    .join("\n");
}
