import type { AnswerOf, ModelView } from "#dashboard/api-schema.ts";
import { State, stateTone, stateWord, Time } from "../../components/marks.tsx";
import { Headings } from "../../components/table.tsx";
import { minuteTime } from "../../format/time.ts";
import { usePlace } from "../../router/location.ts";
import { zoneOf } from "../../router/state.ts";

type Answer = AnswerOf<"GET models">;

interface Span {
  readonly state: ModelView["state"];
  readonly reason: string;
  readonly fromMs: number;
  readonly toMs: number;
}

type Change = ModelView["history"][number];

/** The states that a model had in the range. Before the first change that was seen nothing is known. */
export function spansOf(
  model: Pick<ModelView, "state" | "since_ms" | "reason"> & { readonly history: readonly Change[] },
  range: Answer["range"],
): Span[] {
  const changes = [...model.history];
  const last = changes.at(-1);
  if (last === undefined || last.state !== model.state) {
    changes.push({ at_ms: model.since_ms, state: model.state, reason: model.reason });
  }
  return changes.flatMap(({ at_ms, state, reason }, index) => {
    const fromMs = Math.max(range.from_ms, at_ms);
    const toMs = Math.min(range.to_ms, changes[index + 1]?.at_ms ?? range.to_ms);
    return toMs > fromMs ? [{ state, reason, fromMs, toMs }] : [];
  });
}

/** One strip for each model, and all changes as a table. */
export function History({ data }: { readonly data: Answer }) {
  const zone = zoneOf(usePlace());
  const range = { ...data.range, to_ms: Math.min(data.range.to_ms, data.at_ms) };
  const { from_ms, to_ms } = range;
  const share = (ms: number): string => `${((ms - from_ms) / (to_ms - from_ms)) * 100}%`;
  const changes = data.models.flatMap(({ key, history }) => history.map((change) => ({ key, ...change })));
  const newest = changes
    .filter(({ at_ms }) => at_ms >= from_ms)
    .sort((a, b) => b.at_ms - a.at_ms)
    .slice(0, 50);
  return (
    <div className="stack">
      <div className="strips">
        {data.models.map((model) => {
          const spans = spansOf(model, range);
          const said = spans.map(
            (span) => `${stateWord(span.state)} from ${minuteTime(span.fromMs, Date.now(), zone)}`,
          );
          return (
            <div className="strip" key={model.key}>
              <span className="mono clip">{model.key}</span>
              <div className="track" role="img" aria-label={`${model.key}: ${said.join(", ") || "nothing seen"}`}>
                {spans.map((span) => (
                  <i
                    key={span.fromMs}
                    className={`state-${stateTone(span.state)}`}
                    title={`${stateWord(span.state)} from ${minuteTime(span.fromMs, Date.now(), zone)}: ${span.reason}`}
                    style={{
                      left: share(span.fromMs),
                      width: `${((span.toMs - span.fromMs) / (to_ms - from_ms)) * 100}%`,
                    }}
                  />
                ))}
              </div>
            </div>
          );
        })}
        <p className="row spread muted">
          <span>{minuteTime(from_ms, Date.now(), zone)}</span>
          <span>{minuteTime(to_ms, Date.now(), zone)}</span>
        </p>
      </div>
      {newest.length === 0 ? (
        <p className="muted">No model has changed its state in this range.</p>
      ) : (
        <details>
          <summary>Changes as table</summary>
          <table>
            <Headings columns={["time", "model", "became", "why"]} />
            <tbody>
              {newest.map(({ key, at_ms, state, reason }) => (
                <tr key={`${key} ${at_ms} ${state}`}>
                  <td>
                    <Time ms={at_ms} exact />
                  </td>
                  <td className="mono">{key}</td>
                  <td>
                    <State state={state} />
                  </td>
                  <td className="muted">{reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </div>
  );
}
