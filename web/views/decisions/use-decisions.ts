import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { AnswerOf, QueryOf } from "#dashboard/api.ts";
import type { DecisionFilter } from "#operator/query.ts";
import type { DecisionRow } from "#operator/records.ts";
import { call } from "../../api/client.ts";
import { useLiveFeed } from "../../api/live-feed.ts";
import { type LiveRows, merged, mostLive, noRows, received, released } from "./live-rows.ts";

function usePages(filter: DecisionFilter) {
  return useInfiniteQuery({
    queryKey: ["GET decisions", filter],
    queryFn: ({ pageParam: before, signal }) =>
      call("GET decisions", { query: { ...filter, limit: 100, ...(before === null ? {} : { before }) }, signal }),
    initialPageParam: null as number | null, // else the type is null alone
    getNextPageParam: (page: AnswerOf<"GET decisions">) => page.next_before ?? undefined,
    refetchOnWindowFocus: false,
  });
}

/** Everything that the filter finds, page by page. */
export async function allRows(filter: DecisionFilter): Promise<readonly DecisionRow[]> {
  const rows: DecisionRow[] = [];
  let before: number | null = null;
  do {
    const query: QueryOf<"GET decisions"> = { ...filter, limit: 200, ...(before === null ? {} : { before }) };
    const page: AnswerOf<"GET decisions"> = await call("GET decisions", { query });
    rows.push(...page.rows);
    before = page.next_before;
  } while (before !== null);
  return rows;
}

export type DecisionList = ReturnType<typeof useDecisions>;

/** The newest decisions of a filter, page by page, with what comes live on top. */
export function useDecisions(filter: DecisionFilter, paused: boolean) {
  const query = usePages(filter);
  const key = JSON.stringify(filter);
  const [live, setLive] = useState<LiveRows & { readonly key: string }>({ ...noRows, key });
  const [missed, setMissed] = useState(false);
  const rows = live.key === key ? live : noRows;
  const { refetch } = query;
  const change = (by: (rows: LiveRows) => LiveRows) =>
    setLive((old) => ({ ...by(old.key === key ? old : noRows), key }));

  // A range that has ended gets nothing new. A feed has no range.
  const { range: _range, from_ms: _from, to_ms, ...feed } = filter;
  useLiveFeed(feed, to_ms === undefined, {
    decision: (row) => change((old) => received(old, row, paused)),
    gap: () => {
      setMissed(true);
      void refetch().then(() => setMissed(false));
    },
  });
  const isDue = !paused && rows.waiting.length > 0;
  useEffect(() => {
    if (isDue) setLive((old) => ({ ...released(old), key: old.key }));
  }, [isDue]);
  const full = rows.shown.length > mostLive;
  useEffect(() => {
    if (full) void refetch().then(() => setLive((old) => ({ ...old, shown: [] })));
  }, [full, refetch]);

  const pages = query.data?.pages ?? [];
  const read = pages.flatMap((page) => page.rows);
  return {
    rows: merged(rows.shown, read),
    total: pages[0]?.total ?? null,
    /** Number of live rows that are held back while the user reads the list. */
    waiting: rows.waiting.length,
    /** Set once the feed has missed something and until the list is read again. */
    missed,
    query,
    showWaiting: () => change(released),
  };
}
