import { type ReactNode, useEffect, useEffectEvent, useRef } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import { useRead } from "../../api/queries.ts";
import { Pipeline, Score, WouldChange } from "../../components/explanation.tsx";
import { Money, Sentence, Time } from "../../components/marks.tsx";
import { Copy, Loaded, Section } from "../../components/parts.tsx";
import { share, words } from "../../format.ts";
import { carried, href, Link, usePlace } from "../../router.tsx";
import { Attempts } from "./attempts.tsx";

type DecisionDetail = AnswerOf<"GET decisions/{id}">;

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

interface OpenedProps {
  readonly detail: DecisionDetail;
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
      <Pipeline stages={detail.stages} />
      {detail.contributions.length > 0 && (
        <Score score={row.score} contributions={detail.contributions} thresholds={detail.thresholds} />
      )}
      <WouldChange title="What would have changed it" changes={detail.would_change} />
      <Section title="Attempts">
        <Attempts record={record} />
      </Section>
      <Section title="Money">
        <dl className="pairs">
          <Amounts detail={detail} />
        </dl>
      </Section>
      <Ids detail={detail} />
    </div>
  );
}

const costStates = { known: "known", estimated: "estimated", unknown: "not known yet" } as const;

function Amounts({ detail: { row, saved, record } }: OpenedProps) {
  const { cost_source, price_band, price_version, tokens } = record;
  return (
    <>
      <Pair name="spent">
        <Money nano={row.cost_state === "unknown" ? null : row.cost_nano_usd} />{" "}
        <span className="muted">
          {costStates[row.cost_state]}
          {cost_source !== null && `, from ${words(cost_source)}`}
        </span>
      </Pair>
      <Pair name="held">
        <Money nano={row.hold_nano_usd} />
      </Pair>
      {price_band !== null && (
        <Pair name="price band">
          {price_band} <span className="muted">{price_version}</span>
        </Pair>
      )}
      {tokens !== null && (
        <Pair name="tokens">
          {tokens.prompt} in ({share(tokens.cached, tokens.prompt)} from the cache), {tokens.completion} out
          {tokens.reasoning > 0 && `, ${tokens.reasoning} of them reasoning`}
        </Pair>
      )}
      {saved !== null && (
        <Pair name="saved">
          <Money nano={saved.saved_nano_usd} />{" "}
          <span className="muted">
            against <Money nano={saved.baseline_nano_usd} /> on {saved.baseline_model}
          </span>
        </Pair>
      )}
    </>
  );
}

function Pair({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Ids({ detail: { row, record } }: OpenedProps) {
  const place = usePlace();
  const ids = [
    ["decision", row.decision_id],
    ["request", row.request_id],
    ["session", row.session],
    ["goal", row.goal],
    ["task", record.task],
    ...record.generation_ids.map((id) => ["generation", id] as const),
    ["policy hash", record.policy_hash],
  ] as const;
  const json = JSON.stringify(record, null, 2);
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
        <div className="stack tight">
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
