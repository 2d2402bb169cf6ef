import type { ModelView } from "#dashboard/endpoints/models.ts";
import type { BudgetLine } from "#operator/budgets.ts";
import type { Counted, DecisionFilter, Range } from "#operator/query.ts";
import type { DecisionRow } from "#operator/records.ts";
import { clockTime, count, dayMs, exactMoney, isoTime, minuteTime, money, utcDay } from "../format.ts";
import { DecisionsLink, usePlace, zoneOf } from "../router.tsx";

/** Small marks that mean the same everywhere: amounts, times, tiers, states, caps. */

export function Money({ nano }: { readonly nano: number | null | undefined }) {
  if (nano === null || nano === undefined) return <span title="not known">–</span>;
  return <span title={exactMoney(nano)}>{money(nano)}</span>;
}

/** What an account has spent, and how much of it was charged because nobody knows the cost. */
export function Spent({ of: { spent_nano_usd: spent, unproven_nano_usd: unproven } }: { readonly of: BudgetLine }) {
  return (
    <>
      <Money nano={spent} />
      {unproven > 0 && <span className="muted"> {money(unproven)} unproven</span>}
    </>
  );
}

/** How many requests, with the list of them. */
export function Requests({ of, range }: { of: Pick<Counted, "requests" | "filter">; range: Range }) {
  return (
    <DecisionsLink filter={of.filter} range={range}>
      {count(of.requests)}
    </DecisionsLink>
  );
}

/** What requests have cost, with the list of them. */
export function Cost({ of, range }: { readonly of: Counted; readonly range: Range }) {
  return (
    <DecisionsLink filter={of.filter} range={range}>
      <Money nano={of.cost_nano_usd} />
    </DecisionsLink>
  );
}

/** A time, short; the whole one and its UTC day on hover. */
export function Time({ ms, exact = false }: { readonly ms: number; readonly exact?: boolean }) {
  const zone = zoneOf(usePlace());
  const text = exact ? clockTime(ms, Date.now(), zone) : minuteTime(ms, Date.now(), zone);
  return (
    <time dateTime={isoTime(ms, "utc")} title={`${isoTime(ms, zone)} · UTC day ${utcDay(ms)}`} className="nowrap">
      {text}
    </time>
  );
}

export function Tier({ tier, children }: { readonly tier: DecisionRow["tier"]; readonly children?: string }) {
  if (tier === null) return <span className="muted">{children ?? "–"}</span>;
  return (
    <span className="tier" style={{ color: `var(--${tier})` }}>
      {children ?? tier}
    </span>
  );
}

/** A state is a shape, a word and a tone, so that none of them is needed alone. */
export const states = {
  HEALTHY: { shape: "●", tone: "good", word: "healthy" },
  DEGRADED: { shape: "◐", tone: "warn", word: "degraded" },
  UNHEALTHY: { shape: "○", tone: "bad", word: "out" },
  HALF_OPEN: { shape: "◇", tone: "warn", word: "probing" },
  DISABLED: { shape: "□", tone: "muted", word: "disabled" },
  STALE: { shape: "◌", tone: "muted", word: "stale" },
  QUARANTINE: { shape: "⊘", tone: "bad", word: "quarantined" },
} as const satisfies Record<ModelView["state"], unknown>;

export function State({ state }: { readonly state: ModelView["state"] }) {
  const { shape, tone, word } = states[state];
  return (
    <span className="nowrap" data-tone={tone}>
      <span className="shape" aria-hidden="true">
        {shape}
      </span>
      {word}
    </span>
  );
}

/** A sentence of the gateway; names between backticks are code. */
export function Sentence({ text }: { readonly text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}

/** The decisions whose cost an account counts. Keys, and requests without a goal, are counted by UTC day. */
export function filterOfAccount({ kind, name, account }: BudgetLine): DecisionFilter {
  const day = /^(?:day|goal\/adhoc|key\/.+)\/(\d{4}-\d{2}-\d{2})$/.exec(account)?.[1];
  if (day === undefined) return { goal: name, range: "30d" };
  const from = Date.parse(`${day}T00:00:00Z`);
  const ends: DecisionFilter = day === utcDay(Date.now()) ? { range: "today" } : { from_ms: from, to_ms: from + dayMs };
  return { ...ends, ...(kind === "goal" ? { goal: "adhoc" } : kind === "key" ? { label: name } : {}) };
}

/** Spent is filled, held is hatched, the soft cap is a mark. Screen readers get the same in words. */
export function CapBar({ use }: { readonly use: BudgetLine }) {
  const {
    spent_nano_usd: spent,
    unproven_nano_usd: unproven,
    held_nano_usd: held,
    soft_nano_usd: soft,
    hard_nano_usd: hard,
  } = use;
  if (hard === null || hard === 0) return null;
  const percent = (nano: number): string => `${Math.min(100, (nano / hard) * 100)}%`;
  const ofIt = unproven > 0 ? ` (${money(unproven)} of it unproven)` : "";
  const label = `${money(spent)} spent${ofIt}, ${money(held)} held of ${money(hard)}`;
  return (
    <div className="bar" role="img" aria-label={label} title={label}>
      <i style={{ width: percent(spent), background: `var(${spent + held >= hard ? "--bad" : "--flash-fill"})` }} />
      <i className="held" style={{ width: percent(held) }} />
      {soft !== null && soft < hard && <i className="soft" style={{ left: percent(soft) }} />}
    </div>
  );
}

/** A part of a whole as a bar; what it says stands beside it in figures. */
export function ShareBar({ share, fill }: { readonly share: number; readonly fill: string }) {
  return (
    <div className="bar" aria-hidden="true">
      <i style={{ width: `${share * 100}%`, background: `var(${fill})` }} />
    </div>
  );
}

/** Where there is no figure, or it is none. */
export const none = <span className="muted">–</span>;

/** A part of a track, from 0 to 1. */
interface Span {
  readonly tone: string;
  readonly from: number;
  readonly to: number;
  readonly title: string;
}

/** Times on a line. `label`: what screen readers read; "" where the same stands beside it. */
export function Track({ label, spans }: { readonly label: string; readonly spans: readonly Span[] }) {
  return (
    <div className="track" {...(label === "" ? { "aria-hidden": true } : { role: "img", "aria-label": label })}>
      {spans.map(({ tone, from, to, title }) => (
        <i
          key={title + from}
          className={tone}
          title={title}
          style={{ left: `${from * 100}%`, width: `${Math.max(0, to - from) * 100}%` }}
        />
      ))}
    </div>
  );
}
