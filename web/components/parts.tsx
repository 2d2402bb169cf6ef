import type { UseQueryResult } from "@tanstack/react-query";
import { Fragment, type ReactNode, useId, useState } from "react";

/** What views are put together from: sections, loading and failing, figures, commands to copy. */

/** A part of a view, under its heading. */
export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className="section stack" aria-labelledby={id}>
      <header className="row spread">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  readonly what: string;
  readonly height: number;
  readonly children: (data: T) => ReactNode;
}

/**
 * Nothing for 150 ms, then a skeleton of the `height` of what is to come, then the data. When reading fails, what was loaded stays, under
 * what failed: `the models`.
 */
export function Loaded<T>({ query, what, height, children }: LoadedProps<T>) {
  return (
    <>
      {query.isError && (
        <Failed what={`Reading ${what} failed.`} error={query.error} again={() => void query.refetch()} />
      )}
      {query.data !== undefined && children(query.data)}
      {query.data === undefined && query.isPending && (
        <div className="skeleton" style={{ height }} role="status">
          <span className="hidden">Reading {what}</span>
        </div>
      )}
    </>
  );
}

export function Failed({ what, error, again }: { what: string; error: Error; again?: () => void }) {
  return (
    <div className="failed row spread" role="alert">
      {what} {error.message}
      {again !== undefined && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Why there is nothing, and the next step as a command to copy. */
export function Empty({
  children,
  command = null,
}: {
  readonly children: ReactNode;
  readonly command?: string | null;
}) {
  return (
    <div className="empty stack">
      <p>{children}</p>
      {command !== null && <Command text={command} />}
    </div>
  );
}

export function Command({ text }: { readonly text: string }) {
  return (
    <div className="command row">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <code tabIndex={0}>{text}</code>
      <Copy text={text} what="the command" />
    </div>
  );
}

/** A request to this page's gateway that can be pasted into a shell. */
export function sampleRequest(): string {
  const body = { model: "smart-router", messages: [{ role: "user", content: "Say hello." }] };
  const headers = "-H 'Authorization: Bearer my-token' -H 'Content-Type: application/json'";
  return `curl ${location.origin}/v1/chat/completions ${headers} -d '${JSON.stringify(body)}'`;
}

/** Copies a text, and says so for a moment. The browser's clipboard exists on loopback and behind TLS only. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState("Copy");
  if (navigator.clipboard === undefined) return null;
  const say = (said: string): void => {
    setCopied(said);
    setTimeout(() => setCopied("Copy"), 1_500);
  };
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => say("Copied"),
      () => say("Not copied"),
    );
  return (
    <button type="button" className="plain" onClick={() => void copy()}>
      <span aria-live="polite">{copied}</span>
      <span className="hidden"> {what}</span>
    </button>
  );
}

type FileRows = readonly (readonly unknown[])[];

/** A file of comma-separated values, the names of the columns first. What is not loaded yet is read for it. */
export function Export({ name, rows }: { name: string; rows: () => FileRows | Promise<FileRows> }) {
  const [state, setState] = useState("export");
  const save = async (): Promise<void> => {
    setState("exporting");
    const cell = (value: unknown) =>
      /[",\n]/.test(String(value)) ? JSON.stringify(value).replaceAll('\\"', '""') : value;
    const text = (await rows()).map((row) => row.map((value) => cell(value ?? "")).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${text.join("\n")}\n`], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
    setState("export");
  };
  const failed = () => setState("export failed: try again");
  return (
    <button type="button" className="plain" disabled={state === "exporting"} onClick={() => void save().catch(failed)}>
      {state}
      <span className="hidden"> {name}</span>
    </button>
  );
}

/** Narrows what a view shows. `/` goes to it, Escape leaves it. `label`: what is searched, for screen readers. */
export function Search({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <input
      data-search
      type="search"
      aria-label={label}
      placeholder="search"
      value={value}
      onChange={({ target }) => onChange(target.value)}
      onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
    />
  );
}

/** A large figure: its name, its value, a note, and the tone of the value. */
export type Fact = readonly [name: string, value: ReactNode, note: ReactNode, tone?: string | false];

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value, note, tone]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-tone={tone || undefined}>{value}</dd>
          <dd>{note}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Names and their values, one a line. */
export function Pairs({ pairs }: { readonly pairs: readonly (readonly [ReactNode, ReactNode])[] }) {
  return (
    <dl className="pairs">
      {pairs.map(([name, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a list that does not change its order
        <Fragment key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
