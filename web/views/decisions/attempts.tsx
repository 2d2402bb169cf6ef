import type { DecisionRecord } from "#records/decision-record.ts";
import { Money, Track } from "../../components/marks.tsx";
import { duration, words } from "../../format.ts";

type Attempt = DecisionRecord["attempts"][number];

/** From and to in milliseconds since the request was received. */
type Span = readonly [name: string, kind: "gateway" | "waiting" | "answer" | "failed", fromMs: number, toMs: number];

/** The attempts on one time line: decision, hold, first token, answer; fail-overs below each other. */
export function Attempts({ record: { attempts, timings } }: { readonly record: DecisionRecord }) {
  const totalMs = timings.total_ms;
  const whole = Math.max(totalMs, ...attempts.map(({ started_ms, duration_ms }) => started_ms + duration_ms), 0.1);
  const { decision_ms: decision, ledger_ms: ledger } = timings;
  return (
    <div className="stack">
      {decision !== null && (
        <div className="stack tight">
          <p className="muted">gateway</p>
          <Lane
            spans={[
              ["decision", "gateway", 0, decision],
              ["ledger", "waiting", decision, decision + (ledger ?? 0)],
            ]}
            wholeMs={whole}
          />
        </div>
      )}
      {attempts.length === 0 && <p className="muted">Nothing was sent upstream.</p>}
      {attempts.map((attempt, index) => (
        <div className="stack tight" key={attempt.number}>
          <p>
            {index + 1}. <code>{attempt.model}</code>{" "}
            <span data-tone={attempt.outcome === "answered" ? undefined : "bad"}>{words(attempt.outcome)}</span>{" "}
            <span className="muted">{attemptFacts(attempt).join(" · ")}</span>
          </p>
          <Lane spans={attemptSpans(attempt)} wholeMs={whole} />
          <p className="muted">
            held <Money nano={attempt.hold_nano_usd} />, cost <Money nano={attempt.cost_nano_usd} />
            {attempt.cost_source !== null && ` (${words(attempt.cost_source)})`}
          </p>
        </div>
      ))}
      <p className="row spread muted axis">
        <span>0</span>
        <span>total {duration(totalMs)}</span>
      </p>
    </div>
  );
}

function attemptSpans({ started_ms: start, first_token_ms: first, duration_ms: took, outcome }: Attempt): Span[] {
  const end = outcome === "answered" ? (["answer", "answer"] as const) : ([words(outcome), "failed"] as const);
  const waited: Span[] = first === null ? [] : [["first token", "waiting", start, start + first]];
  return [...waited, [...end, start + (first ?? 0), start + took]];
}

function attemptFacts(attempt: Attempt): string[] {
  return [
    attempt.purpose === "SCOUT" ? "scout" : null,
    attempt.upstream_status === null ? null : `status ${attempt.upstream_status}`,
    attempt.host,
    attempt.other_model === null ? null : `answered as ${attempt.other_model}`,
  ].filter((fact) => fact !== null);
}

function Lane({ spans, wholeMs }: { readonly spans: readonly Span[]; readonly wholeMs: number }) {
  const said = spans.map(([name, , from, to]) => `${name} ${duration(Math.max(0, to - from))}`).join(" · ");
  return (
    <>
      <Track
        label=""
        spans={spans.map(([name, kind, from, to]) => ({
          tone: kind,
          from: from / wholeMs,
          to: to / wholeMs,
          title: name,
        }))}
      />
      <p className="muted small">{said}</p>
    </>
  );
}
