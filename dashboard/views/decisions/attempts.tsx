import type { DecisionRecord } from "#records/decision-record.ts";
import { Money } from "../../components/marks.tsx";
import { duration, words } from "../../format.ts";

interface Span {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly kind: "gateway" | "waiting" | "answer" | "failed";
}

type Attempt = DecisionRecord["attempts"][number];

/** The attempts on one time line: deciding, reserving, waiting for the first token, the answer; fail-overs below each other. */
export function Attempts({ record: { attempts, timings } }: { readonly record: DecisionRecord }) {
  const totalMs = timings.total_ms;
  const whole = Math.max(totalMs, ...attempts.map(({ started_ms, duration_ms }) => started_ms + duration_ms), 0.1);
  const gateway = gatewaySpans(timings);
  return (
    <div className="stack">
      {gateway.length > 0 && (
        <div className="lane">
          <p className="muted">gateway</p>
          <Lane spans={gateway} wholeMs={whole} />
        </div>
      )}
      {attempts.length === 0 && <p className="muted">Nothing was sent upstream.</p>}
      {attempts.map((attempt, index) => (
        <div className="lane" key={`${attempt.started_ms} ${attempt.model} ${attempts.indexOf(attempt)}`}>
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

function gatewaySpans({ decision_ms: decision, ledger_ms: ledger }: DecisionRecord["timings"]): Span[] {
  if (decision === null) return [];
  const decided: Span = { name: "decision", fromMs: 0, toMs: decision, kind: "gateway" };
  if (ledger === null) return [decided];
  return [decided, { name: "ledger", fromMs: decision, toMs: decision + ledger, kind: "waiting" }];
}

function attemptSpans({ started_ms: start, first_token_ms: first, duration_ms: took, outcome }: Attempt): Span[] {
  const answered = outcome === "answered";
  const end = { name: answered ? "answer" : words(outcome), kind: answered ? "answer" : "failed" } as const;
  if (first === null) return [{ ...end, fromMs: start, toMs: start + took }];
  return [
    { name: "first token", fromMs: start, toMs: start + first, kind: "waiting" },
    { ...end, fromMs: start + first, toMs: start + took },
  ];
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
  const said = spans.map(({ name, fromMs, toMs }) => `${name} ${duration(Math.max(0, toMs - fromMs))}`);
  return (
    <>
      <div className="track" aria-hidden="true">
        {spans.map(({ name, fromMs, toMs, kind }) => (
          <i
            key={name}
            data-kind={kind}
            style={{ left: `${(fromMs / wholeMs) * 100}%`, width: `${(Math.max(0, toMs - fromMs) / wholeMs) * 100}%` }}
          />
        ))}
      </div>
      <p className="muted spans">{said.join(" · ")}</p>
    </>
  );
}
