import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useState } from "react";

/** What views are put together from: sections, loading and failing, figures, commands to copy. */

interface SectionProps {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a view, under its heading. */
export function Section({ title, aside, children }: SectionProps) {
  const id = useId();
  return (
    <section className="section" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  /** What is being read, for the sentence when it fails: `the models`. */
  readonly what: string;
  /** Height of what is to come, in pixels, so that nothing moves when it is there. */
  readonly height: number;
  readonly children: (data: T) => ReactNode;
}

/** Nothing for 150 ms, then a skeleton, then the data. When reading fails, what was loaded stays, under what failed. */
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
export function Empty({
  children,
  command = null,
}: {
  readonly children: ReactNode;
  readonly command?: string | null;
}) {
  return (
    <div className="empty">
      <p>{children}</p>
      {command !== null && <Command text={command} />}
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

/** A request to this page's gateway that can be pasted into a shell. */
export function sampleRequest(): string {
  const body = { model: "smart-router", messages: [{ role: "user", content: "Say hello." }] };
  const headers = "-H 'Authorization: Bearer my-token' -H 'Content-Type: application/json'";
  return `curl ${location.origin}/v1/chat/completions ${headers} -d '${JSON.stringify(body)}'`;
}

const copyLabels = { no: "Copy", yes: "Copied", failed: "Not copied" } as const;

/** Copies a text, and says so for a moment. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState<keyof typeof copyLabels>("no");
  useEffect(() => {
    if (copied === "no") return;
    const back = setTimeout(() => setCopied("no"), 1_500);
    return () => clearTimeout(back);
  }, [copied]);
  const copy = (): void => {
    void write(text).then((done) => setCopied(done ? "yes" : "failed"));
  };
  return (
    <button type="button" className="plain" onClick={copy}>
      <span aria-live="polite">{copyLabels[copied]}</span>
      <span className="hidden"> {what}</span>
    </button>
  );
}

/** The clipboard's interface exists on loopback and behind TLS only; elsewhere the older command copies a selection. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

interface SearchProps {
  /** What is searched, for screen readers: `Search goals`. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Narrows what a view shows. The key `/` goes to it, Escape leaves it. */
export function Search({ label, value, onChange }: SearchProps) {
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

interface Fact {
  readonly name: string;
  readonly value: ReactNode;
  readonly note: ReactNode;
  readonly tone?: string | undefined;
}

/** A row of large figures, each with a note. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(({ name, value, note, tone }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd data-tone={tone}>{value}</dd>
          <dd>{note}</dd>
        </div>
      ))}
    </dl>
  );
}
