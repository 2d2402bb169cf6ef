import { type AnchorHTMLAttributes, type MouseEvent, type ReactNode, useSyncExternalStore } from "react";
import type { DecisionFilter, Range, RangeKey } from "#dashboard/query.ts";
import type { Zone } from "./format.ts";

/** The address of the page is its state: view, range, filters, opened decision. So Back works, and a copied link shows the same. */
export interface Place {
  /** Below `/dashboard`: `/`, `/decisions`, `/decisions/abc`. */
  readonly path: string;
  readonly search: URLSearchParams;
}

type Search = Readonly<Record<string, string | undefined>>;

const base = "/dashboard";
const moved = "dashboard:moved";

let place = read();

function read(): Place {
  const { pathname, search } = globalThis.location ?? { pathname: base, search: "" };
  const path = pathname.startsWith(base) ? pathname.slice(base.length).replace(/\/+$/, "") : "";
  return { path: path === "" ? "/" : path, search: new URLSearchParams(search) };
}

function subscribe(notify: () => void): () => void {
  const update = (): void => {
    place = read();
    notify();
  };
  addEventListener("popstate", update);
  addEventListener(moved, update);
  return () => {
    removeEventListener("popstate", update);
    removeEventListener(moved, update);
  };
}

/** The current place; the component renders again when it changes. */
export function usePlace(): Place {
  return useSyncExternalStore(subscribe, () => place);
}

/** The address of a path below `/dashboard`. Empty values are left out, so that one state has one address. */
export function href(path: string, search: URLSearchParams | Search = {}): string {
  const kept = new URLSearchParams();
  for (const [name, value] of search instanceof URLSearchParams ? search : Object.entries(search)) {
    if (value !== undefined && value !== "") kept.append(name, value);
  }
  const query = kept.toString();
  return `${base}${path === "/" ? "" : path}${query === "" ? "" : `?${query}`}`;
}

/** Goes to an address that `href` made. `replace` leaves no step for Back: for what is typed letter by letter. */
export function go(address: string, replace = false): void {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event(moved));
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
  const from = wholeNumber(search.get("from_ms"));
  const to = wholeNumber(search.get("to_ms"));
  if (from !== undefined && to !== undefined && from < to) return { from_ms: from, to_ms: to };
  const named = search.get("range");
  return { range: isRangeKey(named) ? named : "24h" };
}

export function isRangeKey(text: string | null): text is RangeKey {
  return text !== null && Object.hasOwn(ranges, text);
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export function zoneOf({ search }: Place): Zone {
  return search.get("tz") === "utc" ? "utc" : "local";
}

/** The fields that a list of decisions can be limited by, in the words of the page. */
export const filterFields = {
  request_id: "request",
  goal: "goal",
  session: "session",
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
  cost_state: "cost state",
  action: "action",
} as const satisfies Partial<Record<keyof DecisionFilter, string>>;
export type FilterField = keyof typeof filterFields;

export function filterOf(place: Place): DecisionFilter {
  const given = Object.keys(filterFields).flatMap((field) => {
    const value = place.search.get(field) ?? "";
    return value === "" ? [] : [[field, value]];
  });
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
export function Link({ onClick, href: address, ...attributes }: Attributes) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(address);
  };
  return <a {...attributes} href={address} onClick={follow} />;
}

interface DecisionsLinkProps {
  readonly filter: DecisionFilter;
  readonly range?: Range;
  readonly children: ReactNode;
}

/** A number, and the list of the decisions that make it. */
export function DecisionsLink({ filter, range, children }: DecisionsLinkProps) {
  return <Link href={decisionsHref(filter, usePlace(), range)}>{children}</Link>;
}

export function DecisionLink({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const address = href(`/decisions/${encodeURIComponent(id)}`, carried(usePlace()));
  return (
    <Link href={address} className="nowrap">
      {children}
    </Link>
  );
}
