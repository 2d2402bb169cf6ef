import type { AnswerOf } from "#dashboard/api.ts";
import type { ModelView } from "#dashboard/endpoints/models.ts";
import type { Range } from "#dashboard/query.ts";
import { State, states, Time } from "../../components/marks.tsx";
import { PlainTable } from "../../components/table.tsx";
import { minuteTime } from "../../format.ts";
import { usePlace, zoneOf } from "../../router.tsx";

interface Span {
  readonly state: ModelView["state"];
  readonly reason: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The states that a model had in the range. Before the first change that was seen nothing is known. */
export function spansIn(
  range: Range,
  model: Pick<ModelView, "state" | "since_ms" | "reason"> & { readonly history: Readonly<ModelView["history"]> },
): Span[] {
  const changes = [...model.history];
  if (changes.at(-1)?.state !== model.state) {
    changes.push({ at_ms: model.since_ms, state: model.state, reason: model.reason });
  }
  return changes.flatMap(({ at_ms, state, reason }, index) => {
    const fromMs = Math.max(range.from_ms, at_ms);
    const toMs = Math.min(range.to_ms, changes[index + 1]?.at_ms ?? range.to_ms);
    return toMs > fromMs ? [{ state, reason, fromMs, toMs }] : [];
  });
}

/** One strip for each model, and all changes as a table. */
export function History({ data }: { readonly data: AnswerOf<"GET models"> }) {
  const zone = zoneOf(usePlace());
  const range = { ...data.range, to_ms: Math.min(data.range.to_ms, data.at_ms) };
  const minute = (ms: number): string => minuteTime(ms, Date.now(), zone);
  const newest = data.models
    .flatMap(({ key, history }) => history.map((change) => ({ key, ...change })))
    .filter(({ at_ms }) => at_ms >= range.from_ms)
    .sort((a, b) => b.at_ms - a.at_ms)
    .slice(0, 50);
  return (
    <div className="stack">
      <div className="strips">
        {data.models.map((model) => (
          <Strip key={model.key} model={model} range={range} minute={minute} />
        ))}
        <p className="row spread muted">
          <span>{minute(range.from_ms)}</span>
          <span>{minute(range.to_ms)}</span>
        </p>
      </div>
      {newest.length === 0 ? (
        <p className="muted">No model has changed its state in this range.</p>
      ) : (
        <details>
          <summary>Changes as table</summary>
          <PlainTable
            caption="Changes of state"
            rows={newest}
            rowKey={({ key, at_ms, state }) => `${key} ${at_ms} ${state}`}
            columns={({ text }) => [
              text("time", ({ at_ms }) => <Time ms={at_ms} exact />),
              text("model", ({ key }) => key, "mono"),
              text("became", ({ state }) => <State state={state} />),
              text("why", ({ reason }) => reason, "muted"),
            ]}
          />
        </details>
      )}
    </div>
  );
}

interface StripProps {
  readonly model: ModelView;
  readonly range: Range;
  readonly minute: (ms: number) => string;
}

function Strip({ model, range, minute }: StripProps) {
  const spans = spansIn(range, model).map((span) => ({
    ...span,
    tone: states[span.state].tone,
    said: `${states[span.state].word} from ${minute(span.fromMs)}`,
  }));
  const label = spans.map(({ said }) => said).join(", ") || "nothing seen";
  const percent = (ms: number): string => `${(ms / (range.to_ms - range.from_ms)) * 100}%`;
  return (
    <div className="strip">
      <span className="mono clip">{model.key}</span>
      <div className="track" role="img" aria-label={`${model.key}: ${label}`}>
        {spans.map(({ fromMs, toMs, tone, said, reason }) => (
          <i
            key={fromMs}
            className={`state-${tone}`}
            title={`${said}: ${reason}`}
            style={{ left: percent(fromMs - range.from_ms), width: percent(toMs - fromMs) }}
          />
        ))}
      </div>
    </div>
  );
}
