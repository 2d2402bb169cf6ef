import type { Need } from "#dashboard/api-schema.ts";
import { useRead } from "../../api/queries.ts";
import { Command, Empty, Loaded } from "../../components/loaded.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { sampleRequest } from "../../components/sample-request.ts";
import { Section } from "../../components/section.tsx";
import { money } from "../../format/money.ts";
import { count, counted, duration, share } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { href, type Place, usePlace } from "../../router/location.ts";
import { carried, decisionsHref, rangeOf } from "../../router/state.ts";
import { Caps } from "./caps.tsx";
import { RequestCharts } from "./charts.tsx";
import { usePrefetchedSeries } from "./series.ts";
import { SpendToday } from "./spend-today.tsx";
import type { Summary } from "./summary.ts";
import { WhereTheyWent } from "./where-they-went.tsx";

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
          {data.total.requests > 0 && <Facts summary={data} />}
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
      <div className="stack-tight">
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

function placeOfNeed(need: Need, place: Place): string {
  if (need.filter !== null) return decisionsHref(need.filter, place);
  const path = need.view === "now" ? "/" : `/${need.view}`;
  return href(path, { ...carried(place), at: need.target ?? undefined });
}

function Facts({ summary }: { readonly summary: Summary }) {
  const place = usePlace();
  const { total, refused, failed, answered, range, first_token_ms } = summary;
  const to = (filter: Summary["total"]["filter"]): string => decisionsHref(filter, place, range);
  return (
    <dl className="facts">
      <div>
        <dt>requests</dt>
        <dd>
          <Link href={to(total.filter)}>{count(total.requests)}</Link>
        </dd>
        <dd>{share(answered.requests, total.requests)} answered</dd>
      </div>
      <div>
        <dt>spent</dt>
        <dd>
          <Link href={to(total.filter)}>
            <Money nano={total.cost_nano_usd} />
          </Link>
        </dd>
        <dd>{answered.requests > 0 && `${money(Math.round(answered.cost_nano_usd / answered.requests))} an answer`}</dd>
      </div>
      <div>
        <dt>refused</dt>
        <dd data-tone={refused.requests > 0 ? "warn" : undefined}>
          <Link href={to(refused.filter)}>{count(refused.requests)}</Link>
        </dd>
        <dd>{share(refused.requests, total.requests)}, by the gateway</dd>
      </div>
      <div>
        <dt>failed</dt>
        <dd data-tone={failed.requests > 0 ? "bad" : undefined}>
          <Link href={to(failed.filter)}>{count(failed.requests)}</Link>
        </dd>
        <dd>{share(failed.requests, total.requests)}, upstream</dd>
      </div>
      <div>
        <dt>first token</dt>
        <dd>
          <Link href={to(answered.filter)}>{first_token_ms === null ? "–" : duration(first_token_ms.p50)}</Link>
        </dd>
        <dd>{first_token_ms === null ? "nothing has answered" : `95 % within ${duration(first_token_ms.p95)}`}</dd>
      </div>
      <div>
        <dt>saved</dt>
        <dd>
          <Link href={to(answered.filter)}>
            <Money nano={summary.saved.saved_nano_usd} />
          </Link>
        </dd>
        <dd>against {summary.saved.model ?? "pro"} alone</dd>
      </div>
    </dl>
  );
}

function Saved({ summary }: { readonly summary: Summary }) {
  const place = usePlace();
  const { saved, answered, range } = summary;
  if (saved.requests === 0) return null;
  const difference = Math.abs(saved.saved_nano_usd);
  return (
    <Section title="Saved against pro alone">
      <p>
        <Link href={decisionsHref(answered.filter, place, range)}>{counted(saved.requests, "answered request")}</Link>{" "}
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
function Proof({ summary }: { readonly summary: Summary }) {
  const place = usePlace();
  const { ledger } = summary;
  return (
    <p className="muted">
      Ledger of the UTC day {ledger.day}: <Money nano={ledger.spent_nano_usd} /> spent; the records add up to{" "}
      <Link href={decisionsHref({ range: "today" }, place)}>
        <Money nano={ledger.records_nano_usd} />
      </Link>
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
