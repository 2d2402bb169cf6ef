import type { DecisionRow, ModelView } from "#dashboard/api-schema.ts";
import { exactMoney, money } from "../format/money.ts";
import { duration } from "../format/numbers.ts";
import { clockTime, isoTime, minuteTime, utcDay } from "../format/time.ts";
import { usePlace } from "../router/location.ts";
import { zoneOf } from "../router/state.ts";

/** Small marks that mean the same everywhere: amounts, times, tiers, states. */

export type TierName = NonNullable<DecisionRow["tier"]>;

export function Money({ nano }: { readonly nano: number | null | undefined }) {
  if (nano === null || nano === undefined) return <span title="not known">–</span>;
  return <span title={exactMoney(nano)}>{money(nano)}</span>;
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

export function Duration({ ms }: { readonly ms: number | null | undefined }) {
  return <span className="nowrap">{duration(ms)}</span>;
}

export function Tier({ tier, children }: { readonly tier: TierName | null; readonly children?: string }) {
  if (tier === null) return <span className="muted">{children ?? "–"}</span>;
  return (
    <span className="tier" data-tier={tier}>
      {children ?? tier}
    </span>
  );
}

/** A state is a shape, a word and a tone, so that none of them is needed alone. */
const states: Readonly<
  Record<ModelView["state"], { readonly shape: string; readonly tone: string; readonly word: string }>
> = {
  HEALTHY: { shape: "●", tone: "good", word: "healthy" },
  DEGRADED: { shape: "◐", tone: "warn", word: "degraded" },
  UNHEALTHY: { shape: "○", tone: "bad", word: "out" },
  HALF_OPEN: { shape: "◇", tone: "warn", word: "probing" },
  DISABLED: { shape: "□", tone: "muted", word: "disabled" },
  STALE: { shape: "◌", tone: "muted", word: "stale" },
  QUARANTINE: { shape: "⊘", tone: "bad", word: "quarantined" },
};

export function stateWord(state: ModelView["state"]): string {
  return states[state].word;
}

export function stateTone(state: ModelView["state"]): string {
  return states[state].tone;
}

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

/** `hard_pro_rule` as `hard pro rule`: the gateway's word, in readable spacing. */
export function words(name: string): string {
  return name.replaceAll("_", " ").toLowerCase();
}
