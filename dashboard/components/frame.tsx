import type { ChangeEvent, ReactNode, RefObject } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import { useFeedState } from "../api/live-feed.ts";
import { minuteTime, money, utcDayEnd, utcDayLabel, zoneName } from "../format.ts";
import { carried, go, href, isRangeKey, Link, rangeOf, ranges, usePlace, withSearch, zoneOf } from "../router.tsx";
import { views } from "./keys.tsx";
import { setTheme, storedTheme, themeOf } from "./theme.ts";

type Session = AnswerOf<"GET session">;
type Summary = AnswerOf<"GET summary">;

interface Props {
  readonly title: string;
  /** The path of the view that is shown. */
  readonly view: string;
  readonly session: Session | undefined;
  readonly summary: Summary | undefined;
  readonly failed: boolean;
  readonly main: RefObject<HTMLElement | null>;
  readonly children: ReactNode;
}

/** The frame of the page: links to the views, the header that all views share, and the view. */
export function Frame({ title, view, session, summary, failed, main, children }: Props) {
  const needs = summary?.needs_you.filter(({ severity }) => severity !== "info").length ?? 0;
  const store = session?.store;
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <div className="frame">
        <Rail view={view} session={session} needs={needs} />
        <main id="main" ref={main} tabIndex={-1} aria-label={title}>
          <header className="head">
            <h1>{title}</h1>
            {view !== "/playground" && view !== "/policy" && <RangePicker />}
            <ZonePicker />
            <Feed failed={failed} atMs={summary?.at_ms} />
            {summary !== undefined && <Day summary={summary} />}
          </header>
          {store?.ok === false && (
            <p className="failed" role="alert">
              The store {store.failed === null ? "does not answer" : `is unavailable: ${store.failed}`}. Requests that
              cost anything are refused until it is available again.
            </p>
          )}
          {children}
        </main>
      </div>
    </>
  );
}

interface RailProps extends Pick<Props, "view" | "session"> {
  readonly needs: number;
}

function Rail({ view, session, needs }: RailProps) {
  const place = usePlace();
  return (
    <header className="rail">
      <p className="name">
        Smart
        <br />
        Gateway
      </p>
      <nav aria-label="Views">
        <ul>
          {views.map(({ path, name }) => (
            <li key={path}>
              <Link href={href(path, carried(place))} aria-current={path === view ? "page" : undefined}>
                {name}
                {path === "/" && needs > 0 && (
                  <span className="badge">
                    {needs}
                    <span className="hidden"> need you</span>
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="foot">
        {session?.demo === true && (
          <p className="flag" title="A simulated upstream answers. No money is spent.">
            DEMO
          </p>
        )}
        {session?.store.ok === false && <p className="flag">store away</p>}
        <ThemePicker />
        {session !== undefined && (
          <p className="muted" title={`node ${session.node_id}`}>
            {session.version}
            {session.signed_in && " · "}
            {session.signed_in && (
              <button type="button" className="plain" onClick={() => void signOut()}>
                Sign out
              </button>
            )}
          </p>
        )}
      </div>
    </header>
  );
}

async function signOut(): Promise<void> {
  await fetch("/dashboard/api/logout", { method: "POST", headers: { "x-smart-gateway-csrf": "1" } });
  location.assign("/dashboard/login");
}

function RangePicker() {
  const place = usePlace();
  const { range, from_ms, to_ms } = rangeOf(place);
  const pick = ({ target }: ChangeEvent<HTMLSelectElement>): void => {
    if (!isRangeKey(target.value)) return;
    go(withSearch(place, { range: target.value, from_ms: undefined, to_ms: undefined }));
  };
  const minute = (ms: number): string => minuteTime(ms, Date.now(), zoneOf(place));
  return (
    <select aria-label="Range" value={range ?? "custom"} onChange={pick}>
      {Object.entries(ranges).map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
      {from_ms !== undefined && to_ms !== undefined && (
        <option value="custom">
          {minute(from_ms)} – {minute(to_ms)}
        </option>
      )}
    </select>
  );
}

function ZonePicker() {
  const place = usePlace();
  if (zoneName("local") === "UTC") return <span className="muted">UTC</span>;
  return (
    <select
      aria-label="Time zone"
      value={zoneOf(place)}
      onChange={({ target }) => go(withSearch(place, { tz: target.value === "utc" ? "utc" : undefined }))}
    >
      <option value="local">{zoneName("local")}</option>
      <option value="utc">UTC</option>
    </select>
  );
}

function ThemePicker() {
  return (
    <select aria-label="Theme" defaultValue={storedTheme()} onChange={({ target }) => setTheme(themeOf(target.value))}>
      <option value="system">as the system</option>
      <option value="light">light</option>
      <option value="dark">dark</option>
    </select>
  );
}

/** How fresh the page is: the live feed where there is one, else when the numbers were read. */
function Feed({ failed, atMs }: { readonly failed: boolean; readonly atMs: number | undefined }) {
  const zone = zoneOf(usePlace());
  const { kind, sinceMs } = useFeedState();
  const time = (ms: number): string => minuteTime(ms, Date.now(), zone);
  if (kind === "cut" || failed) {
    return (
      <span className="live" data-state="cut" role="status">
        <span aria-hidden="true">○</span>
        {kind === "cut" ? `paused at ${time(sinceMs)}, reconnecting` : "no answer, trying again"}
      </span>
    );
  }
  if (kind === "open") {
    return (
      <span className="live" data-state="open" role="status">
        <span className="shape" aria-hidden="true">
          ●
        </span>
        live
      </span>
    );
  }
  return atMs === undefined ? null : <span className="live">read {time(atMs)}</span>;
}

/** The day's spend against its cap, on every view. The day is the UTC day, which is when the cap starts anew. */
function Day({ summary: { at_ms, caps } }: { readonly summary: Summary }) {
  const { spent_nano_usd, hard_nano_usd } = caps.day;
  const address = href("/budgets", carried(usePlace()));
  return (
    <Link className="nowrap" href={address} title={`${utcDayLabel(at_ms)}, ${utcDayEnd(at_ms)}`}>
      UTC day {money(spent_nano_usd)} / {hard_nano_usd === null ? "no cap" : money(hard_nano_usd)}
    </Link>
  );
}
