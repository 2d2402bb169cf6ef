import { type KeyboardEvent, type MouseEvent, memo } from "react";
import type { DecisionRow } from "#dashboard/endpoints/decisions.ts";
import { Money, Tier, Time } from "../../components/marks.tsx";
import { Headings } from "../../components/table.tsx";
import { counted, duration, goalName, words } from "../../format.ts";
import { go, href, Link, usePlace } from "../../router.tsx";

interface Props {
  readonly rows: readonly DecisionRow[];
  readonly opened: string | undefined;
}

const columns = [
  ...["ended", "goal", "asked", "→ served", "cause"].map((name) => ({ name })),
  ...["score", "cost", "total"].map((name) => ({ name, figure: true })),
];

export function rowId(decision: string): string {
  return `decision-${decision}`;
}

export function DecisionTable({ rows, opened }: Props) {
  const place = usePlace();
  return (
    <div className="scroll">
      <table className="folds decisions">
        <caption className="hidden">Decisions, the last to end first. Enter opens a row.</caption>
        <Headings columns={columns} />
        <tbody>
          {rows.map((row) => (
            <Row
              key={row.decision_id}
              row={row}
              address={href(`/decisions/${encodeURIComponent(row.decision_id)}`, place.search)}
              selected={row.decision_id === opened}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Row = memo(function Row({ row, address, selected }: { row: DecisionRow; address: string; selected: boolean }) {
  const open = (event: MouseEvent | KeyboardEvent): void => {
    if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
    if ("key" in event && event.key !== "Enter") return;
    if (!("key" in event) && getSelection()?.toString() !== "") return; // text was selected, not a row opened
    go(address);
  };
  return (
    <tr
      id={rowId(row.decision_id)}
      className="link"
      tabIndex={0}
      aria-selected={selected}
      onClick={open}
      onKeyDown={open}
    >
      <td>
        <Link className="cell" href={address} tabIndex={-1}>
          <Time ms={row.recorded_ms} exact />
        </Link>
      </td>
      <td className="clip" title={row.goal ?? undefined}>
        {row.goal === null ? <span className="muted">–</span> : goalName(row.goal)}
      </td>
      <td className="nowrap mono">
        {row.alias?.replace("smart-router", "router") ?? <span className="muted">–</span>}
      </td>
      <td className="push">
        <Served row={row} />
      </td>
      <td className="fold" aria-hidden="true" />
      <td className="cause">
        <Why row={row} />
      </td>
      <td className="number score">{row.score === null ? "–" : Math.round(row.score)}</td>
      <td className="number push" data-cost={row.cost_nano_usd}>
        <Cost row={row} />
      </td>
      <td className="number">{duration(row.total_ms)}</td>
    </tr>
  );
});

/** Who answered; where nobody did, who refused. */
function Served({ row }: { readonly row: DecisionRow }) {
  if (row.outcome === "answered" || row.served_by !== null) {
    const broken = row.outcome !== "answered";
    return (
      <>
        <Tier tier={row.tier}>{row.tier ?? row.served_by ?? "–"}</Tier>
        {broken && <span data-tone="bad"> {words(row.outcome)}</span>}
      </>
    );
  }
  return (
    <span data-tone={row.outcome === "refused" ? "warn" : "bad"} className="nowrap">
      {words(row.outcome)} <span className="muted">{row.status}</span>
    </span>
  );
}

function Why({ row }: { readonly row: DecisionRow }) {
  const cause = row.cause === null ? row.error_class : row.cause;
  return (
    <span className="nowrap">
      {cause === null ? <span className="muted">–</span> : words(cause)}
      {row.rule !== null && <span className="muted"> {row.rule}</span>}
      {row.repeated > 1 && <span className="muted"> × {counted(row.repeated, "request")}</span>}
      {row.attempts > 1 && <span className="muted"> {counted(row.attempts, "attempt")}</span>}
    </span>
  );
}

function Cost({ row }: { readonly row: DecisionRow }) {
  if (row.cost_state === "unknown") return <span title="not known yet">?</span>;
  if (row.cost_nano_usd === 0 && row.served_by === null) return <span className="muted">–</span>;
  return (
    <>
      {row.cost_state === "estimated" && (
        <span className="muted" title="estimated">
          ~
        </span>
      )}
      <Money nano={row.cost_nano_usd} />
    </>
  );
}
