import type { BacktestResult } from "#records/backtest/backtest.ts";
import { Chart } from "../../chart/chart.tsx";
import { Money, Tier } from "../../components/marks.tsx";
import { PlainTable, Table } from "../../components/table.tsx";
import { count, counted, duration, money, share, words } from "../../format.ts";
import { DecisionLink } from "../../router.tsx";

interface Props {
  readonly result: BacktestResult;
}

/** What an edited policy would have done: who would have gone elsewhere, why, and what it would have cost. */
export function Backtest({ result, tookMs }: Props & { readonly tookMs: number }) {
  const difference = result.after.cost_nano_usd - result.before.cost_nano_usd;
  return (
    <div className="stack wide-gap" role="status">
      <p>
        <strong>
          {counted(result.changed, "request")} of {count(result.requests)}
        </strong>{" "}
        would have gone elsewhere ({share(result.changed, result.requests)}); the cost{" "}
        {difference === 0
          ? "stays the same"
          : `${difference < 0 ? "falls" : "rises"} by ${money(Math.abs(difference))}`}
        .{" "}
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
      {result.days.length > 1 && (
        <div className="columns">
          <CostByDay result={result} />
          <CapHits result={result} />
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
        return (
          <>
            {count(routed)} <span className="muted">{share(routed, requests)}</span>
          </>
        );
      },
    })),
    { name: "refused", shown: "refused", cell: ({ refused }: typeof before) => count(refused) },
    { name: "cost", shown: "cost", cell: ({ cost_nano_usd }: typeof before) => <Money nano={cost_nano_usd} /> },
  ];
  return (
    <PlainTable
      caption="Before and after"
      className="sides"
      rows={rows}
      rowKey={({ name }) => name}
      columns={({ heading, figure }) => [
        heading("tier", ({ shown }) => shown),
        figure("before", ({ cell }) => cell(before)),
        figure("after", ({ cell }) => cell(after)),
      ]}
    />
  );
}

function CostByDay({ result: { days } }: Props) {
  const before = days.map(({ before_nano_usd }) => before_nano_usd);
  const after = days.map(({ after_nano_usd }) => after_nano_usd);
  return <ByDay title="Cost by UTC day" days={days} before={before} after={after} format={money} />;
}

function CapHits({ result: { days } }: Props) {
  const before = days.map(({ cap_hits_before }) => cap_hits_before);
  const after = days.map(({ cap_hits_after }) => cap_hits_after);
  if (Math.max(...before, ...after) === 0) return <p className="muted">No cap would have been hit, before or after.</p>;
  return <ByDay title="Requests at a cap by UTC day" days={days} before={before} after={after} format={count} />;
}

interface ByDayProps extends Pick<BacktestResult, "days"> {
  readonly title: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly format: (value: number) => string;
}

function ByDay({ title, days, before, after, format }: ByDayProps) {
  const atMs = days.map(({ day }) => Date.parse(`${day}T00:00:00Z`));
  const series = [
    { name: "before", line: "--muted", swatch: "--line-strong", values: before, legend: "" },
    { name: "after", line: "--accent", values: after, legend: "" },
  ];
  return <Chart title={title} plot={{ atMs, series, limits: [], stack: false, zone: "utc", format }} />;
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
      rowKey={({ from_model, from_cause, to_model, to_cause }) =>
        [from_model, from_cause, to_model, to_cause].join(" ")
      }
      columns={({ text, figure }) => [
        text("from", ({ from_model, from_cause }) => side(from_model, from_cause)),
        text("to", ({ to_model, to_cause }) => side(to_model, to_cause)),
        figure("requests", ({ requests }) => count(requests)),
        figure("cost", ({ delta_nano_usd: nano }) => [nano > 0 && "+", <Money key="delta" nano={nano} />]),
        text("example", (change) => <DecisionLink id={change.example_decision_id}>an example</DecisionLink>, "number", {
          hidden: true,
        }),
      ]}
    />
  );
}
