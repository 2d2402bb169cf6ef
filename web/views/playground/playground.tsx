import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import type { AnswerOf, BodyOf } from "#dashboard/api.ts";
import { call } from "../../api/client.ts";
import { Explanation } from "../../components/explanation.tsx";
import { Money, Sentence, Tier } from "../../components/marks.tsx";
import { Failed, Section } from "../../components/parts.tsx";
import { go, usePlace, withSearch } from "../../router.tsx";
import { piecesOf } from "./marked.ts";
import { Send } from "./send.tsx";

type RouteAnswer = AnswerOf<"POST route">;

const aliases = ["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"] as const;

const examples = [
  { name: "an easy ask", text: "Rename the variable `tmp` to `remaining` in this function and keep everything else." },
  {
    name: "a hard ask",
    text: "Our payment service charges some customers twice when the queue redelivers a message. Design an idempotent settlement that survives a crash between the ledger write and the provider call, and migrate the existing rows without downtime.",
  },
  {
    name: "an ask with a secret in it",
    text: `Why does this fail?\n\nexport DATABASE_URL=postgres://admin:${"hunter2-s3cr3t"}@db.internal:5432/app\npsql "$DATABASE_URL" -c 'select 1'`,
  },
] as const;

const debounceMs = 200;

/** What would you do with this? The dry run of what is typed, as it is typed; then it can be sent. */
export function Playground() {
  const place = usePlace();
  const [text, setText] = useState("");
  const settled = useSettled(text, debounceMs);
  const alias = aliases.find((name) => name === place.search.get("alias")) ?? "smart-router";
  const sensitive = place.search.get("sensitive") !== "false";
  const goal = place.search.get("goal") ?? "";
  const body: BodyOf<"POST route"> = { text: settled, alias, sensitive, ...(goal === "" ? {} : { goal }) };
  const route = useQuery({
    queryKey: ["POST route", body],
    queryFn: ({ signal }) => call("POST route", { body, signal }),
    enabled: settled.trim() !== "",
    placeholderData: keepPreviousData,
    gcTime: 0, // the text is kept no longer than it is shown
  });
  const set = (name: string, value: string | undefined): void => go(withSearch(place, { [name]: value }), true);
  return (
    <div className="view stack">
      <div className="stack">
        <Editor text={text} onText={setText} answer={settled === text ? route.data : undefined} />
        {text === "" && (
          <div className="row">
            <span className="muted">Try</span>
            {examples.map((example) => (
              <button key={example.name} type="button" onClick={() => setText(example.text)}>
                {example.name}
              </button>
            ))}
          </div>
        )}
        <div className="row options">
          <label className="row">
            asks for
            <select value={alias} onChange={({ target }) => set("alias", target.value)}>
              {aliases.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label className="row">
            goal
            <input
              value={goal}
              placeholder="none"
              size={16}
              onChange={({ target }) => set("goal", target.value)}
              title="With a goal its real spend and cap count; without one nothing is spent."
            />
          </label>
          <label className="row">
            <input
              type="checkbox"
              checked={!sensitive}
              onChange={({ target }) => set("sensitive", target.checked ? "false" : undefined)}
            />
            not sensitive: free models may see it
          </label>
        </div>
      </div>
      {text.trim() !== "" && route.isError && <Failed what="The dry run failed." error={route.error} />}
      {text.trim() !== "" && route.data !== undefined && <DryRun answer={route.data} />}
      {text.trim() !== "" && <Send text={text} alias={alias} sensitive={sensitive} goal={goal} />}
    </div>
  );
}

/** The decision that the gateway would make, with the same explanation as a recorded one. */
function DryRun({ answer }: { readonly answer: RouteAnswer }) {
  const { tier, cost } = answer;
  return (
    <>
      <Section title="It would go" aside={<Tier tier={tier}>{tier ?? "nowhere"}</Tier>}>
        <p className="sentence">
          <Sentence text={answer.sentence} />
        </p>
        {cost !== null && (
          <p className="muted">
            Estimated <Money nano={cost.estimate_nano_usd} /> on <code>{cost.model}</code>;{" "}
            <Money nano={cost.hold_nano_usd} /> would be held. On <code>{cost.other_model}</code>:{" "}
            <Money nano={cost.other_estimate_nano_usd} />.
          </p>
        )}
      </Section>
      <Explanation of={answer} score={answer.decision.score} changes="What would change it" />
    </>
  );
}

/** The value once it has not changed for a while. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

interface EditorProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly answer: RouteAnswer | undefined;
}

/** A field with the secrets marked in place: a copy of the text lies behind it, of the same shape, with the marks. */
function Editor({ text, onText, answer }: EditorProps) {
  const copy = useRef<HTMLPreElement>(null);
  const findings = useDeferredValue(answer?.findings ?? []);
  const found = Map.groupBy(answer?.findings ?? [], ({ rule }) => rule);
  const said = [...found].map(([rule, { length }]) => (length > 1 ? `${rule} × ${length}` : rule)).join(", ");
  return (
    <div className="stack tight">
      <div className="editor">
        <pre ref={copy} aria-hidden="true">
          {piecesOf(text, findings).map(({ start, text: piece, rule }) =>
            rule === null ? piece : <mark key={start}>{piece}</mark>,
          )}{" "}
        </pre>
        <textarea
          data-search
          aria-label="What is asked for"
          placeholder="Type what you would ask. Nothing is sent until you send it, and nothing of it is stored."
          rows={7}
          spellCheck={false}
          value={text}
          onChange={({ target }) => onText(target.value)}
          onScroll={({ currentTarget }) => copy.current?.scrollTo(0, currentTarget.scrollTop)}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
      </div>
      <p className="muted" aria-live="polite">
        {said === "" ? " " : `Replaced before it leaves: ${said}.`}
      </p>
    </div>
  );
}
