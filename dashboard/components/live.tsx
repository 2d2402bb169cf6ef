import { createContext, useContext, useEffect, useEffectEvent, useRef } from "react";
import { type FeedEvents, type FeedState, useLiveFeed } from "../api/live-feed.ts";
import { filterOf, type Place } from "../router.tsx";

/** One live feed for the page, open while decisions are shown. Views subscribe to it. */
interface Feed {
  readonly state: FeedState;
  readonly listeners: Set<FeedEvents>;
}

export const FeedContext = createContext<Feed>({ state: { kind: "off", sinceMs: 0 }, listeners: new Set() });

/** Open for decisions that are made now: a range that has ended gets nothing new. A feed has no range, so it is no part of its address. */
export function useFeedOfPlace(place: Place): Feed {
  const listeners = useRef(new Set<FeedEvents>());
  const { range: _range, from_ms: _from, to_ms, ...filter } = filterOf(place);
  const state = useLiveFeed(filter, place.path.startsWith("/decisions") && to_ms === undefined, {
    decision(row) {
      for (const listener of listeners.current) listener.decision(row);
    },
    gap(missed) {
      for (const listener of listeners.current) listener.gap(missed);
    },
  });
  return { state, listeners: listeners.current };
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
