import { type ReactNode, useEffect, useRef, useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { BacktestEvent } from "#dashboard/endpoints/policy.ts";
import { call, eventsOf, send } from "../../api/client.ts";
import { Select } from "../../components/frame.tsx";
import { Failed, Section } from "../../components/parts.tsx";
import { count, counted, dayMs } from "../../format.ts";
import { Backtest } from "./backtest.tsx";

type Check = AnswerOf<"POST policy/check">;

/** Days of records that are replayed. */
const spans = [1, 7, 30].map((days) => [String(days), `the last ${counted(days, "day")}`] as const);

/** An edited policy: what is wrong with it, what it changes, what it would have done. It is never applied from here. */
export function Try({ initial }: { readonly initial: string }) {
  const [text, setText] = useState(initial);
  const [check, setCheck] = useState<Check>();
  const [event, setEvent] = useState<BacktestEvent>();
  const [error, setError] = useState<Error>();
  const [span, setSpan] = useState("7");
  const [running, setRunning] = useState<AbortController>();
  const current = useRef(running);
  current.current = running;
  useEffect(() => () => current.current?.abort(), []);

  /** What was found out about a text does not stand below another. */
  const clear = (): void => {
    setCheck(undefined);
    setEvent(undefined);
    setError(undefined);
  };
  const edit = (edited: string): void => {
    setText(edited);
    clear();
  };
  const doCheck = (): void => {
    clear();
    call("POST policy/check", { body: { policy: text } }).then(setCheck, setError);
  };
  const backtest = async (): Promise<void> => {
    const abort = new AbortController();
    setRunning(abort);
    clear();
    try {
      const body = { policy: text, since_ms: Date.now() - Number(span) * dayMs };
      const response = await send("POST policy/backtest", { body, signal: abort.signal });
      for await (const data of eventsOf(response)) setEvent(JSON.parse(data) as BacktestEvent); // of that type
    } catch (failure) {
      if (!abort.signal.aborted) setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
    setRunning(undefined);
  };
  return (
    <Section
      title="What if"
      aside={<span className="muted">Edited here, applied nowhere. A partial policy is enough.</span>}
    >
      <textarea
        className="mono"
        aria-label="Edited policy"
        rows={14}
        spellCheck={false}
        value={text}
        onChange={({ target }) => edit(target.value)}
      />
      <div className="row">
        <button type="button" onClick={doCheck}>
          Check
        </button>
        <button type="button" className="primary" disabled={running !== undefined} onClick={() => void backtest()}>
          Backtest
        </button>
        on
        <Select label="Span" value={span} options={spans} onPick={setSpan} />
        {running !== undefined && (
          <button type="button" onClick={() => running.abort()}>
            Stop
          </button>
        )}
        <button type="button" className="plain" onClick={() => edit(initial)}>
          As in force
        </button>
      </div>
      {error !== undefined && <Failed what="It failed." error={error} />}
      {check !== undefined && <CheckResult check={check} />}
      {running !== undefined && event?.kind === "progress" && (
        <label className="row">
          <progress value={event.done} max={Math.max(1, event.total)} />
          {count(event.done)} of {count(event.total)} records
        </label>
      )}
      {event?.kind === "problem" && <Problems problems={event.problems}>{event.detail}</Problems>}
      {event?.kind === "result" && <Backtest result={event.result} tookMs={event.took_ms} />}
    </Section>
  );
}

function CheckResult({ check }: { readonly check: Check }) {
  if (!check.ok) return <Problems problems={check.problems} />;
  if (check.changes.length === 0) return <p role="status">Valid; nothing differs from the policy in force.</p>;
  return (
    <div className="stack tight" role="status">
      <p>Valid. Against the policy in force it changes:</p>
      <ul className="stack tight changes mono">
        {check.changes.map(({ path, from, to }) => (
          <li key={path}>
            {path}: {written(from)} → <strong>{written(to)}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is wrong with a policy. */
export function Problems({ problems, children }: Pick<Check, "problems"> & { readonly children?: ReactNode }) {
  return (
    <div className="failed stack tight" role="alert">
      {children !== undefined && <p>{children}</p>}
      {problems.map(({ file, path, line, message, suggestion }) => (
        <p key={`${file} ${path} ${message}`}>
          <code>
            {path}
            {line === undefined ? "" : ` (line ${line})`}
          </code>{" "}
          {message}
          {suggestion === undefined ? "" : ` (${suggestion})`}
        </p>
      ))}
    </div>
  );
}

/** A value of the policy as it could stand in its file. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "–");
}
