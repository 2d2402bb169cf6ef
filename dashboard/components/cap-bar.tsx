import type { BudgetLine, CapUse, DecisionFilter } from "#dashboard/api-schema.ts";
import { money } from "../format/money.ts";
import { dayMs, utcDay } from "../format/time.ts";

/** The decisions whose cost an account counts. What requests without a goal spend is counted by UTC day. */
export function filterOfAccount({ kind, name }: CapUse | BudgetLine): DecisionFilter {
  const adhocDay = /^adhoc\/(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1];
  if (kind === "goal" && adhocDay === undefined) return { goal: name, range: "30d" };
  const day = adhocDay ?? name;
  const from = Date.parse(`${day}T00:00:00Z`);
  const ends: DecisionFilter = day === utcDay(Date.now()) ? { range: "today" } : { from_ms: from, to_ms: from + dayMs };
  return kind === "goal" ? { goal: "adhoc", ...ends } : ends;
}

/** Spent is filled, held is hatched, the soft cap is a mark. Screen readers get the same in words. */
export function CapBar({ use }: { readonly use: CapUse }) {
  const hard = use.hard_nano_usd;
  if (hard === null || hard === 0) return null;
  const percent = (nano: number): string => `${Math.min(100, (nano / hard) * 100)}%`;
  const over = use.spent_nano_usd + use.held_nano_usd >= hard;
  const label = `${money(use.spent_nano_usd)} spent, ${money(use.held_nano_usd)} held of ${money(hard)}`;
  return (
    <div className={over ? "bar over" : "bar"} role="img" aria-label={label} title={label}>
      <i className="fill-spent" style={{ width: percent(use.spent_nano_usd) }} />
      <i className="fill-held" style={{ width: percent(use.held_nano_usd) }} />
      {use.soft_nano_usd !== null && use.soft_nano_usd < hard && (
        <i className="soft" style={{ left: percent(use.soft_nano_usd) }} />
      )}
    </div>
  );
}
