import { useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { BudgetLine } from "#dashboard/endpoints/budgets.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { CapBar, filterOfAccount, Money, Time } from "../../components/marks.tsx";
import { Empty, Facts, Loaded, Search, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { count, duration, goalName, money, share, utcDayEnd, utcDayLabel } from "../../format.ts";
import { DecisionsLink, rangeOf, usePlace } from "../../router.tsx";
import { CapDialog } from "./cap-dialog.tsx";
import { Holds } from "./holds.tsx";
import { Sessions } from "./sessions.tsx";

type Answer = AnswerOf<"GET budgets">;

interface PartProps {
  readonly data: Answer;
  readonly onCap: (line: BudgetLine) => void;
}

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

function Today({ data, onCap }: PartProps) {
  const today = data.days.find(({ name }) => name === data.today);
  const aside = `${utcDayEnd(data.at_ms)}, in ${duration(data.day_ends_at_ms - data.at_ms)}`;
  return (
    <Section title={utcDayLabel(data.at_ms)} aside={<span className="muted">{aside}</span>}>
      {today === undefined ? (
        <Empty>Nothing was spent on this UTC day. Its hard cap is {money(data.policy_caps.day_hard_nano_usd)}.</Empty>
      ) : (
        <div className="stack">
          <CapBar use={today} />
          <DayFacts today={today} pace={data.pace} />
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

function DayFacts({ today, pace }: { readonly today: BudgetLine; readonly pace: Answer["pace"] }) {
  const { spent_nano_usd: spent, hard_nano_usd: hard } = today;
  const fact = (name: string, nano: number | null, note: string) => ({ name, value: <Money nano={nano} />, note });
  return (
    <Facts
      facts={[
        fact("spent", spent, hard === null ? "no cap" : `${share(spent, hard)} of the hard cap`),
        fact("held", today.held_nano_usd, heldBy(today)),
        fact("left", today.left_nano_usd, `hard cap ${money(hard)}`),
        fact("pace", pace.nano_usd_per_hour, "an hour"),
        fact("at the day's end", pace.forecast_nano_usd, "at this pace"),
      ]}
    />
  );
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
  readonly onCap?: PartProps["onCap"];
}

function Lines({ lines, caption, first, onCap }: LinesProps) {
  const name = (line: BudgetLine) => (
    <DecisionsLink filter={filterOfAccount(line)}>{goalName(line.name)}</DecisionsLink>
  );
  const change = (line: BudgetLine) => (
    <button type="button" className="plain" onClick={() => onCap?.(line)}>
      Set cap<span className="hidden"> of {goalName(line.name)}</span>
    </button>
  );
  return (
    <Table
      caption={caption}
      className="folds"
      rows={lines}
      rowKey={({ account }) => account}
      columns={({ heading, text, figure, buttons }) => [
        heading(first, name, "clip", { title: (line) => line.name }),
        text("used", (line) => <CapBar use={line} />, undefined, { className: "wide" }),
        text("share", usedShare, "push", { figure: true }),
        figure("spent", (line) => <Money nano={line.spent_nano_usd} />, { fold: true }),
        figure("held", ({ held_nano_usd: nano }) => (nano === 0 ? none : <Money nano={nano} />), {
          title: (line) => (line.frees_itself_ms === null ? undefined : heldBy(line)),
        }),
        figure("soft / hard cap", (line) => <SetCaps {...line} />, { label: "caps" }),
        ...(onCap === undefined ? [] : [buttons(change)]),
      ]}
    />
  );
}

const none = <span className="muted">–</span>;

function usedShare({ spent_nano_usd, held_nano_usd, hard_nano_usd }: BudgetLine): string {
  return hard_nano_usd === null ? "–" : share(spent_nano_usd + held_nano_usd, hard_nano_usd);
}

function SetCaps({ soft_nano_usd, hard_nano_usd, cap_from }: BudgetLine) {
  return (
    <>
      {money(soft_nano_usd)} / {money(hard_nano_usd)}
      {cap_from === "operator" && <span className="muted"> set by hand</span>}
    </>
  );
}
