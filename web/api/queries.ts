import { keepPreviousData, QueryClient, type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AnswerOf, DashboardEndpoint } from "#dashboard/api.ts";
import { ApiError, call, type Input } from "./client.ts";

/** How often a visible page reads its numbers again, in milliseconds. */
const refreshMs = 5_000;

/** Loaded data stay while they are read again, and when that fails. Failed readings are repeated, refused ones not. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      placeholderData: keepPreviousData,
      refetchOnWindowFocus: true,
      staleTime: 1_000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status !== 0),
      retryDelay: (failures) => 500 * 2 ** failures,
    },
  },
});

/** Reads an endpoint. Reads it again every few seconds where `refresh` is not false. */
export function useRead<E extends Extract<DashboardEndpoint, `GET ${string}`>>(
  endpoint: E,
  input: Input<E> = {},
  refresh: number | false = refreshMs,
): UseQueryResult<AnswerOf<E>> {
  return useQuery<AnswerOf<E>>({
    queryKey: [endpoint, input],
    queryFn: ({ signal }) => call(endpoint, { ...input, signal }),
    refetchInterval: refresh,
  });
}

/** Who asks and what gateway this is; it hardly changes. */
export function useSession() {
  return useRead("GET session", {}, 30_000);
}

/** What a dialog changes; undefined while none is open. Closing it reads everything anew. */
export function useChange<T>() {
  const [changing, setChanging] = useState<T>();
  const queries = useQueryClient();
  const close = (): void => {
    setChanging(undefined);
    void queries.invalidateQueries();
  };
  return { changing, open: (subject: T) => setChanging(subject), close };
}
