import { useEffect, useEffectEvent, useState } from "react";
import type { DecisionFilter, DecisionRow, LiveEvent } from "#dashboard/api-schema.ts";
import { address } from "./client.ts";

/** State of the live feed: `cut` since a time while it reconnects, `off` while the tab is in the background. */
export interface FeedState {
  readonly kind: "off" | "connecting" | "open" | "cut";
  readonly sinceMs: number;
}

export interface FeedEvents {
  decision(row: DecisionRow): void;
  /** Events were missed: the shown data must be read again. */
  gap(missed: number | null): void;
}

const firstRetryMs = 1_000;
const longestRetryMs = 15_000;

/**
 * Decisions as they are made, limited to `filter` by the server. After a cut the browser resumes where it was. A tab in the
 * background closes its connection: a browser has six connections to a server, and each open tab would keep one.
 */
export function useLiveFeed(filter: DecisionFilter, on: boolean, events: FeedEvents): FeedState {
  const [state, setState] = useState<FeedState>({ kind: "connecting", sinceMs: Date.now() });
  const decision = useEffectEvent(events.decision);
  const gap = useEffectEvent(events.gap);
  const path = address("GET decisions/live", { query: filter });
  useEffect(() => {
    if (!on) return;
    const feed = openFeed(path, {
      state: (kind) => setState((old) => (old.kind === kind ? old : { kind, sinceMs: Date.now() })),
      decision: (row) => decision(row),
      gap: (missed) => gap(missed),
    });
    return feed.close;
  }, [path, on]);
  return on ? state : { kind: "off", sinceMs: 0 };
}

interface FeedListener extends FeedEvents {
  state(kind: FeedState["kind"]): void;
}

function openFeed(path: string, listener: FeedListener): { readonly close: () => void } {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let retryMs = firstRetryMs;
  let everOpen = false;

  const receive = (event: MessageEvent<string>): void => {
    const live = JSON.parse(event.data) as LiveEvent; // our own server's, of that schema
    if (live.kind === "decision") listener.decision(live.row);
    else if (live.kind === "gap") listener.gap(live.missed);
    else {
      if (everOpen && !live.resumed) listener.gap(null);
      everOpen = true;
      retryMs = firstRetryMs;
      listener.state("open");
    }
  };
  const connect = (): void => {
    source = new EventSource(path);
    for (const kind of ["hello", "decision", "gap"]) source.addEventListener(kind, receive);
    source.onerror = () => {
      listener.state("cut");
      if (source?.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(connect, retryMs); // the browser gives up on a status that is no success
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    };
  };
  const disconnect = (): void => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };
  const onVisibility = (): void => {
    if (document.hidden) {
      disconnect();
      listener.state("off");
    } else if (source === undefined) connect();
  };
  document.addEventListener("visibilitychange", onVisibility);
  if (!document.hidden) connect();
  return {
    close() {
      document.removeEventListener("visibilitychange", onVisibility);
      disconnect();
    },
  };
}
