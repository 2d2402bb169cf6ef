import { useEffect, useEffectEvent } from "react";
import type { LiveEvent } from "#dashboard/endpoints/decisions.ts";
import type { DecisionFilter } from "#operator/query.ts";
import type { DecisionRow } from "#operator/records.ts";
import { shared } from "../shared.ts";
import { address } from "./client.ts";

/** State of the page's one live feed: `cut` since a time while it reconnects, `off` while no decisions are shown. */
const feed = shared({ kind: "off" as "off" | "connecting" | "open" | "cut", sinceMs: 0 });
export const useFeedState = feed.use;

function become(kind: ReturnType<typeof feed.get>["kind"]): void {
  if (feed.get().kind !== kind) feed.set({ kind, sinceMs: Date.now() });
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

const retryMs = 2_000;

/** Returns how to close it. */
function openFeed(path: string, events: FeedEvents): () => void {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let everOpen = false;

  const receive = (event: MessageEvent<string>): void => {
    const live = JSON.parse(event.data) as LiveEvent; // our own server's, of that type
    if (live.kind === "decision") events.decision(live.row);
    else if (live.kind === "gap" || (everOpen && !live.resumed)) events.gap();
    if (live.kind !== "hello") return;
    everOpen = true;
    become("open");
  };
  const connect = (): void => {
    become("connecting");
    source = new EventSource(path);
    for (const kind of ["hello", "decision", "gap"]) source.addEventListener(kind, receive);
    source.onerror = () => {
      become("cut");
      // The browser gives up on a status that is no success.
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryMs);
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
