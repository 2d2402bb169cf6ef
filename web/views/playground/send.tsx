import { useEffect, useRef, useState } from "react";
import { Section } from "../../components/parts.tsx";
import { DecisionLink } from "../../router.tsx";
import { type Chat, type ChatState, sendChat } from "./chat.ts";

/** Sends what was typed as a caller would, and shows the answer as it comes. */
export function Send({ text, alias, sensitive, goal }: Omit<Chat, "token">) {
  const [token, setToken] = useState("dashboard-playground");
  const [state, setState] = useState<ChatState>();
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const send = (): void => {
    const controller = new AbortController();
    running.current = controller;
    void sendChat({ text, alias, sensitive, goal, token }, setState, controller.signal);
  };
  const busy = state?.kind === "running";
  return (
    <Section title="Send it">
      <div className="row">
        <label className="row">
          as the token
          <input type="password" autoComplete="off" value={token} onChange={({ target }) => setToken(target.value)} />
        </label>
        <button type="button" className="primary" disabled={busy} onClick={send}>
          Send
        </button>
        {busy && (
          <button type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        )}
        <span className="muted">It is answered and billed like any request.</span>
      </div>
      {state !== undefined && (
        <div className="stack tight">
          {state.reasoning !== "" && (
            <details>
              <summary>Reasoning</summary>
              <pre className="answer muted">{state.reasoning}</pre>
            </details>
          )}
          <pre className="answer" aria-live="polite" aria-busy={busy}>
            {state.content}
          </pre>
          {state.problem !== null && (
            <p className="failed" role="alert">
              {state.problem}
            </p>
          )}
          <p className="muted">
            {state.model !== null && `answered by ${state.model} · `}
            {state.kind === "running" ? "streaming" : state.kind}
            {state.decision !== null && " · "}
            {state.decision !== null && <DecisionLink id={state.decision}>its decision</DecisionLink>}
          </p>
        </div>
      )}
    </Section>
  );
}
