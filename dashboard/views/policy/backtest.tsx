import type { BacktestResult } from "#records/backtest/backtest.ts";
import { Chart } from "../../chart/chart.tsx";
import { Money, Tier } from "../../components/marks.tsx";
import { Table } from "../../components/table.tsx";
import { count, counted, duration, money, share, words } from "../../format.ts";
import { DecisionLink } from "../../router.tsx";

interface Props {
  readonly result: BacktestResult;
}

/** What an edited policy would have done: who would have gone elsewhere, why, and what it would have cost. */
export function Backtest({ result, tookMs }: Props & { readonly tookMs: number }) {
  const { days } = result;
  const difference = result.after.cost_nano_usd - result.before.cost_nano_usd;
  const cost =
    difference === 0 ? "stays the same" : `${difference < 0 ? "falls" : "rises"} by ${money(Math.abs(difference))}`;
  const hits = days.some(({ cap_hits_before, cap_hits_after }) => cap_hits_before + cap_hits_after > 0);
  return (
    <div className="stack wide-gap" role="status">
      <p>
        <strong>
          {counted(result.changed, "request")} of {count(result.requests)}
        </strong>{" "}
        would have gone elsewhere ({share(result.changed, result.requests)}); the cost {cost}.{" "}
        <span className="muted">
          {result.relabelled > 0 &&
            `${counted(result.relabelled, "request")} would go to the same model for another cause. `}
          {result.estimated > 0 &&
            `The cost of ${counted(result.estimated, "request")} is a guess: nothing answered it. `}
          {result.hard + result.easy > 0 &&
            `Of ${counted(result.hard, "answer")} of flash reported as failed, ${count(result.hard_to_flash)} would go to flash again; of ${count(result.easy)} reported as solved, ${count(result.easy_to_pro)} would go to pro. `}
          {result.skipped > 0 && `${counted(result.skipped, "record")} cannot be replayed. `}It took {duration(tookMs)}.
        </span>
      </p>
      <Sides result={result} />
      {days.length > 1 && (
        <div className="columns">
          <ByDay title="Cost by UTC day" days={days} before="before_nano_usd" after="after_nano_usd" format={money} />
          {hits ? (
            <ByDay
              title="Requests at a cap by UTC day"
              days={days}
              before="cap_hits_before"
              after="cap_hits_after"
              format={count}
            />
          ) : (
            <p className="muted">No cap would have been hit, before or after.</p>
          )}
        </div>
      )}
      <Changes result={result} />
    </div>
  );
}

function Sides({ result: { before, after, requests } }: Props) {
  const tiers = [...new Set([...before.by_tier, ...after.by_tier].map(({ tier }) => tier))];
  const rows = [
    ...tiers.map((tier) => ({
      name: tier ?? "none",
      shown: <Tier tier={tier}>{tier ?? "none"}</Tier>,
      cell({ by_tier }: typeof before) {
        const routed = by_tier.find((row) => row.tier === tier)?.requests ?? 0;
        return `${count(routed)} (${share(routed, requests)})`;
      },
    })),
    { name: "refused", shown: "refused", cell: ({ refused }: typeof before) => count(refused) },
    { name: "cost", shown: "cost", cell: ({ cost_nano_usd }: typeof before) => <Money nano={cost_nano_usd} /> },
  ];
  return (
    <Table
      caption="Before and after"
      className="sides"
      rows={rows}
      rowKey={({ name }) => name}
      columns={[
        { name: "tier", kind: "heading", cell: ({ shown }) => shown },
        { name: "before", kind: "figure", cell: ({ cell }) => cell(before) },
        { name: "after", kind: "figure", cell: ({ cell }) => cell(after) },
      ]}
    />
  );
}

type Day = BacktestResult["days"][number];

interface ByDayProps {
  readonly title: string;
  readonly days: readonly Day[];
  readonly before: Exclude<keyof Day, "day">;
  readonly after: Exclude<keyof Day, "day">;
  readonly format: (value: number) => string;
}

function ByDay({ title, days, before, after, format }: ByDayProps) {
  const series = [
    { name: "before", line: "--muted", values: days.map((day) => day[before]), legend: "" },
    { name: "after", line: "--accent", values: days.map((day) => day[after]), legend: "" },
  ];
  const atMs = days.map(({ day }) => Date.parse(`${day}T00:00:00Z`));
  return <Chart title={title} plot={{ atMs, series, zone: "utc", format }} />;
}

function Changes({ result: { changes } }: Props) {
  if (changes.length === 0) return null;
  const side = (model: string | null, cause: string) => (
    <>
      <code>{model ?? "refused"}</code> <span className="muted">{words(cause)}</span>
    </>
  );
  return (
    <Table
      caption="Which requests change, the most frequent kind first"
      rows={changes}
      rowKey={(change) => [change.from_model, change.from_cause, change.to_model, change.to_cause].join(" ")}
      columns={[
        { name: "from", cell: ({ from_model, from_cause }) => side(from_model, from_cause) },
        { name: "to", cell: ({ to_model, to_cause }) => side(to_model, to_cause) },
        { name: "requests", kind: "figure", cell: ({ requests }) => count(requests) },
        {
          name: "cost",
          kind: "figure",
          cell: ({ delta_nano_usd: nano }) => [nano > 0 && "+", <Money key="delta" nano={nano} />],
        },
        {
          name: "example",
          kind: "unnamed",
          of: "number",
          cell: (change) => <DecisionLink id={change.example_decision_id}>an example</DecisionLink>,
        },
      ]}
    />
  );
}
