import type { AnswerOf, QueryOf } from "#dashboard/api-schema.ts";
import { useRead } from "../../api/queries.ts";
import { Chart } from "../../chart/chart.tsx";
import { coarser } from "../../chart/stack.ts";
import { Loaded } from "../../components/loaded.tsx";
import { count, duration } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { go, type Place, usePlace, withSearch } from "../../router/location.ts";
import { decisionsHref, zoneOf } from "../../router/state.ts";
import { firstToken, requestsByOutcome } from "./series.ts";

/** Requests by outcome and the time to the first token, over the range. */
export function RequestCharts() {
  return (
    <div className="columns">
      <Requests />
      <FirstToken />
    </div>
  );
}

type Answer = AnswerOf<"GET series">;

function useSeries(query: QueryOf<"GET series">) {
  return useRead("GET series", { query }, 15_000);
}

function zoom(place: Place): (fromMs: number, toMs: number) => void {
  return (from, to) => go(withSearch(place, { from_ms: String(from), to_ms: String(to), range: undefined }));
}

/** Four lines. Outcomes that call for the same action share one. */
const lines = [
  { name: "answered", outcomes: ["answered"], line: "--flash", fill: "--flash-fill", swatch: "fill-flash" },
  { name: "caller gone", outcomes: ["caller_gone"], line: "--free", fill: "--free-fill", swatch: "fill-free" },
  { name: "refused", outcomes: ["refused"], line: "--emergency", fill: "--emergency-fill", swatch: "fill-emergency" },
  { name: "failed", outcomes: ["failed", "broken_stream"], line: "--bad", fill: "--bad", swatch: "fill-bad" },
] as const;

function Requests() {
  const place = usePlace();
  const series = useSeries(requestsByOutcome(place));
  return (
    <Loaded query={series} what="the requests" height={260}>
      {(data) => {
        const sums = coarser(data);
        const shown = lines
          .map((line) => ({ ...line, values: sumOf(sums, line.outcomes) }))
          .filter(({ values }) => values.some((value) => value !== null && value > 0));
        return (
          <Chart
            title="Requests"
            plot={{
              atMs: sums.at_ms,
              series: shown,
              limits: [],
              stack: true,
              stepMs: sums.step_ms,
              zone: zoneOf(place),
              format: count,
            }}
            onRange={zoom(place)}
            aside={shown.map(({ name, outcomes, swatch, values }) => (
              <span className="key" key={name}>
                <i className={swatch} />
                {name}{" "}
                <Link href={decisionsHref({ outcome: outcomes.join(",") }, place, data.range)}>
                  {count(values.reduce<number>((sum, value) => sum + (value ?? 0), 0))}
                </Link>
              </span>
            ))}
          />
        );
      }}
    </Loaded>
  );
}

/** The values of some groups together. A step of the past without any had none; what is to come is a gap. */
function sumOf({ at_ms, groups }: ReturnType<typeof coarser>, names: readonly string[]): (number | null)[] {
  const named = groups.filter(({ name }) => names.includes(name));
  const now = Date.now();
  return at_ms.map((at, index) => {
    if (at > now) return null;
    return named.reduce((sum, { values }) => sum + (values[index] ?? 0), 0);
  });
}

function valuesOf(answer: Answer | undefined, like: Answer): (number | null)[] {
  const values = answer?.groups[0]?.values ?? [];
  return like.at_ms.map((_, index) => values[index] ?? null);
}

function FirstToken() {
  const place = usePlace();
  const half = useSeries(firstToken("p50", place));
  const most = useSeries(firstToken("p95", place));
  return (
    <Loaded query={half} what="the first-token times" height={260}>
      {(data) => (
        <Chart
          title="First token"
          plot={{
            atMs: data.at_ms,
            limits: [],
            stack: false,
            zone: zoneOf(place),
            format: duration,
            series: [
              { name: "half within", line: "--flash", values: valuesOf(data, data) },
              { name: "95 % within", line: "--pro", values: valuesOf(most.data, data) },
            ],
          }}
          onRange={zoom(place)}
          aside={
            <>
              <span className="key">
                <i className="fill-flash" /> half within
              </span>
              <span className="key">
                <i className="fill-pro" /> 95 % within
              </span>
            </>
          }
        />
      )}
    </Loaded>
  );
}
