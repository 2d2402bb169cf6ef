import type { ReactNode } from "react";
import type { Counted } from "#dashboard/api-schema.ts";
import { Money, Tier, words } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { Headings } from "../../components/table.tsx";
import { goalName } from "../../format/goal.ts";
import { count, share } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { usePlace } from "../../router/location.ts";
import { decisionsHref } from "../../router/state.ts";
import type { Summary } from "./summary.ts";

/** Where the requests of the range went: by tier, cause, model and goal. Each row links to its decisions. */
export function WhereTheyWent({ summary }: { readonly summary: Summary }) {
  return (
    <div className="columns">
      <Split
        title="By tier"
        summary={summary}
        rows={summary.by_tier.map((row) => ({
          row,
          value: row.tier,
          name: <Tier tier={row.tier}>{row.tier ?? "none chosen"}</Tier>,
          tier: row.tier,
        }))}
      />
      <Split
        title="By cause"
        summary={summary}
        rows={summary.by_cause.map((row) => ({
          row,
          value: row.cause,
          name: row.cause === null ? <span className="muted">before a decision</span> : words(row.cause),
        }))}
      />
      <Split
        title="By model"
        summary={summary}
        rows={summary.by_model.map((row) => ({
          row,
          value: row.model,
          name: <Tier tier={row.tier}>{row.model ?? "none"}</Tier>,
          tier: row.tier,
        }))}
      />
      <Split
        title="By goal"
        summary={summary}
        rows={summary.by_goal.map((row) => ({
          row,
          value: row.goal,
          name: row.goal === null ? <span className="muted">none</span> : goalName(row.goal),
        }))}
      />
    </div>
  );
}

interface SplitProps {
  readonly title: string;
  readonly summary: Summary;
  readonly rows: readonly {
    readonly row: Counted;
    /** What the requests of the row have in common; null where they have none. */
    readonly value: string | null;
    readonly name: ReactNode;
    /** Colours the bar. */
    readonly tier?: string | null;
  }[];
}

function Split({ title, summary, rows }: SplitProps) {
  const place = usePlace();
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      <table className="split">
        <Headings
          columns={[
            title.replace("By ", ""),
            { name: "share", hidden: true, className: "wide" },
            { name: "requests", className: "number middle" },
            { name: "share", className: "number narrow" },
            { name: "cost", className: "number middle" },
          ]}
        />
        <tbody>
          {rows.map(({ row, value, name, tier }) => {
            const decisions = decisionsHref(row.filter, place, summary.range);
            return (
              <tr key={value ?? "none"}>
                <th scope="row" className="clip">
                  {name}
                </th>
                <td className="wide">
                  <div className="bar" aria-hidden="true">
                    <i
                      className={`fill-${tier ?? "none"}`}
                      style={{ width: `${(row.requests / summary.total.requests) * 100}%` }}
                    />
                  </div>
                </td>
                <td className="number">
                  <Link href={decisions}>{count(row.requests)}</Link>
                </td>
                <td className="number">{share(row.requests, summary.total.requests)}</td>
                <td className="number">
                  <Link href={decisions}>
                    <Money nano={row.cost_nano_usd} />
                  </Link>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}
