import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Copy } from "./copy.tsx";

interface Props<T> {
  readonly query: UseQueryResult<T>;
  /** What is being read, for the sentence when it fails: `the models`. */
  readonly what: string;
  /** Height of what is to come, in pixels, so that nothing moves when it is there. */
  readonly height: number;
  readonly children: (data: T) => ReactNode;
}

/** Nothing for 150 ms, then a skeleton, then the data. When reading fails, what was loaded stays, under what failed. */
export function Loaded<T>({ query, what, height, children }: Props<T>) {
  return (
    <>
      {query.isError && (
        <Failed what={`Reading ${what} failed.`} error={query.error} again={() => void query.refetch()} />
      )}
      {query.data !== undefined && children(query.data)}
      {query.data === undefined && query.isPending && <Skeleton height={height} what={what} />}
    </>
  );
}

export function Skeleton({ height, what }: { readonly height: number; readonly what: string }) {
  return (
    <div className="skeleton" style={{ height }} role="status">
      <span className="hidden">Reading {what}</span>
    </div>
  );
}

interface FailedProps {
  readonly what: string;
  readonly error: Error;
  readonly again?: () => void;
}

export function Failed({ what, error, again }: FailedProps) {
  return (
    <div className="failed row spread" role="alert">
      <span>
        {what} {error.message}
      </span>
      {again !== undefined && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Why there is nothing, and the next step as a command to copy. */
export function Empty({ children, command }: { readonly children: ReactNode; readonly command?: string | null }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {command !== undefined && command !== null && <Command text={command} />}
    </div>
  );
}

export function Command({ text }: { readonly text: string }) {
  return (
    <div className="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <code tabIndex={0}>{text}</code>
      <Copy text={text} what="the command" />
    </div>
  );
}
