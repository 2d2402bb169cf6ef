import { createContext, useContext, useEffect, useEffectEvent, useRef } from "react";
import type { DecisionFilter } from "#dashboard/api-schema.ts";
import { type FeedEvents, type FeedState, useLiveFeed } from "../api/live-feed.ts";
import type { Place } from "../router/location.ts";
import { filterOf } from "../router/state.ts";

/** One live feed for the page, open while decisions are shown. Views subscribe to it. */
interface Feed {
  readonly state: FeedState;
  readonly listeners: Set<FeedEvents>;
}

export const FeedContext = createContext<Feed>({ state: { kind: "off", sinceMs: 0 }, listeners: new Set() });

export function useFeedOfPlace(place: Place): Feed {
  const listeners = useRef(new Set<FeedEvents>());
  const filter = filterOf(place);
  const state = useLiveFeed(filterOfFeed(filter), isLive(place, filter), {
    decision(row) {
      for (const listener of listeners.current) listener.decision(row);
    },
    gap(missed) {
      for (const listener of listeners.current) listener.gap(missed);
    },
  });
  return { state, listeners: listeners.current };
}

/** A range that has ended gets nothing new. */
function isLive({ path }: Place, filter: DecisionFilter): boolean {
  return path.startsWith("/decisions") && filter.to_ms === undefined;
}

/** A feed has only new decisions, so the range of the list is no part of its address. */
function filterOfFeed({ range: _range, from_ms: _from, to_ms: _to, ...filter }: DecisionFilter): DecisionFilter {
  return filter;
}

export function useFeed(events: FeedEvents): FeedState {
  const { state, listeners } = useContext(FeedContext);
  const decision = useEffectEvent(events.decision);
  const gap = useEffectEvent(events.gap);
  useEffect(() => {
    const listener: FeedEvents = { decision: (row) => decision(row), gap: (missed) => gap(missed) };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listeners]);
  return state;
}

export function useFeedState(): FeedState {
  return useContext(FeedContext).state;
}
