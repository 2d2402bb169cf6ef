import { type ReactNode, useEffect, useRef, useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { BacktestEvent } from "#dashboard/endpoints/policy.ts";
import { call, eventsOf, send } from "../../api/client.ts";
import { Failed, Section } from "../../components/parts.tsx";
import { count, dayMs } from "../../format.ts";
import { Backtest } from "./backtest.tsx";

type Check = AnswerOf<"POST policy/check">;

/** Days of records that are replayed. */
const spans = [1, 7, 30];

/** An edited policy: what is wrong with it, what it changes, and what it would have done. It is never applied from here. */
export function Try({ initial }: { readonly initial: string }) {
  const [text, setText] = useState(initial);
  const [check, setCheck] = useState<Check>();
  const [error, setError] = useState<Error>();
  const [span, setSpan] = useState(7);
  const backtest = useBacktest();
  const doCheck = (): void => {
    setError(undefined);
    call("POST policy/check", { body: { policy: text } }).then(setCheck, setError);
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
        onChange={({ target }) => {
          setText(target.value);
          setCheck(undefined);
        }}
      />
      <div className="row">
        <button type="button" onClick={doCheck}>
          Check
        </button>
        <button
          type="button"
          className="primary"
          disabled={backtest.running}
          onClick={() => backtest.start(text, Date.now() - span * dayMs)}
        >
          Backtest
        </button>
        <label className="row">
          on the last
          <select value={span} onChange={({ target }) => setSpan(Number(target.value))}>
            {spans.map((days) => (
              <option key={days} value={days}>
                {days === 1 ? "1 day" : `${days} days`}
              </option>
            ))}
          </select>
        </label>
        {backtest.running && (
          <button type="button" onClick={backtest.stop}>
            Stop
          </button>
        )}
        <button type="button" className="plain" onClick={() => setText(initial)}>
          As in force
        </button>
      </div>
      {error !== undefined && <Failed what="The check failed." error={error} again={doCheck} />}
      {check !== undefined && <CheckResult check={check} />}
      <Progress event={backtest.event} running={backtest.running} />
      {backtest.error !== undefined && <Failed what="The backtest failed." error={backtest.error} />}
      {backtest.event?.kind === "result" && <Backtest result={backtest.event.result} tookMs={backtest.event.took_ms} />}
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
          {suggestion === undefined ? "" : ` Did you mean ${suggestion}?`}
        </p>
      ))}
    </div>
  );
}

/** A value of the policy as it could stand in its file. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "–");
}

function Progress({ event, running }: { readonly event: BacktestEvent | undefined; readonly running: boolean }) {
  if (event?.kind === "problem") {
    return event.problems.length > 0 ? (
      <Problems problems={event.problems} />
    ) : (
      <Failed what="The backtest failed." error={new Error(event.detail)} />
    );
  }
  if (!running) return null;
  const { done, total } = event?.kind === "progress" ? event : { done: 0, total: 0 };
  return (
    <label className="row">
      <progress value={total === 0 ? undefined : done} max={Math.max(1, total)} />
      {count(done)} of {count(total)} records
    </label>
  );
}

function useBacktest() {
  const [event, setEvent] = useState<BacktestEvent>();
  const [error, setError] = useState<Error>();
  const [running, setRunning] = useState(false);
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const start = (policy: string, sinceMs: number): void => {
    const abort = new AbortController();
    controller.current = abort;
    setEvent(undefined);
    setError(undefined);
    setRunning(true);
    const run = async (): Promise<void> => {
      const body = { policy, since_ms: sinceMs };
      const response = await send("POST policy/backtest", { body, signal: abort.signal });
      for await (const data of eventsOf(response)) setEvent(JSON.parse(data) as BacktestEvent); // of that schema
    };
    run()
      .catch((failure: unknown) => {
        if (!abort.signal.aborted) setError(failure instanceof Error ? failure : new Error(String(failure)));
      })
      .finally(() => setRunning(false));
  };
  return { event, error, running, start, stop: () => controller.current?.abort() };
}
