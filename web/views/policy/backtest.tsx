import type { BacktestResult } from "#records/backtest/backtest.ts";
import { Money, Tier } from "../../components/marks.tsx";
import { Table } from "../../components/table.tsx";
import { count, counted, duration, money, share, words } from "../../format.ts";
import { DecisionLink } from "../../router.tsx";

interface Props {
  readonly result: BacktestResult;
}

/** What an edited policy would have done: who would have gone elsewhere, why, and what it would have cost. */
export function Backtest({ result, tookMs }: Props & { readonly tookMs: number }) {
  const difference = result.after.cost_nano_usd - result.before.cost_nano_usd;
  const cost =
    difference === 0 ? "stays the same" : `${difference < 0 ? "falls" : "rises"} by ${money(Math.abs(difference))}`;
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
          {hits(result.days, "before") + hits(result.days, "after") > 0 &&
            `At a cap: ${counted(hits(result.days, "before"), "request")} before, ${count(hits(result.days, "after"))} after. `}
          {result.skipped > 0 && `${counted(result.skipped, "record")} cannot be replayed. `}It took {duration(tookMs)}.
        </span>
      </p>
      <Sides result={result} />
      <Changes result={result} />
    </div>
  );
}

function hits(days: BacktestResult["days"], when: "before" | "after"): number {
  return days.reduce((sum, day) => sum + day[`cap_hits_${when}`], 0);
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
      rows={rows}
      rowKey={({ name }) => name}
      columns={[
        ["tier", ({ shown }) => shown, { kind: "heading" }],
        ["before", ({ cell }) => cell(before), "figure"],
        ["after", ({ cell }) => cell(after), "figure"],
      ]}
    />
  );
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
        ["from", ({ from_model, from_cause }) => side(from_model, from_cause)],
        ["to", ({ to_model, to_cause }) => side(to_model, to_cause)],
        ["requests", ({ requests }) => count(requests), "figure"],
        ["cost", ({ delta_nano_usd: nano }) => [nano > 0 && "+", <Money key="delta" nano={nano} />], "figure"],
        [
          "example",
          (change) => <DecisionLink id={change.example_decision_id}>an example</DecisionLink>,
          {
            kind: "unnamed",
            of: "number",
          },
        ],
      ]}
    />
  );
}
