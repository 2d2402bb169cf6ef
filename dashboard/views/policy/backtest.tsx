import type { BacktestResult } from "#dashboard/api-schema.ts";
import { Chart } from "../../chart/chart.tsx";
import { Money, Tier, words } from "../../components/marks.tsx";
import { figures, Headings, Table, unseen } from "../../components/table.tsx";
import { money } from "../../format/money.ts";
import { count, counted, duration, share } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { href, usePlace } from "../../router/location.ts";
import { carried } from "../../router/state.ts";

interface Props {
  readonly result: BacktestResult;
  readonly tookMs: number;
}

/** What an edited policy would have done: who would have gone elsewhere, why, and what it would have cost. */
export function Backtest({ result, tookMs }: Props) {
  const difference = result.after.cost_nano_usd - result.before.cost_nano_usd;
  return (
    <div className="stack-wide" role="status">
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

function Sides({ result: { before, after, requests } }: { readonly result: BacktestResult }) {
  const tiers = [...new Set([...before.by_tier, ...after.by_tier].map(({ tier }) => tier))];
  const of = (side: typeof before, tier: (typeof tiers)[number]): number =>
    side.by_tier.find((row) => row.tier === tier)?.requests ?? 0;
  return (
    <table className="sides">
      <Headings columns={["tier", figures("before"), figures("after")]} />
      <tbody>
        {tiers.map((tier) => (
          <tr key={tier ?? "none"}>
            <th scope="row">
              <Tier tier={tier}>{tier ?? "none"}</Tier>
            </th>
            <td className="number">
              {count(of(before, tier))} <span className="muted">{share(of(before, tier), requests)}</span>
            </td>
            <td className="number">
              {count(of(after, tier))} <span className="muted">{share(of(after, tier), requests)}</span>
            </td>
          </tr>
        ))}
        <tr>
          <th scope="row">refused</th>
          <td className="number">{count(before.refused)}</td>
          <td className="number">{count(after.refused)}</td>
        </tr>
        <tr>
          <th scope="row">cost</th>
          <td className="number">
            <Money nano={before.cost_nano_usd} />
          </td>
          <td className="number">
            <Money nano={after.cost_nano_usd} />
          </td>
        </tr>
      </tbody>
    </table>
  );
}

function CostByDay({ result: { days } }: { readonly result: BacktestResult }) {
  const before = days.map(({ before_nano_usd }) => before_nano_usd);
  const after = days.map(({ after_nano_usd }) => after_nano_usd);
  return <ByDay title="Cost by UTC day" days={days} before={before} after={after} format={money} />;
}

function CapHits({ result: { days } }: { readonly result: BacktestResult }) {
  const before = days.map(({ cap_hits_before }) => cap_hits_before);
  const after = days.map(({ cap_hits_after }) => cap_hits_after);
  if (Math.max(...before, ...after) === 0) return <p className="muted">No cap would have been hit, before or after.</p>;
  return <ByDay title="Requests at a cap by UTC day" days={days} before={before} after={after} format={count} />;
}

interface ByDayProps {
  readonly title: string;
  readonly days: BacktestResult["days"];
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly format: (value: number) => string;
}

function ByDay({ title, days, before, after, format }: ByDayProps) {
  return (
    <Chart
      title={title}
      plot={{
        atMs: days.map(({ day }) => Date.parse(`${day}T00:00:00Z`)),
        series: [
          { name: "before", line: "--muted", values: before },
          { name: "after", line: "--accent", values: after },
        ],
        limits: [],
        stack: false,
        zone: "utc",
        format,
      }}
      aside={
        <>
          <span className="key">
            <i className="fill-none" /> before
          </span>
          <span className="key">
            <i className="fill-accent" /> after
          </span>
        </>
      }
    />
  );
}

function Changes({ result: { changes } }: { readonly result: BacktestResult }) {
  const place = usePlace();
  if (changes.length === 0) return null;
  return (
    <Table
      caption="Which requests change, the most frequent kind first"
      columns={["from", "to", figures("requests"), figures("cost"), unseen("example")]}
    >
      {changes.map((change) => (
        <tr key={[change.from_model, change.from_cause, change.to_model, change.to_cause].join(" ")}>
          <td>
            <code>{change.from_model ?? "refused"}</code> <span className="muted">{words(change.from_cause)}</span>
          </td>
          <td>
            <code>{change.to_model ?? "refused"}</code> <span className="muted">{words(change.to_cause)}</span>
          </td>
          <td className="number">{count(change.requests)}</td>
          <td className="number">
            {change.delta_nano_usd > 0 && "+"}
            <Money nano={change.delta_nano_usd} />
          </td>
          <td className="number">
            <Link
              href={href(`/decisions/${encodeURIComponent(change.example_decision_id)}`, carried(place))}
              className="nowrap"
            >
              an example
            </Link>
          </td>
        </tr>
      ))}
    </Table>
  );
}
