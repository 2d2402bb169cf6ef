import type { ReactNode } from "react";
import type { Counted } from "#dashboard/api-schema.ts";
import { Money, Tier, words } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
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
          key: row.tier ?? "none",
          name: <Tier tier={row.tier}>{row.tier ?? "none chosen"}</Tier>,
          fill: row.tier ?? "none",
        }))}
      />
      <Split
        title="By cause"
        summary={summary}
        rows={summary.by_cause.map((row) => ({
          row,
          key: row.cause ?? "none",
          name: row.cause === null ? <span className="muted">before a decision</span> : words(row.cause),
          fill: "none",
        }))}
      />
      <Split
        title="By model"
        summary={summary}
        rows={summary.by_model.map((row) => ({
          row,
          key: row.model ?? "none",
          name: <Tier tier={row.tier}>{row.model ?? "none"}</Tier>,
          fill: row.tier ?? "none",
        }))}
      />
      <Split
        title="By goal"
        summary={summary}
        rows={summary.by_goal.map((row) => ({
          row,
          key: row.goal ?? "none",
          name: row.goal !== null ? goalName(row.goal) : <span className="muted">none</span>,
          fill: "none",
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
    readonly key: string;
    readonly name: ReactNode;
    readonly fill: string;
  }[];
}

function Split({ title, summary, rows }: SplitProps) {
  const place = usePlace();
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      <table className="split">
        <thead>
          <tr>
            <th scope="col">{title.replace("By ", "")}</th>
            <th scope="col" className="wide">
              <span className="hidden">share</span>
            </th>
            <th scope="col" className="number middle">
              requests
            </th>
            <th scope="col" className="number narrow">
              share
            </th>
            <th scope="col" className="number middle">
              cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ row, key, name, fill }) => (
            <tr key={key}>
              <th scope="row" className="clip">
                {name}
              </th>
              <td className="wide">
                <div className="bar" aria-hidden="true">
                  <i
                    className={`fill-${fill}`}
                    style={{ width: `${(row.requests / summary.total.requests) * 100}%` }}
                  />
                </div>
              </td>
              <td className="number">
                <Link href={decisionsHref(row.filter, place, summary.range)}>{count(row.requests)}</Link>
              </td>
              <td className="number">{share(row.requests, summary.total.requests)}</td>
              <td className="number">
                <Money nano={row.cost_nano_usd} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
