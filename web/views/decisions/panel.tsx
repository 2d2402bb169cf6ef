import { useEffect, useEffectEvent, useRef } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import { useRead } from "../../api/queries.ts";
import { Explanation } from "../../components/explanation.tsx";
import { Money, Sentence, Time } from "../../components/marks.tsx";
import { Copy, Loaded, Pairs, Section } from "../../components/parts.tsx";
import { share, words } from "../../format.ts";
import { carried, href, Link, usePlace } from "../../router.tsx";
import { Attempts } from "./attempts.tsx";

/** One decision, whole: what happened, why, what would have changed it, its attempts, its money, its ids. */
export function DecisionPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const detail = useRead("GET decisions/{id}", { at: { id } }, false);
  const panel = useRef<HTMLElement>(null);
  const close = useEffectEvent(onClose);
  useEffect(() => {
    panel.current?.focus({ preventScroll: true });
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      close();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <aside ref={panel} className="panel" tabIndex={-1} aria-label="Opened decision">
      <header className="row spread">
        <h2>Decision</h2>
        <button type="button" className="plain" onClick={onClose}>
          Close <kbd>Esc</kbd>
        </button>
      </header>
      <Loaded query={detail} what="the decision" height={720}>
        {(data) => <Opened detail={data} />}
      </Loaded>
    </aside>
  );
}

interface OpenedProps {
  readonly detail: AnswerOf<"GET decisions/{id}">;
}

function Opened({ detail }: OpenedProps) {
  const { row, record } = detail;
  return (
    <div className="stack wide-gap">
      <div className="stack tight">
        <p className="sentence">
          <Sentence text={detail.sentence} />
        </p>
        <p className="muted">
          received <Time ms={row.at_ms} exact /> · ended <Time ms={row.recorded_ms} exact /> · asked for{" "}
          <code>{row.alias ?? "nothing valid"}</code> · status {row.status}
          {row.repeated > 1 && ` · stands for ${row.repeated} requests`}
        </p>
      </div>
      <Explanation of={detail} score={row.score} changes="What would have changed it" />
      <Section title="Attempts">
        <Attempts record={record} />
      </Section>
      <Section title="Money">
        <Amounts detail={detail} />
      </Section>
      <Ids detail={detail} />
    </div>
  );
}

const costStates = { known: "known", estimated: "estimated", unknown: "not known yet" } as const;

function Amounts({ detail: { row, saved, record } }: OpenedProps) {
  const { cost_source, price_band, price_version, tokens } = record;
  const spent = row.cost_state === "unknown" ? null : row.cost_nano_usd;
  const source = cost_source === null ? "" : `, from ${words(cost_source)}`;
  const figure = (name: string, nano: number | null, note: string) =>
    [
      name,
      <>
        <Money nano={nano} /> <span className="muted">{note}</span>
      </>,
    ] as const;
  return (
    <Pairs
      pairs={[
        figure("spent", spent, `${costStates[row.cost_state]}${source}`),
        figure("held", row.hold_nano_usd, ""),
        ["price band", price_band === null ? "–" : `${price_band} ${price_version ?? ""}`],
        [
          "tokens",
          tokens === null
            ? "–"
            : `${tokens.prompt} in (${share(tokens.cached, tokens.prompt)} from the cache), ${tokens.completion} out, ${tokens.reasoning} of them reasoning`,
        ],
        ...(saved === null ? [] : [figure("saved", saved.saved_nano_usd, `against ${saved.baseline_model} alone`)]),
      ]}
    />
  );
}

function Ids({ detail: { row, record } }: OpenedProps) {
  const place = usePlace();
  const ids = [
    ["decision id", row.decision_id],
    ["request id", row.request_id],
    ["session id", row.session],
    ["goal id", row.goal],
    ["task id", record.task],
    ["key", record.label],
    ...record.generation_ids.map((id) => ["generation id", id] as const),
    ["policy hash", record.policy_hash],
  ] as const;
  const pairs = ids.flatMap(([name, id]) =>
    id === null
      ? []
      : [
          [
            name,
            <span key={name} className="row spread">
              <code>{id}</code>
              <Copy text={id} what={`the ${name}`} />
            </span>,
          ] as const,
        ],
  );
  const json = JSON.stringify(record, null, 2);
  const again = { ...carried(place), alias: row.alias ?? undefined, goal: row.goal ?? undefined };
  return (
    <Section title="Ids">
      <Pairs pairs={pairs} />
      <details>
        <summary>The record as JSON</summary>
        <Copy text={json} what="the record" />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <pre className="json" tabIndex={0}>
          {json}
        </pre>
      </details>
      <p>
        <Link href={href("/playground", again)}>Send the same again in the playground</Link>{" "}
        <span className="muted">The text must be typed again: it is never stored.</span>
      </p>
    </Section>
  );
}
