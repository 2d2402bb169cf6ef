import { useSyncExternalStore } from "react";

/** The address of the page is its state: view, range, filters, opened decision. So Back works, and a copied link shows the same. */
export interface Place {
  /** Below `/dashboard`: `/`, `/decisions`, `/decisions/abc`. */
  readonly path: string;
  readonly search: URLSearchParams;
}

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
export function href(path: string, search: URLSearchParams | Record<string, string | undefined> = {}): string {
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
export function withSearch(from: Place, changes: Record<string, string | undefined>): string {
  const search = new URLSearchParams(from.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") search.delete(name);
    else search.set(name, value);
  }
  return href(from.path, search);
}
