import type { ReactNode } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { CapUse } from "#dashboard/ledger-view.ts";
import type { Counted } from "#dashboard/query.ts";
import { CapBar, Cost, filterOfAccount, Money, Requests, ShareBar, Tier, Time } from "../../components/marks.tsx";
import { Section } from "../../components/parts.tsx";
import { PlainTable } from "../../components/table.tsx";
import { goalName, money, share, utcDayEnd, utcDayLabel, words } from "../../format.ts";
import { DecisionsLink } from "../../router.tsx";

type Summary = AnswerOf<"GET summary">;

interface Props {
  readonly summary: Summary;
}

/** Spend against each cap, with the pace and when it will run out. */
export function Caps({ summary: { at_ms, caps } }: Props) {
  const { day, goals, pace } = caps;
  return (
    <Section title="Caps" aside={<span className="muted">spent and held of the hard cap</span>}>
      <ul className="stack caps">
        <CapLine use={day} note={`${utcDayLabel(at_ms)}, ${utcDayEnd(at_ms)}`} />
        {goals.map((goal) => (
          <CapLine key={goal.account} use={goal} note="" />
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

function CapLine({ use, note }: { readonly use: CapUse; readonly note: string }) {
  const used = use.spent_nano_usd + use.held_nano_usd;
  return (
    <li className="stack tight">
      <span className="row spread">
        <span className="clip" title={use.name}>
          <DecisionsLink filter={filterOfAccount(use)}>{use.kind === "day" ? "day" : goalName(use.name)}</DecisionsLink>
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

/** Where the requests of the range went: by tier, cause, model and goal. Each row links to its decisions. */
export function WhereTheyWent({ summary }: Props) {
  const muted = (text: string) => <span className="muted">{text}</span>;
  return (
    <div className="columns">
      <Split
        title="tier"
        summary={summary}
        rows={summary.by_tier.map((row) => ({
          ...row,
          value: row.tier,
          shown: <Tier tier={row.tier}>{row.tier ?? "none chosen"}</Tier>,
        }))}
      />
      <Split
        title="cause"
        summary={summary}
        rows={summary.by_cause.map((row) => ({
          ...row,
          value: row.cause,
          shown: row.cause === null ? muted("before a decision") : words(row.cause),
        }))}
      />
      <Split
        title="model"
        summary={summary}
        rows={summary.by_model.map((row) => ({
          ...row,
          value: row.model,
          shown: <Tier tier={row.tier}>{row.model ?? "none"}</Tier>,
        }))}
      />
      <Split
        title="goal"
        summary={summary}
        rows={summary.by_goal.map((row) => ({
          ...row,
          value: row.goal,
          shown: row.goal === null ? muted("none") : goalName(row.goal),
        }))}
      />
    </div>
  );
}

interface Part extends Counted {
  /** What the requests have in common; null where they have none. */
  readonly value: string | null;
  readonly shown: ReactNode;
  /** Colours the bar. */
  readonly tier?: string | null;
}

function Split({ title, summary, rows }: Props & { readonly title: string; readonly rows: readonly Part[] }) {
  const { range, total } = summary;
  const bar = (row: Part) => (
    <ShareBar share={row.requests / total.requests} fill={row.tier ? `--${row.tier}-fill` : "--line-strong"} />
  );
  if (rows.length === 0) return null;
  return (
    <Section title={`By ${title}`}>
      <PlainTable
        caption={`By ${title}`}
        className="split"
        rows={rows}
        rowKey={({ value }) => value ?? "none"}
        columns={({ heading, text, figure }) => [
          heading(title, ({ shown }) => shown, "clip"),
          text("share", bar, undefined, { hidden: true, className: "wide" }),
          figure("requests", (row) => <Requests of={row} range={range} />, { className: "middle" }),
          figure("share", (row) => share(row.requests, total.requests), { className: "narrow" }),
          figure("cost", (row) => <Cost of={row} range={range} />, { className: "middle" }),
        ]}
      />
    </Section>
  );
}
