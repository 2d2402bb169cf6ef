import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from "react";
import type { DecisionFilter, Range, RangeKey } from "#operator/query.ts";
import type { Zone } from "./format.ts";
import { shared } from "./shared.ts";

/** The address is the state: view, range, filters, opened decision. So Back works, and a copied link shows the same. */
export interface Place {
  /** Below `/dashboard`: `/`, `/decisions`, `/decisions/abc`. */
  readonly path: string;
  readonly search: URLSearchParams;
}

type Search = Readonly<Record<string, string | undefined>>;

const base = "/dashboard";
const current = shared(read());
/** The current place; the component renders again when it changes. */
export const usePlace = current.use;
globalThis.addEventListener?.("popstate", () => current.set(read()));

function read(): Place {
  const { pathname, search } = globalThis.location ?? { pathname: base, search: "" };
  const path = pathname.slice(base.length).replace(/\/+$/, "");
  return { path: path === "" ? "/" : path, search: new URLSearchParams(search) };
}

/** The address of a path below `/dashboard`. Empty values are left out, so that one state has one address. */
export function href(path: string, search: URLSearchParams | Search = {}): string {
  const given = search instanceof URLSearchParams ? [...search] : Object.entries(search);
  const kept = given.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]]));
  return `${base}${path === "/" ? "" : path}${kept.length === 0 ? "" : `?${new URLSearchParams(kept)}`}`;
}

/** Goes to an address that `href` made. `replace` leaves no step for Back: for what is typed letter by letter. */
export function go(address: string, replace = false): void {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  current.set(read());
}

/** The same place with some of its search changed; undefined takes a value away. */
export function withSearch(from: Place, changes: Search): string {
  return href(from.path, { ...Object.fromEntries(from.search), ...changes });
}

export const ranges: Readonly<Record<RangeKey, string>> = {
  "1h": "last hour",
  "6h": "last 6 h",
  "24h": "last 24 h",
  today: "UTC day",
  "7d": "last 7 days",
  "30d": "last 30 days",
};

/** The range of an address: its two ends, else its name, else the last 24 hours. */
export function rangeOf({ search }: Place): Pick<DecisionFilter, "range" | "from_ms" | "to_ms"> {
  const [from_ms = Number.NaN, to_ms = Number.NaN] = ["from_ms", "to_ms"].map((name) => {
    const text = search.get(name) ?? "";
    return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  });
  if (from_ms < to_ms) return { from_ms, to_ms };
  const named = search.get("range") ?? "";
  return { range: Object.hasOwn(ranges, named) ? (named as RangeKey) : "24h" }; // one of them
}

export function zoneOf({ search }: Place): Zone {
  return search.get("tz") === "utc" ? "utc" : "local";
}

/** The fields that a list of decisions can be limited by, in the words of the page. */
export const filterFields = {
  request_id: "request",
  goal: "goal",
  session: "session",
  label: "key",
  cause: "cause",
  rule: "rule",
  kind: "kind",
  alias: "asked",
  model: "model",
  tier: "tier",
  outcome: "outcome",
  status: "status",
  refused_by: "refused by",
  error_class: "error",
  redaction: "secret found",
  cost_state: "cost state",
  action: "action",
} as const satisfies Partial<Record<keyof DecisionFilter, string>>;
export type FilterField = keyof typeof filterFields;

export function filterOf(place: Place): DecisionFilter {
  const given = [...place.search].filter(([name, value]) => Object.hasOwn(filterFields, name) && value !== "");
  return { ...rangeOf(place), ...Object.fromEntries(given) }; // the server validates it: an address may hold anything
}

/** The query that is kept from view to view: range and zone, but no filter. */
export function carried({ search }: Place): Search {
  return Object.fromEntries(["range", "from_ms", "to_ms", "tz"].map((name) => [name, search.get(name) ?? undefined]));
}

/** The address of the list of decisions behind a number. Both have the same range. */
export function decisionsHref(filter: DecisionFilter, from: Place, range?: Range): string {
  const ends = range === undefined ? {} : { from_ms: range.from_ms, to_ms: range.to_ms };
  const given = Object.entries({ ...ends, ...filter }).map(([name, value]) => [name, value?.toString()]);
  return href("/decisions", { ...Object.fromEntries(given), tz: from.search.get("tz") ?? undefined });
}

type Attributes = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string };

/** A link within the page. With a modifier key or another button it is the browser's: a new tab, a download. */
export function Link({ href: address, ...attributes }: Attributes) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(address);
  };
  return <a {...attributes} href={address} onClick={follow} />;
}

/** A number, and the list of the decisions that make it. */
export function DecisionsLink(props: { filter: DecisionFilter; range?: Range; children: ReactNode }) {
  return <Link href={decisionsHref(props.filter, usePlace(), props.range)}>{props.children}</Link>;
}

export function DecisionLink({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const address = href(`/decisions/${encodeURIComponent(id)}`, carried(usePlace()));
  return (
    <Link href={address} className="nowrap">
      {children}
    </Link>
  );
}
