import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { DecisionRow } from "#dashboard/endpoints/decisions.ts";
import type { DecisionFilter } from "#dashboard/query.ts";
import { call } from "../../api/client.ts";
import { useLiveFeed } from "../../api/live-feed.ts";
import { type LiveRows, merged, mostLive, noRows, received, released } from "./live-rows.ts";

const pageSize = 100;

export interface DecisionList {
  readonly rows: readonly DecisionRow[];
  readonly total: AnswerOf<"GET decisions">["total"];
  /** Number of live rows that are held back while the user reads the list. */
  readonly waiting: number;
  /** Set once the feed has missed something and until the list is read again. */
  readonly missed: boolean;
  readonly query: ReturnType<typeof usePages>;
  showWaiting(): void;
}

function usePages(filter: DecisionFilter) {
  return useInfiniteQuery({
    queryKey: ["GET decisions", filter],
    queryFn: ({ pageParam, signal }) =>
      call("GET decisions", {
        query: { ...filter, limit: pageSize, ...(pageParam === null ? {} : { before: pageParam }) },
        signal,
      }),
    initialPageParam: null as number | null, // else the type is null alone
    getNextPageParam: (page: AnswerOf<"GET decisions">) => page.next_before ?? undefined,
    refetchOnWindowFocus: false,
  });
}

/** The newest decisions of a filter, page by page, with what comes live on top. */
export function useDecisions(filter: DecisionFilter, paused: boolean): DecisionList {
  const query = usePages(filter);
  const key = JSON.stringify(filter);
  const [live, setLive] = useState<LiveRows & { readonly key: string }>({ ...noRows, key });
  const [missed, setMissed] = useState(false);
  const rows = live.key === key ? live : { ...noRows, key };
  const { refetch } = query;

  // A range that has ended gets nothing new. A feed has no range.
  const { range: _range, from_ms: _from, to_ms, ...feed } = filter;
  useLiveFeed(feed, to_ms === undefined, {
    decision: (row) => setLive((old) => ({ ...received(old.key === key ? old : noRows, row, paused), key })),
    gap: () => {
      setMissed(true);
      void refetch().then(() => setMissed(false));
    },
  });
  const released_ = !paused && rows.waiting.length > 0;
  useEffect(() => {
    if (released_) setLive((old) => ({ ...released(old), key: old.key }));
  }, [released_]);
  const full = rows.shown.length > mostLive;
  useEffect(() => {
    if (full) void refetch().then(() => setLive((old) => ({ ...old, shown: [] })));
  }, [full, refetch]);

  const pages = query.data?.pages ?? [];
  return {
    rows: merged(
      rows.shown,
      pages.flatMap((page) => page.rows),
    ),
    total: pages[0]?.total ?? null,
    waiting: rows.waiting.length,
    missed,
    query,
    showWaiting: () => setLive((old) => ({ ...released(old), key: old.key })),
  };
}
