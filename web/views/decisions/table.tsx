import type { KeyboardEvent, MouseEvent } from "react";
import type { DecisionRow } from "#operator/records.ts";
import { Money, none, Tier, Time } from "../../components/marks.tsx";
import { Table } from "../../components/table.tsx";
import { counted, duration, goalName, words } from "../../format.ts";
import { go, href, Link, usePlace } from "../../router.tsx";

export function rowId(decision: string): string {
  return `decision-${decision}`;
}

export function DecisionTable({ rows, opened }: { rows: readonly DecisionRow[]; opened: string | undefined }) {
  const { search } = usePlace();
  const address = ({ decision_id }: DecisionRow) => href(`/decisions/${encodeURIComponent(decision_id)}`, search);
  const open = (row: DecisionRow) => (event: MouseEvent | KeyboardEvent) => {
    if (event.target instanceof Element && event.target.closest("a, button") !== null) return;
    if ("key" in event && event.key !== "Enter") return;
    if (!("key" in event) && getSelection()?.toString() !== "") return; // text was selected, not a row opened
    go(address(row));
  };
  return (
    <Table
      caption="Decisions, the last to end first. Enter opens a row."
      className="folds decisions"
      rows={rows}
      rowKey={({ decision_id }) => decision_id}
      rowProps={(row) => ({
        id: rowId(row.decision_id),
        className: "link",
        tabIndex: 0,
        "aria-selected": row.decision_id === opened,
        onClick: open(row),
        onKeyDown: open(row),
      })}
      columns={[
        [
          "ended",
          (row) => (
            <Link className="cell" href={address(row)} tabIndex={-1}>
              <Time ms={row.recorded_ms} exact />
            </Link>
          ),
        ],
        [
          "goal",
          ({ goal }) => (goal === null ? none : goalName(goal)),
          {
            of: "clip",
            title: ({ goal }) => goal ?? undefined,
          },
        ],
        // Only where callers' keys are labelled.
        ...(rows.some(({ label }) => label !== null)
          ? [["key", ({ label }: DecisionRow) => label ?? none, { of: "clip" }] as const]
          : []),
        ["asked", ({ alias }) => alias?.replace("smart-router", "router") ?? none, { of: "mono asked" }],
        ["→ served", (row) => <Served row={row} />, { of: "push" }],
        ["cause", (row) => <Why row={row} />, { of: "cause", fold: true }],
        [
          "score",
          ({ score }) => (score === null ? "–" : Math.round(score)),
          { kind: "figure", label: "", of: "score" },
        ],
        ["cost", (row) => <Cost row={row} />, { kind: "figure", label: "", of: "push" }],
        ["total", ({ total_ms }) => duration(total_ms), { kind: "figure", label: "" }],
      ]}
    />
  );
}

/** Who answered; where nobody did, who refused. */
function Served({ row }: { readonly row: DecisionRow }) {
  if (row.outcome === "answered" || row.served_by !== null) {
    return (
      <>
        <Tier tier={row.tier}>{row.tier ?? row.served_by ?? "–"}</Tier>
        {row.outcome !== "answered" && <span data-tone="bad"> {words(row.outcome)}</span>}
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
  const cause = row.cause ?? row.error_class;
  const more = [
    row.rule,
    row.repeated > 1 && `× ${counted(row.repeated, "request")}`,
    row.attempts > 1 && counted(row.attempts, "attempt"),
    row.redactions > 0 && counted(row.redactions, "secret"),
  ].filter(Boolean);
  return (
    <>
      {cause === null ? none : words(cause)} <span className="muted">{more.join(", ")}</span>
    </>
  );
}

function Cost({ row }: { readonly row: DecisionRow }) {
  const { cost_nano_usd: cost, cost_state } = row;
  if (cost_state === "unknown")
    return (
      <span data-cost={cost} title="not known yet">
        ?
      </span>
    );
  return (
    <span data-cost={cost}>
      {cost_state === "estimated" && (
        <span className="muted" title="estimated">
          ~
        </span>
      )}
      {cost === 0 && row.served_by === null ? none : <Money nano={cost} />}
    </span>
  );
}
