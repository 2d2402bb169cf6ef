import type { ReactNode } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { BudgetLine } from "#operator/budgets.ts";
import type { Counted } from "#operator/query.ts";
import { CapBar, Cost, filterOfAccount, Money, none, Requests, ShareBar, Tier, Time } from "../../components/marks.tsx";
import { Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { goalName, money, share, utcDayEnd, utcDayLabel, words } from "../../format.ts";
import { DecisionsLink } from "../../router.tsx";

interface Props {
  readonly summary: AnswerOf<"GET summary">;
}

/** Spend against each cap, with the pace and when it will run out. */
export function Caps({ summary: { at_ms, caps } }: Props) {
  const { day, goals, keys, pace } = caps;
  return (
    <Section title="Caps" aside={<span className="muted">spent and held of the hard cap</span>}>
      <ul className="stack caps">
        <CapLine use={day} note={`${utcDayLabel(at_ms)}, ${utcDayEnd(at_ms)}`} />
        {[...keys, ...goals].map((line) => (
          <CapLine key={line.account} use={line} note="" />
        ))}
      </ul>
      <p>
        Pace: <Money nano={pace.nano_usd_per_hour} /> an hour;{" "}
        {pace.runs_out_at_ms === null ? (
          <>
            the day will end at <Money nano={pace.forecast_nano_usd} />.
          </>
        ) : (
          <strong data-tone="warn">
            the day's cap is reached at <Time ms={pace.runs_out_at_ms} />.
          </strong>
        )}
      </p>
    </Section>
  );
}

function CapLine({ use, note }: { readonly use: BudgetLine; readonly note: string }) {
  const used = use.spent_nano_usd + use.held_nano_usd;
  return (
    <li className="stack tight">
      <span className="row spread">
        <span className="clip" title={use.name}>
          <DecisionsLink filter={filterOfAccount(use)}>
            {use.kind === "day" ? "day" : use.kind === "key" ? `key ${use.name}` : goalName(use.name)}
          </DecisionsLink>
        </span>
        <span className="nowrap">
          {money(used)} / {money(use.hard_nano_usd)}
          {use.hard_nano_usd !== null && <span className="muted"> {share(used, use.hard_nano_usd)}</span>}
        </span>
      </span>
      <CapBar use={use} />
      {note !== "" && <span className="muted">{note}</span>}
    </li>
  );
}

/** Where the requests of the range went: by model, cause, goal and key. Each row links to its decisions. */
export function WhereTheyWent({ summary }: Props) {
  const { by_cause, by_model, by_goal, by_label } = summary;
  const part = (row: Counted, value: string | null, shown: ReactNode = value ?? none, tier: string | null = null) => ({
    ...row,
    value,
    shown,
    tier,
  });
  const splits = {
    model: by_model.map((row) => {
      const shown = row.model === null ? "none chosen" : `${row.model}${row.tier === null ? "" : ` (${row.tier})`}`;
      return part(row, row.model, <Tier tier={row.tier}>{shown}</Tier>, row.tier);
    }),
    cause: by_cause.map((row) => part(row, row.cause, row.cause === null ? "before a decision" : words(row.cause))),
    goal: by_goal.map((row) => part(row, row.goal, row.goal === null ? none : goalName(row.goal))),
    key: by_label.some(({ label }) => label !== null) ? by_label.map((row) => part(row, row.label)) : [],
  };
  return (
    <div className="columns">
      {Object.entries(splits).map(([title, rows]) => (
        <Split key={title} title={title} summary={summary} rows={rows} />
      ))}
    </div>
  );
}

interface Part extends Counted {
  /** What the requests have in common; null where they have none. */
  readonly value: string | null;
  readonly shown: ReactNode;
  /** Colours the bar. */
  readonly tier: string | null;
}

function Split({ title, summary, rows }: Props & { readonly title: string; readonly rows: readonly Part[] }) {
  const { range, total } = summary;
  if (rows.length === 0) return null;
  return (
    <Section title={`By ${title}`}>
      <Table
        caption={`By ${title}`}
        className="split"
        rows={rows}
        rowKey={({ value }) => value ?? "none"}
        columns={[
          [title, ({ shown }) => shown, { kind: "heading", of: "clip" }],
          [
            "of all",
            ({ requests, tier }) => (
              <ShareBar share={requests / total.requests} fill={tier === null ? "--line-strong" : `--${tier}-fill`} />
            ),
            { kind: "unnamed", className: "wide" },
          ],
          ["requests", (row) => <Requests of={row} range={range} />, { kind: "figure", className: "middle" }],
          ["share", (row) => share(row.requests, total.requests), { kind: "figure", className: "narrow" }],
          ["cost", (row) => <Cost of={row} range={range} />, { kind: "figure", className: "middle" }],
        ]}
      />
    </Section>
  );
}
