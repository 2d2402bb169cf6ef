import type { ChangeEvent, ReactNode, RefObject } from "react";
import type { AnswerOf } from "#dashboard/api-schema.ts";
import { money } from "../format/money.ts";
import { minuteTime, utcDayEnd, utcDayLabel, zoneName } from "../format/time.ts";
import { Link } from "../router/link.tsx";
import { go, href, usePlace, withSearch } from "../router/location.ts";
import { carried, isRangeKey, rangeOf, ranges, zoneOf } from "../router/state.ts";
import { views } from "./keys.tsx";
import { useFeedState } from "./live.tsx";
import { setTheme, storedTheme } from "./theme.ts";

interface Props {
  readonly title: string;
  /** The path of the view that is shown. */
  readonly view: string;
  readonly session: AnswerOf<"GET session"> | undefined;
  readonly summary: AnswerOf<"GET summary"> | undefined;
  readonly failed: boolean;
  readonly main: RefObject<HTMLElement | null>;
  readonly children: ReactNode;
}

/** The frame of the page: links to the views, the header that all views share, and the view. */
export function Frame({ title, view, session, summary, failed, main, children }: Props) {
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <div className="frame">
        <Rail
          view={view}
          session={session}
          needs={summary?.needs_you.filter(({ severity }) => severity !== "info").length ?? 0}
        />
        <main id="main" ref={main} tabIndex={-1} aria-label={title}>
          <header className="head">
            <h1>{title}</h1>
            {view !== "/playground" && view !== "/policy" && <RangePicker />}
            <ZonePicker />
            <Feed failed={failed} atMs={summary?.at_ms} />
            {summary !== undefined && <Day summary={summary} />}
          </header>
          {session?.store.ok === false && (
            <p className="failed" role="alert">
              The store {session.store.failed === null ? "does not answer" : `is unavailable: ${session.store.failed}`}.
              Requests that cost anything are refused until it is available again.
            </p>
          )}
          {children}
        </main>
      </div>
    </>
  );
}

interface RailProps {
  readonly view: string;
  readonly session: Props["session"];
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
        {session !== undefined && <SignedIn session={session} />}
      </div>
    </header>
  );
}

function SignedIn({ session }: { readonly session: AnswerOf<"GET session"> }) {
  return (
    <p className="muted" title={`node ${session.node_id}`}>
      {session.version}
      {session.signed_in && (
        <>
          {" · "}
          <button type="button" className="plain" onClick={() => void signOut()}>
            Sign out
          </button>
        </>
      )}
    </p>
  );
}

async function signOut(): Promise<void> {
  await fetch("/dashboard/api/logout", { method: "POST", headers: { "x-smart-gateway-csrf": "1" } });
  location.assign("/dashboard/login");
}

function RangePicker() {
  const place = usePlace();
  const range = rangeOf(place);
  const named = range.range ?? "custom";
  const pick = ({ target }: ChangeEvent<HTMLSelectElement>): void => {
    if (!isRangeKey(target.value)) return;
    go(withSearch(place, { range: target.value, from_ms: undefined, to_ms: undefined }));
  };
  return (
    <select aria-label="Range" value={named} onChange={pick}>
      {Object.entries(ranges).map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
      {named === "custom" && range.from_ms !== undefined && range.to_ms !== undefined && (
        <option value="custom">
          {minuteTime(range.from_ms, Date.now(), zoneOf(place))} – {minuteTime(range.to_ms, Date.now(), zoneOf(place))}
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
    <select
      aria-label="Theme"
      defaultValue={storedTheme()}
      onChange={({ target }) => setTheme(target.value === "light" || target.value === "dark" ? target.value : "system")}
    >
      <option value="system">as the system</option>
      <option value="light">light</option>
      <option value="dark">dark</option>
    </select>
  );
}

/** How fresh the page is: the live feed where there is one, else when the numbers were read. */
function Feed({ failed, atMs }: { readonly failed: boolean; readonly atMs: number | undefined }) {
  const place = usePlace();
  const state = useFeedState();
  const zone = zoneOf(place);
  const since = minuteTime(state.sinceMs, Date.now(), zone);
  if (state.kind === "cut" || failed) {
    return (
      <span className="live" data-state="cut" role="status">
        <span aria-hidden="true">○</span>
        {state.kind === "cut" ? `paused at ${since}, reconnecting` : "no answer, trying again"}
      </span>
    );
  }
  if (state.kind === "open") {
    return (
      <span className="live" data-state="open" role="status">
        <span className="shape" aria-hidden="true">
          ●
        </span>
        live
      </span>
    );
  }
  if (atMs === undefined) return null;
  return <span className="live">read {minuteTime(atMs, Date.now(), zone)}</span>;
}

/** The day's spend against its cap, on every view. The day is the UTC day, which is when the cap starts anew. */
function Day({ summary }: { readonly summary: AnswerOf<"GET summary"> }) {
  const place = usePlace();
  const { spent_nano_usd, hard_nano_usd } = summary.caps.day;
  const cap = hard_nano_usd === null ? "no cap" : money(hard_nano_usd);
  return (
    <Link
      className="nowrap"
      href={href("/budgets", carried(place))}
      title={`${utcDayLabel(summary.at_ms)}, ${utcDayEnd(summary.at_ms)}`}
    >
      UTC day {money(spent_nano_usd)} / {cap}
    </Link>
  );
}
