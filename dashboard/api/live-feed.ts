import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { DecisionRow, LiveEvent } from "#dashboard/endpoints/decisions.ts";
import type { DecisionFilter } from "#dashboard/query.ts";
import { address } from "./client.ts";

/** State of the page's one live feed: `cut` since a time while it reconnects, `off` while no decisions are shown. */
interface FeedState {
  readonly kind: "off" | "connecting" | "open" | "cut";
  readonly sinceMs: number;
}

let state: FeedState = { kind: "off", sinceMs: 0 };
const watchers = new Set<() => void>();

function become(kind: FeedState["kind"]): void {
  if (state.kind === kind) return;
  state = { kind, sinceMs: Date.now() };
  for (const notify of watchers) notify();
}

function watch(notify: () => void): () => void {
  watchers.add(notify);
  return () => void watchers.delete(notify);
}

export function useFeedState(): FeedState {
  return useSyncExternalStore(watch, () => state);
}

/** `gap`: events were missed, the shown data must be read again. */
interface FeedEvents {
  decision(row: DecisionRow): void;
  gap(): void;
}

/**
 * Decisions as they are made, limited to `filter` by the server. After a cut the browser resumes where it was. A tab in the
 * background closes its connection: a browser has six connections to a server, and each open tab would keep one.
 */
export function useLiveFeed(filter: DecisionFilter, on: boolean, events: FeedEvents): void {
  const decision = useEffectEvent(events.decision);
  const gap = useEffectEvent(events.gap);
  const path = address("GET decisions/live", { query: filter });
  useEffect(() => {
    if (!on) return;
    return openFeed(path, { decision: (row) => decision(row), gap: () => gap() });
  }, [path, on]);
}

const firstRetryMs = 1_000;
const longestRetryMs = 15_000;

/** Returns how to close it. */
function openFeed(path: string, events: FeedEvents): () => void {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let retryMs = firstRetryMs;
  let everOpen = false;

  const receive = (event: MessageEvent<string>): void => {
    const live = JSON.parse(event.data) as LiveEvent; // our own server's, of that schema
    if (live.kind === "decision") events.decision(live.row);
    else if (live.kind === "gap" || (everOpen && !live.resumed)) events.gap();
    if (live.kind !== "hello") return;
    everOpen = true;
    retryMs = firstRetryMs;
    become("open");
  };
  const connect = (): void => {
    become("connecting");
    source = new EventSource(path);
    for (const kind of ["hello", "decision", "gap"]) source.addEventListener(kind, receive);
    source.onerror = () => {
      become("cut");
      if (source?.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(connect, retryMs); // the browser gives up on a status that is no success
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    };
  };
  const disconnect = (): void => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
    become("off");
  };
  const onVisibility = (): void => {
    if (document.hidden) disconnect();
    else if (source === undefined) connect();
  };
  document.addEventListener("visibilitychange", onVisibility);
  onVisibility();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    disconnect();
  };
}
