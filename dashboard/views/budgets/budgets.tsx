import { useState } from "react";
import type { AnswerOf, BudgetLine } from "#dashboard/api-schema.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { CapBar, filterOfAccount } from "../../components/cap-bar.tsx";
import { Empty, Loaded } from "../../components/loaded.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { Search } from "../../components/search.tsx";
import { Section } from "../../components/section.tsx";
import { figures, Table, unseen } from "../../components/table.tsx";
import { goalName } from "../../format/goal.ts";
import { money } from "../../format/money.ts";
import { count, duration, share } from "../../format/numbers.ts";
import { utcDayEnd, utcDayLabel } from "../../format/time.ts";
import { Link } from "../../router/link.tsx";
import { usePlace } from "../../router/location.ts";
import { decisionsHref, rangeOf } from "../../router/state.ts";
import { CapDialog } from "./cap-dialog.tsx";
import { Holds } from "./holds.tsx";
import { Sessions } from "./sessions.tsx";

type Answer = AnswerOf<"GET budgets">;

/** What is spent, held, about to run out? */
export function Budgets() {
  const place = usePlace();
  const budgets = useRead("GET budgets", { query: rangeOf(place) });
  const { changing, open, close } = useChange<BudgetLine>();
  return (
    <Loaded query={budgets} what="the budgets" height={640}>
      {(data) => (
        <div className="view">
          <Today data={data} onCap={open} />
          <Goals data={data} onCap={open} />
          <Sessions />
          <Holds totals={data.totals} />
          <Days data={data} />
          {changing !== undefined && <CapDialog line={changing} policy={data.policy_caps} onClose={close} />}
        </div>
      )}
    </Loaded>
  );
}

interface PartProps {
  readonly data: Answer;
  readonly onCap: (line: BudgetLine) => void;
}

function Today({ data, onCap }: PartProps) {
  const today = data.days.find(({ name }) => name === data.today);
  return (
    <Section
      title={utcDayLabel(data.at_ms)}
      aside={
        <span className="muted">
          {utcDayEnd(data.at_ms)}, in {duration(data.day_ends_at_ms - data.at_ms)}
        </span>
      }
    >
      {today === undefined ? (
        <Empty>Nothing was spent on this UTC day. Its hard cap is {money(data.policy_caps.day_hard_nano_usd)}.</Empty>
      ) : (
        <div className="stack">
          <CapBar use={today} />
          <dl className="facts">
            <Fact name="spent" nano={today.spent_nano_usd} note={shareOf(today.spent_nano_usd, today.hard_nano_usd)} />
            <Fact name="held" nano={today.held_nano_usd} note={heldBy(today)} />
            <Fact name="left" nano={today.left_nano_usd} note={`hard cap ${money(today.hard_nano_usd)}`} />
            <Fact name="pace" nano={data.pace.nano_usd_per_hour} note="an hour" />
            <Fact name="at the day's end" nano={data.pace.forecast_nano_usd} note="at this pace" />
          </dl>
          <div className="row spread">
            {data.pace.runs_out_at_ms === null ? (
              <p className="muted">The cap is not reached before the day ends, at this pace.</p>
            ) : (
              <p data-tone="warn">
                At this pace the cap is reached at <Time ms={data.pace.runs_out_at_ms} />; requests are refused from
                then on.
              </p>
            )}
            <button type="button" onClick={() => onCap(today)}>
              Set the day's cap
            </button>
          </div>
        </div>
      )}
    </Section>
  );
}

function Fact({ name, nano, note }: { readonly name: string; readonly nano: number | null; readonly note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Money nano={nano} />
      </dd>
      <dd>{note}</dd>
    </div>
  );
}

function shareOf(nano: number, cap: number | null): string {
  return cap === null ? "no cap" : `${share(nano, cap)} of the hard cap`;
}

function heldBy({ held_by }: BudgetLine): string {
  const parts = Object.entries(held_by).flatMap(([state, nano]) => (nano > 0 ? [`${money(nano)} ${state}`] : []));
  return parts.length === 0 ? "by nothing" : parts.join(", ");
}

function Goals({ data, onCap }: PartProps) {
  const [search, setSearch] = useState("");
  const goals = data.goals.filter(({ name }) => goalName(name).toLowerCase().includes(search.toLowerCase()));
  return (
    <Section title="Goals" aside={<Search label="Search goals" value={search} onChange={setSearch} />}>
      {data.goals.length === 0 ? (
        <Empty>
          No goal has spent yet. A request names its goal with the header <code>X-Goal-Id</code>; without it, it counts
          for <code>adhoc</code>, which starts anew each UTC day.
        </Empty>
      ) : (
        <Lines lines={goals} caption="Goals by the share of their cap that is used" first="goal" onCap={onCap} />
      )}
      {data.more_goals > 0 && (
        <p className="muted">{count(data.more_goals)} more goals have used less of their caps.</p>
      )}
    </Section>
  );
}

function Days({ data }: { readonly data: Answer }) {
  const past = data.days.filter(({ name }) => name !== data.today);
  if (past.length === 0) return null;
  return (
    <Section title="UTC days before">
      <Lines lines={past} caption="Days, the newest first" first="UTC day" />
    </Section>
  );
}

interface LinesProps {
  readonly lines: readonly BudgetLine[];
  readonly caption: string;
  readonly first: string;
  readonly onCap?: (line: BudgetLine) => void;
}

function Lines({ lines, caption, first, onCap }: LinesProps) {
  const place = usePlace();
  return (
    <Table
      caption={caption}
      columns={[
        first,
        { name: "used", className: "wide" },
        figures("share"),
        figures("spent"),
        figures("held"),
        figures("soft / hard cap"),
        ...(onCap === undefined ? [] : [unseen("change")]),
      ]}
      className="folds"
    >
      {lines.map((line) => (
        <tr key={line.account}>
          <th scope="row" className="clip" title={line.name}>
            <Link href={decisionsHref(filterOfAccount(line), place)}>{goalName(line.name)}</Link>
          </th>
          <td className="wide">
            <CapBar use={line} />
          </td>
          <td className="number push">
            {line.hard_nano_usd === null ? "–" : share(line.spent_nano_usd + line.held_nano_usd, line.hard_nano_usd)}
          </td>
          <td className="fold" aria-hidden="true" />
          <td className="number" data-label="spent">
            <Money nano={line.spent_nano_usd} />
          </td>
          <td className="number" data-label="held" title={line.frees_itself_ms === null ? undefined : heldBy(line)}>
            {line.held_nano_usd === 0 ? <span className="muted">–</span> : <Money nano={line.held_nano_usd} />}
          </td>
          <td className="number" data-label="caps">
            {money(line.soft_nano_usd)} / {money(line.hard_nano_usd)}
            {line.cap_from === "operator" && <span className="muted"> set by hand</span>}
          </td>
          {onCap !== undefined && (
            <td className="number actions">
              <button type="button" className="plain" onClick={() => onCap(line)}>
                Set cap<span className="hidden"> of {goalName(line.name)}</span>
              </button>
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}
