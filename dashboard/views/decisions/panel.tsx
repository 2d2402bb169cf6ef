import { useEffect, useEffectEvent, useRef } from "react";
import type { AnswerOf } from "#dashboard/api-schema.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { useRead } from "../../api/queries.ts";
import { Copy } from "../../components/copy.tsx";
import { ScoreBar, Stages, WouldChange } from "../../components/explanation.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Money, Sentence, Time } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { share } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { href, usePlace } from "../../router/location.ts";
import { carried } from "../../router/state.ts";
import { Attempts } from "./attempts.tsx";

type Detail = AnswerOf<"GET decisions/{id}">;

interface Props {
  readonly id: string;
  readonly onClose: () => void;
}

/** One decision, whole: what happened, why, what would have changed it, its attempts, its money, its ids. */
export function DecisionPanel({ id, onClose }: Props) {
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

function Opened({ detail }: { readonly detail: Detail }) {
  const record = detail.record as Partial<DecisionRecord>; // as the store has it; older ones may lack fields
  return (
    <div className="stack-wide">
      <div className="stack-tight">
        <p className="sentence">
          <Sentence text={detail.sentence} />
        </p>
        <p className="muted">
          received <Time ms={detail.row.at_ms} exact /> · ended <Time ms={detail.row.recorded_ms} exact /> · asked for{" "}
          <code>{detail.row.alias ?? "nothing valid"}</code> · status {detail.row.status}
          {detail.row.repeated > 1 && ` · stands for ${detail.row.repeated} requests`}
        </p>
      </div>
      {detail.stages.length > 0 && (
        <Section title="Pipeline">
          <Stages stages={detail.stages} />
        </Section>
      )}
      {detail.contributions.length > 0 && (
        <Section title="Score">
          <ScoreBar score={detail.row.score} contributions={detail.contributions} thresholds={detail.thresholds} />
        </Section>
      )}
      <WouldChange title="What would have changed it" changes={detail.would_change} />
      <Section title="Attempts">
        <Attempts record={record} totalMs={detail.row.total_ms} />
      </Section>
      <MoneyOf detail={detail} record={record} />
      <Ids detail={detail} record={record} />
    </div>
  );
}

function MoneyOf({ detail, record }: { readonly detail: Detail; readonly record: Partial<DecisionRecord> }) {
  const { row, saved } = detail;
  const tokens = record.tokens;
  const source = { known: "known", estimated: "estimated", unknown: "not known yet" }[row.cost_state];
  return (
    <Section title="Money">
      <dl className="pairs">
        <dt>spent</dt>
        <dd>
          <Money nano={row.cost_state === "unknown" ? null : row.cost_nano_usd} />{" "}
          <span className="muted">
            {source}
            {record.cost_source != null && `, from ${record.cost_source.replaceAll("_", " ")}`}
          </span>
        </dd>
        <dt>held</dt>
        <dd>
          <Money nano={row.hold_nano_usd} />
        </dd>
        {record.price_band != null && (
          <>
            <dt>price band</dt>
            <dd>
              {record.price_band} <span className="muted">{record.price_version}</span>
            </dd>
          </>
        )}
        {tokens != null && (
          <>
            <dt>tokens</dt>
            <dd>
              {tokens.prompt} in ({share(tokens.cached, tokens.prompt)} from the cache), {tokens.completion} out
              {tokens.reasoning > 0 && `, ${tokens.reasoning} of them reasoning`}
            </dd>
          </>
        )}
        {saved !== null && (
          <>
            <dt>saved</dt>
            <dd>
              <Money nano={saved.saved_nano_usd} />{" "}
              <span className="muted">
                against <Money nano={saved.baseline_nano_usd} /> on {saved.baseline_model}
              </span>
            </dd>
          </>
        )}
      </dl>
    </Section>
  );
}

function Ids({ detail, record }: { readonly detail: Detail; readonly record: Partial<DecisionRecord> }) {
  const place = usePlace();
  const { row } = detail;
  const ids = [
    ["decision", row.decision_id],
    ["request", row.request_id],
    ["session", row.session],
    ["goal", row.goal],
    ["task", record.task ?? null],
    ...(record.generation_ids ?? []).map((id) => ["generation", id] as const),
    ["policy hash", record.policy_hash ?? null],
  ] as const;
  const json = JSON.stringify(detail.record, null, 2);
  return (
    <Section title="Ids">
      <dl className="pairs ids">
        {ids.map(([name, id]) =>
          id === null ? null : (
            <div key={name + id}>
              <dt>{name}</dt>
              <dd>
                <code>{id}</code>
                <Copy text={id} what={name === "policy hash" ? "the policy hash" : `the ${name} id`} />
              </dd>
            </div>
          ),
        )}
      </dl>
      <details>
        <summary>The record as JSON</summary>
        <div className="stack-tight">
          <span>
            <Copy text={json} what="the record" />
          </span>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <pre className="json" tabIndex={0}>
            {json}
          </pre>
        </div>
      </details>
      <p>
        <Link
          href={href("/playground", { ...carried(place), alias: row.alias ?? undefined, goal: row.goal ?? undefined })}
        >
          Send the same again in the playground
        </Link>{" "}
        <span className="muted">The text must be typed again: it is never stored.</span>
      </p>
    </Section>
  );
}
