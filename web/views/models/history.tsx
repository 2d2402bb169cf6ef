import type { AnswerOf } from "#dashboard/api.ts";
import type { ModelView } from "#dashboard/endpoints/models.ts";
import { states, Track } from "../../components/marks.tsx";
import { minuteTime } from "../../format.ts";
import { usePlace, zoneOf } from "../../router.tsx";

/** The states that a model had in the range. Before the first change that was seen nothing is known. */
export function spansIn(
  range: { readonly from_ms: number; readonly to_ms: number },
  model: Pick<ModelView, "state" | "since_ms" | "reason"> & { readonly history: Readonly<ModelView["history"]> },
) {
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

/** One strip for each model. */
export function History({ data }: { readonly data: AnswerOf<"GET models"> }) {
  const zone = zoneOf(usePlace());
  const range = { from_ms: data.range.from_ms, to_ms: Math.min(data.range.to_ms, data.at_ms) };
  const part = (ms: number): number => (ms - range.from_ms) / (range.to_ms - range.from_ms);
  const minute = (ms: number): string => minuteTime(ms, Date.now(), zone);
  return (
    <div className="stack tight">
      {data.models.map((model) => {
        const spans = spansIn(range, model).map(({ state, reason, fromMs, toMs }) => {
          const title = `${states[state].word} from ${minute(fromMs)}: ${reason}`;
          return { tone: states[state].tone, from: part(fromMs), to: part(toMs), title };
        });
        const label = spans.map(({ title }) => title).join(", ") || "nothing seen";
        return (
          <div className="strip row" key={model.key}>
            <span className="mono clip">{model.key}</span>
            <Track label={`${model.key}: ${label}`} spans={spans} />
          </div>
        );
      })}
      <p className="row spread muted">
        <span>{minute(range.from_ms)}</span>
        <span>{minute(range.to_ms)}</span>
      </p>
    </div>
  );
}
