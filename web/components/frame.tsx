import type { ReactNode, RefObject } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import { useFeedState } from "../api/live-feed.ts";
import { minuteTime, money, utcDayEnd, utcDayLabel, zoneName } from "../format.ts";
import { carried, go, href, Link, rangeOf, ranges, usePlace, withSearch, zoneOf } from "../router.tsx";
import { views } from "./keys.tsx";

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
  const address = href("/budgets", carried(usePlace()));
  const day = summary?.caps.day;
  return (
    <>
      <a className="hidden" href="#main">
        To the content
      </a>
      <div className="frame">
        <Rail view={view} session={session} summary={summary} />
        <main id="main" ref={main} tabIndex={-1} aria-label={title}>
          <header className="head row">
            <h1>{title}</h1>
            {view !== "/playground" && view !== "/policy" && <RangePicker />}
            <ZonePicker />
            <Feed failed={failed} atMs={summary?.at_ms} />
            {summary !== undefined && day !== undefined && (
              // The UTC day, which is when the cap starts anew.
              <Link
                className="nowrap"
                href={address}
                title={`${utcDayLabel(summary.at_ms)}, ${utcDayEnd(summary.at_ms)}`}
              >
                UTC day {money(day.spent_nano_usd)} / {day.hard_nano_usd === null ? "no cap" : money(day.hard_nano_usd)}
              </Link>
            )}
          </header>
          {children}
        </main>
      </div>
    </>
  );
}

function Rail({ view, session, summary }: Pick<Props, "view" | "session" | "summary">) {
  const place = usePlace();
  const alerts = summary?.needs_you.filter(({ severity }) => severity !== "info").length ?? 0;
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
                {path === "/" && alerts > 0 && (
                  <span className="badge">
                    {alerts}
                    <span className="hidden"> need you</span>
                  </span>
                )}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="foot stack">
        {session?.demo === true && (
          <p className="badge" title="A simulated upstream answers. No money is spent.">
            DEMO
          </p>
        )}
        {session?.store.ok === false && <p className="badge">store unavailable</p>}
        <p className="muted" title={session && `node ${session.node_id}`}>
          {session?.version}
          {session?.signed_in === true && (
            <button type="button" className="plain" onClick={() => void signOut()}>
              Sign out
            </button>
          )}
        </p>
      </div>
    </header>
  );
}

async function signOut(): Promise<void> {
  await fetch("/dashboard/api/logout", { method: "POST", headers: { "x-smart-gateway-csrf": "1" } });
  location.assign("/dashboard/login");
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  /** Values and their names. */
  readonly options: readonly (readonly [string, string])[];
  readonly onPick: (value: string) => void;
}

export function Select({ label, value, options, onPick }: SelectProps) {
  return (
    <select aria-label={label} value={value} onChange={({ target }) => onPick(target.value)}>
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}

function RangePicker() {
  const place = usePlace();
  const { range = "", from_ms = 0, to_ms = 0 } = rangeOf(place);
  const minute = (ms: number): string => minuteTime(ms, Date.now(), zoneOf(place));
  const own = range === "" ? [["", `${minute(from_ms)} – ${minute(to_ms)}`] as const] : [];
  const pick = (key: string) => go(withSearch(place, { range: key, from_ms: undefined, to_ms: undefined }));
  return <Select label="Range" value={range} options={[...own, ...Object.entries(ranges)]} onPick={pick} />;
}

function ZonePicker() {
  const place = usePlace();
  const local = zoneName("local");
  if (local === "UTC") return <span className="muted">UTC</span>;
  const options = { local, utc: "UTC" };
  const pick = (zone: string) => go(withSearch(place, { tz: zone === "utc" ? "utc" : undefined }));
  return <Select label="Time zone" value={zoneOf(place)} options={Object.entries(options)} onPick={pick} />;
}

/** How fresh the page is: the live feed where there is one, else when the numbers were read. */
function Feed({ failed, atMs }: { readonly failed: boolean; readonly atMs: number | undefined }) {
  const zone = zoneOf(usePlace());
  const { kind, sinceMs } = useFeedState();
  const time = (ms: number): string => minuteTime(ms, Date.now(), zone);
  const isCut = kind === "cut" || failed;
  if (!isCut && kind !== "open") return atMs === undefined ? null : <span className="muted">read {time(atMs)}</span>;
  const cut = kind === "cut" ? `paused at ${time(sinceMs)}, reconnecting` : "no answer, trying again";
  return (
    <span className="live nowrap muted" data-state={isCut ? "cut" : "open"} role="status">
      <span className="shape" data-tone={isCut ? "warn" : "good"} aria-hidden="true">
        {isCut ? "○" : "●"}
      </span>
      {isCut ? cut : "live"}
    </span>
  );
}
