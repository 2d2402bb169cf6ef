import { useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { BudgetLine } from "#operator/budgets.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { CapBar, Cost, filterOfAccount, Money, none, Requests, Spent, Time } from "../../components/marks.tsx";
import { Empty, type Fact, Facts, Loaded, Search, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { count, duration, goalName, money, share, utcDayEnd, utcDayLabel } from "../../format.ts";
import { DecisionsLink, rangeOf, usePlace } from "../../router.tsx";
import { CapDialog } from "./cap-dialog.tsx";
import { Holds } from "./holds.tsx";

interface PartProps {
  readonly data: AnswerOf<"GET budgets">;
  readonly onCap: (line: BudgetLine) => void;
}

/** What is spent, held, about to run out? */
export function Budgets() {
  const budgets = useRead("GET budgets", { query: rangeOf(usePlace()) });
  const { changing, open, close } = useChange<BudgetLine>();
  return (
    <Loaded query={budgets} what="the budgets" height={640}>
      {(data) => {
        const past = data.days.filter(({ name }) => name !== data.today);
        return (
          <div className="view stack">
            <Today data={data} onCap={open} />
            <Keys data={data} />
            <Goals data={data} onCap={open} />
            <Sessions />
            <Holds totals={data.totals} />
            {past.length > 0 && (
              <Section title="UTC days before">
                <Lines lines={past} caption="Days, the newest first" first="UTC day" />
              </Section>
            )}
            {changing !== undefined && <CapDialog line={changing} policy={data.policy_caps} onClose={close} />}
          </div>
        );
      }}
    </Loaded>
  );
}

function Today({ data, onCap }: PartProps) {
  const { pace, at_ms } = data;
  const today = data.days.find(({ name }) => name === data.today);
  if (today === undefined) return null;
  const { spent_nano_usd: spent, hard_nano_usd: hard } = today;
  const fact = (name: string, nano: number | null, note: string): Fact => [name, <Money key="" nano={nano} />, note];
  const aside = `${utcDayEnd(at_ms)}, in ${duration(pace.day_ends_at_ms - at_ms)}`;
  return (
    <Section title={utcDayLabel(at_ms)} aside={<span className="muted">{aside}</span>}>
      <CapBar use={today} />
      <Facts
        facts={[
          ["spent", <Spent key="" of={today} />, hard === null ? "no cap" : `${share(spent, hard)} of the hard cap`],
          fact("held", today.held_nano_usd, heldBy(today)),
          fact("left", today.left_nano_usd, `hard cap ${money(hard)}`),
          fact("pace", pace.nano_usd_per_hour, "an hour"),
          fact("at the day's end", pace.forecast_nano_usd, "at this pace"),
        ]}
      />
      <div className="row spread">
        {pace.runs_out_at_ms === null ? (
          <p className="muted">The cap is not reached before the day ends, at this pace.</p>
        ) : (
          <p data-tone="warn">
            At this pace the cap is reached at <Time ms={pace.runs_out_at_ms} />; requests are refused from then on.
          </p>
        )}
        <button type="button" onClick={() => onCap(today)}>
          Set the day's cap
        </button>
      </div>
    </Section>
  );
}

function heldBy({ held_by }: BudgetLine): string {
  const parts = Object.entries(held_by).flatMap(([state, nano]) => (nano > 0 ? [`${money(nano)} ${state}`] : []));
  return parts.join(", ") || "by nothing";
}

/** Keys that have a cap of their own: what all tokens of a label spend in the UTC day. */
function Keys({ data: { keys } }: Pick<PartProps, "data">) {
  if (keys.length === 0) return null;
  return (
    <Section title="Keys" aside={<span className="muted">their caps of the UTC day</span>}>
      <Lines lines={keys} caption="Keys by the share of their cap that is used" first="key" />
    </Section>
  );
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

interface LinesProps {
  readonly lines: readonly BudgetLine[];
  readonly caption: string;
  readonly first: string;
  readonly onCap?: PartProps["onCap"];
}

function Lines({ lines, caption, first, onCap }: LinesProps) {
  const used = ({ spent_nano_usd, held_nano_usd, hard_nano_usd }: BudgetLine): string =>
    share(spent_nano_usd + held_nano_usd, hard_nano_usd ?? 0);
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
      columns={[
        [
          first,
          (line) => <DecisionsLink filter={filterOfAccount(line)}>{goalName(line.name)}</DecisionsLink>,
          {
            kind: "heading",
            of: "goal",
            title: ({ name }) => name,
          },
        ],
        ["used", (line) => <CapBar use={line} />, { className: "wide" }],
        ["share", used, { kind: "figure", label: "", of: "push" }],
        ["spent", (line) => <Spent of={line} />, { kind: "figure", fold: true }],
        [
          "held",
          ({ held_nano_usd: nano }) => (nano === 0 ? none : <Money nano={nano} />),
          { kind: "figure", title: (line) => (line.held_nano_usd === 0 ? undefined : heldBy(line)) },
        ],
        ["soft / hard cap", (line) => <SetCaps {...line} />, { kind: "figure", label: "caps" }],
        ...(onCap === undefined ? [] : [["change", change, { kind: "unnamed", of: "number nowrap actions" }] as const]),
      ]}
    />
  );
}

function SetCaps({ soft_nano_usd, hard_nano_usd, cap_from }: BudgetLine) {
  return (
    <>
      {money(soft_nano_usd)} / {money(hard_nano_usd)}
      {cap_from === "operator" && <span className="muted"> set by hand</span>}
    </>
  );
}

/** What the sessions of the range have asked and cost. A session has no cap of its own: its goals have. */
function Sessions() {
  const query = useRead("GET sessions", { query: rangeOf(usePlace()) });
  return (
    <Section title="Sessions" aside={<span className="muted">of the range, highest cost first</span>}>
      <Loaded query={query} what="the sessions" height={120}>
        {({ sessions, range, more }) => (
          <>
            {sessions.length === 0 ? (
              <Empty>
                No request of this range names a session. It does so with the header <code>X-Session-Id</code>.
              </Empty>
            ) : (
              <Table
                caption="Sessions, highest cost first"
                className="folds"
                rows={sessions}
                rowKey={({ session }) => session}
                columns={[
                  [
                    "session",
                    ({ session }) => session,
                    {
                      kind: "heading",
                      of: "goal",
                      title: ({ session }) => session,
                    },
                  ],
                  ["requests", (row) => <Requests of={row} range={range} />, { kind: "figure", of: "push" }],
                  [
                    "refused",
                    ({ refused }) => (refused.requests === 0 ? none : <Requests of={refused} range={range} />),
                    { kind: "figure", fold: true },
                  ],
                  ["cost", (row) => <Cost of={row} range={range} />, "figure"],
                  [
                    "tokens",
                    ({ prompt_tokens, completion_tokens }) => count(prompt_tokens + completion_tokens),
                    "figure",
                  ],
                  ["cached", ({ cached_tokens, prompt_tokens }) => share(cached_tokens, prompt_tokens), "figure"],
                  [
                    "switches",
                    ({ switches, switch_nano_usd }) =>
                      switches === 0 ? none : `${count(switches)}, ${money(switch_nano_usd)}`,
                    "figure",
                  ],
                  ["last", ({ last_ms }) => <Time ms={last_ms} />, "figure"],
                ]}
              />
            )}
            {more && <p className="muted">More sessions have cost less.</p>}
          </>
        )}
      </Loaded>
    </Section>
  );
}
