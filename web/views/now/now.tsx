import type { ReactNode } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { Alert } from "#operator/alerts.ts";
import { useRead } from "../../api/queries.ts";
import { Cost, Money, Requests, Time } from "../../components/marks.tsx";
import { Command, Empty, Facts, Loaded, Section, sampleRequest } from "../../components/parts.tsx";
import { count, counted, duration, money, share } from "../../format.ts";
import { carried, DecisionsLink, decisionsHref, href, Link, rangeOf, usePlace } from "../../router.tsx";
import { OverTime } from "./charts.tsx";
import { Caps, WhereTheyWent } from "./spending.tsx";

type Summary = AnswerOf<"GET summary">;

/** Is anything wrong, and what does it cost me today? */
export function Now() {
  const summary = useRead("GET summary", { query: rangeOf(usePlace()) });
  return (
    <Loaded query={summary} what="the summary" height={640}>
      {(data) => (
        <div className="view stack">
          <NeedsYou alerts={data.needs_you} />
          {data.total.requests > 0 && (
            <>
              <Figures summary={data} />
              <OverTime summary={data} />
            </>
          )}
          <Caps summary={data} />
          {data.total.requests > 0 && <WhereTheyWent summary={data} />}
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

function NeedsYou({ alerts }: { readonly alerts: readonly Alert[] }) {
  const troubles = alerts.filter(({ severity }) => severity !== "info");
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
        <ul className="alerts">
          {troubles.map((alert) => (
            <AlertLine key={alert.id} alert={alert} />
          ))}
        </ul>
      )}
      {alerts
        .filter(({ severity }) => severity === "info")
        .map(({ id, title, todo, command }) => (
          <Empty key={id} command={command ?? sampleRequest()}>
            {title} {todo}
          </Empty>
        ))}
    </Section>
  );
}

function AlertLine({ alert }: { readonly alert: Alert }) {
  const place = usePlace();
  const { shape, tone, word } = shapes[alert.severity];
  const view = href(alert.view === "now" ? "/" : `/${alert.view}`, carried(place));
  return (
    <li>
      <span data-tone={tone}>
        <span aria-hidden="true">{shape}</span>
        <span className="hidden">{word}</span>
      </span>
      <div className="stack tight">
        <p>{alert.title}</p>
        <p className="muted">
          {alert.todo}
          {alert.since_ms !== null && (
            <>
              {" "}
              Since <Time ms={alert.since_ms} />.
            </>
          )}
        </p>
        {alert.command !== null && <Command text={alert.command} />}
      </div>
      <Link className="do nowrap" href={alert.filter === null ? view : decisionsHref(alert.filter, place)}>
        {alert.amount_nano_usd === null ? "Show" : <Money nano={alert.amount_nano_usd} />}
        <span className="hidden">: {alert.title}</span>
      </Link>
    </li>
  );
}

function Figures({ summary }: { readonly summary: Summary }) {
  const { total, refused, failed, answered, range, first_token_ms: first, saved, calls, tokens, switches } = summary;
  const perAnswer = Math.round(answered.cost_nano_usd / Math.max(1, answered.requests));
  const to = (filter: Summary["total"]["filter"], shown: ReactNode) => (
    <DecisionsLink filter={filter} range={range}>
      {shown}
    </DecisionsLink>
  );
  // A retry hides a failed call from its caller, and not from here.
  const hidden = calls.repeated > 0 && `; ${counted(calls.repeated, "failed call")} repeated`;
  const moved = `${switches.cost_nano_usd < 0 ? "saved" : "cost"} ${money(Math.abs(switches.cost_nano_usd))}`;
  return (
    <Facts
      facts={[
        [
          "requests",
          <Requests key="" of={total} range={range} />,
          `${share(answered.requests, total.requests)} answered`,
        ],
        ["spent", <Cost key="" of={total} range={range} />, answered.requests > 0 && `${money(perAnswer)} an answer`],
        [
          "refused",
          <Requests key="" of={refused} range={range} />,
          `${share(refused.requests, total.requests)}, by the gateway`,
          refused.requests > 0 && "warn",
        ],
        [
          "failed",
          <Requests key="" of={failed} range={range} />,
          <>
            {share(failed.requests, total.requests)}, upstream{hidden}
          </>,
          failed.requests > 0 && "bad",
        ],
        [
          "first token",
          to(answered.filter, duration(first?.p50)),
          first === null ? "nothing has answered" : `95 % within ${duration(first.p95)}`,
        ],
        [
          "tokens",
          count(tokens.prompt + tokens.completion),
          `${share(tokens.cached, tokens.prompt)} of the input cached`,
        ],
        ["model switches", count(switches.count), moved],
        [
          "saved",
          <span key="" title={saved.baseline}>
            {to(answered.filter, <Money nano={saved.saved_nano_usd} />)}
          </span>,
          `of ${money(saved.baseline_nano_usd)} on ${saved.model ?? "pro"} alone`,
        ],
      ]}
    />
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
