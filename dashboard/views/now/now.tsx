import type { ReactNode } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { Need } from "#dashboard/endpoints/needs.ts";
import { useRead } from "../../api/queries.ts";
import { Cost, Money, Requests, Time } from "../../components/marks.tsx";
import { Command, Empty, Facts, Loaded, Section, sampleRequest } from "../../components/parts.tsx";
import { counted, duration, money, share } from "../../format.ts";
import { carried, DecisionsLink, decisionsHref, href, Link, type Place, rangeOf, usePlace } from "../../router.tsx";
import { RequestCharts, SpendToday, usePrefetchedSeries } from "./charts.tsx";
import { Caps, WhereTheyWent } from "./spending.tsx";

type Summary = AnswerOf<"GET summary">;

/** Is anything wrong, and what does it cost me today? */
export function Now() {
  const place = usePlace();
  const summary = useRead("GET summary", { query: rangeOf(place) });
  usePrefetchedSeries(place);
  return (
    <Loaded query={summary} what="the summary" height={640}>
      {(data) => (
        <div className="view">
          <NeedsYou needs={data.needs_you} />
          {data.total.requests > 0 && <Figures summary={data} />}
          <div className="columns">
            <SpendToday summary={data} />
            <Caps summary={data} />
          </div>
          {data.total.requests > 0 && (
            <>
              <RequestCharts />
              <WhereTheyWent summary={data} />
              <Saved summary={data} />
            </>
          )}
          <Proof summary={data} />
        </div>
      )}
    </Loaded>
  );
}

const shapes = {
  act: { shape: "▲", tone: "bad", word: "act now" },
  watch: { shape: "◐", tone: "warn", word: "watch" },
  info: { shape: "○", tone: "muted", word: "to do" },
} as const;

function NeedsYou({ needs }: { readonly needs: readonly Need[] }) {
  const firstSteps = needs.filter(({ severity }) => severity === "info");
  const troubles = needs.filter(({ severity }) => severity !== "info");
  return (
    <Section title="Needs you">
      {troubles.length === 0 ? (
        <p className="muted">
          <span data-tone="good" aria-hidden="true">
            ●{" "}
          </span>
          Nothing needs you.
        </p>
      ) : (
        <ul className="needs">
          {troubles.map((need) => (
            <NeedLine key={need.id} need={need} />
          ))}
        </ul>
      )}
      {firstSteps.map((need) => (
        <Empty key={need.id} command={need.command ?? (need.kind === "nothing_yet" ? sampleRequest() : null)}>
          {need.title} {need.todo}
        </Empty>
      ))}
    </Section>
  );
}

function NeedLine({ need }: { readonly need: Need }) {
  const place = usePlace();
  const { shape, tone, word } = shapes[need.severity];
  return (
    <li>
      <span data-tone={tone}>
        <span aria-hidden="true">{shape}</span>
        <span className="hidden">{word}</span>
      </span>
      <div className="stack tight">
        <p>{need.title}</p>
        <p className="muted">
          {need.todo}
          {need.since_ms !== null && (
            <>
              {" "}
              Since <Time ms={need.since_ms} />.
            </>
          )}
        </p>
        {need.command !== null && <Command text={need.command} />}
      </div>
      <Link className="do" href={placeOfNeed(need, place)}>
        {need.amount_nano_usd === null ? "Show" : <Money nano={need.amount_nano_usd} />}
        <span className="hidden">: {need.title}</span>
      </Link>
    </li>
  );
}

function placeOfNeed({ filter, view, target }: Need, place: Place): string {
  if (filter !== null) return decisionsHref(filter, place);
  return href(view === "now" ? "/" : `/${view}`, { ...carried(place), at: target ?? undefined });
}

function Figures({ summary }: { readonly summary: Summary }) {
  const { total, refused, failed, answered, range, first_token_ms: first, saved } = summary;
  const perAnswer = Math.round(answered.cost_nano_usd / Math.max(1, answered.requests));
  const to = (filter: Summary["total"]["filter"], shown: ReactNode) => (
    <DecisionsLink filter={filter} range={range}>
      {shown}
    </DecisionsLink>
  );
  return (
    <Facts
      facts={[
        {
          name: "requests",
          value: <Requests of={total} range={range} />,
          note: `${share(answered.requests, total.requests)} answered`,
        },
        {
          name: "spent",
          value: <Cost of={total} range={range} />,
          note: answered.requests > 0 && `${money(perAnswer)} an answer`,
        },
        {
          name: "refused",
          value: <Requests of={refused} range={range} />,
          note: `${share(refused.requests, total.requests)}, by the gateway`,
          tone: refused.requests > 0 ? "warn" : undefined,
        },
        {
          name: "failed",
          value: <Requests of={failed} range={range} />,
          note: `${share(failed.requests, total.requests)}, upstream`,
          tone: failed.requests > 0 ? "bad" : undefined,
        },
        {
          name: "first token",
          value: to(answered.filter, duration(first?.p50)),
          note: first === null ? "nothing has answered" : `95 % within ${duration(first.p95)}`,
        },
        {
          name: "saved",
          value: to(answered.filter, <Money nano={saved.saved_nano_usd} />),
          note: `against ${saved.model ?? "pro"} alone`,
        },
      ]}
    />
  );
}

function Saved({ summary: { saved, answered, range } }: { readonly summary: Summary }) {
  if (saved.requests === 0) return null;
  const difference = Math.abs(saved.saved_nano_usd);
  return (
    <Section title="Saved against pro alone">
      <p>
        <DecisionsLink filter={answered.filter} range={range}>
          {counted(saved.requests, "answered request")}
        </DecisionsLink>{" "}
        cost <Money nano={saved.cost_nano_usd} />. The same tokens on <code>{saved.model ?? "pro"}</code> would have
        cost <Money nano={saved.baseline_nano_usd} />:{" "}
        <strong>
          <Money nano={difference} />
        </strong>{" "}
        {saved.baseline_nano_usd > 0 && `(${share(difference, saved.baseline_nano_usd)}) `}
        {saved.saved_nano_usd < 0 ? "less than was spent." : "more."}
      </p>
      <p className="muted">{saved.baseline}</p>
    </Section>
  );
}

/** The ledger counts the money. Spending that the records do not explain is shown. */
function Proof({ summary: { ledger } }: { readonly summary: Summary }) {
  return (
    <p className="muted">
      Ledger of the UTC day {ledger.day}: <Money nano={ledger.spent_nano_usd} /> spent; the records add up to{" "}
      <DecisionsLink filter={{ range: "today" }}>
        <Money nano={ledger.records_nano_usd} />
      </DecisionsLink>
      {ledger.unexplained_nano_usd === 0 ? (
        ", the same."
      ) : (
        <>
          ; <Money nano={ledger.unexplained_nano_usd} /> is in no record (charges without proof, dropped records).
        </>
      )}
    </p>
  );
}
