import type { AnswerOf } from "#dashboard/api.ts";
import type { ModelView } from "#dashboard/endpoints/models.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { Confirm } from "../../components/dialog.tsx";
import { Cost, Money, Requests, State, Tier, Time } from "../../components/marks.tsx";
import { Loaded, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { count, counted, duration, share, words } from "../../format.ts";
import { rangeOf, usePlace } from "../../router.tsx";
import { History } from "./history.tsx";

interface Props {
  readonly data: AnswerOf<"GET models">;
}

const titles = { disable: "Disable", enable: "Enable", reset: "Reset" } as const;

interface Changing {
  readonly model: ModelView;
  readonly action: keyof typeof titles;
}

/** Can they serve, and are their prices right? */
export function Models() {
  const models = useRead("GET models", { query: rangeOf(usePlace()) });
  const { changing, open, close } = useChange<Changing>();
  return (
    <Loaded query={models} what="the models" height={560}>
      {(data) => (
        <div className="view stack">
          <Aggregator data={data} />
          <Section title="Models">
            <ModelTable data={data} onChange={open} />
          </Section>
          <Section title="State over time" aside={<span className="muted">as this node has seen it</span>}>
            <History data={data} />
          </Section>
          <Prices data={data} />
          {changing !== undefined && <ChangeModel {...changing} all={data.models} onClose={close} />}
        </div>
      )}
    </Loaded>
  );
}

function Aggregator({ data: { aggregator } }: Props) {
  const { state, reason, retry_at_ms } = aggregator;
  if (state === "closed") return null;
  return (
    <p className="notice">
      The aggregator as a whole is {state === "open" ? "out" : "being probed"}
      {reason !== null && `: ${reason}`}. {retry_at_ms !== null && <NextTry ms={retry_at_ms} />}
    </p>
  );
}

function NextTry({ ms }: { readonly ms: number }) {
  return (
    <>
      Next try <Time ms={ms} />.
    </>
  );
}

function ModelTable({ data: { models, range }, onChange }: Props & { onChange: (changing: Changing) => void }) {
  const buttons = (model: ModelView) =>
    ([model.override?.disabled === true ? "enable" : "disable", "reset"] as const).map((action) => (
      <button key={action} type="button" className="plain" onClick={() => onChange({ model, action })}>
        {titles[action]}
        <span className="hidden"> {model.key}</span>
      </button>
    ));
  return (
    <Table
      caption="Models"
      className="folds"
      rows={models}
      rowKey={({ key }) => key}
      columns={[
        ["model", (model) => <Name model={model} />, { kind: "heading" }],
        [
          "state",
          ({ state, routable }) => (
            <>
              <State state={state} />
              {!routable && <span className="muted block">gets no traffic</span>}
            </>
          ),
          { of: "push" },
        ],
        ["since, why", (model) => <Why model={model} />, { of: "break", fold: true }],
        ["served", ({ served }) => <Requests of={served} range={range} />, "figure"],
        [
          "failed calls",
          ({ calls }) => (
            <>
              {count(calls.failed)} of {count(calls.count)}
              <span className="muted block">
                {counted(calls.retries, "retry", "retries")}, {counted(calls.fail_overs, "fail-over")}
              </span>
            </>
          ),
          { kind: "figure", tone: ({ calls }) => (calls.failed > 0 ? "warn" : undefined) },
        ],
        [
          "first token 50 / 95 %",
          ({ first_token_ms: first }) => (first === null ? "–" : `${duration(first.p50)} / ${duration(first.p95)}`),
          { kind: "figure", label: "first token" },
        ],
        [
          "cost",
          ({ served, cache_share }) => (
            <>
              <Cost of={served} range={range} />
              {cache_share !== null && <span className="muted block">{share(cache_share, 1)} cached</span>}
            </>
          ),
          "figure",
        ],
        ["change", buttons, { kind: "unnamed", of: "number nowrap actions" }],
      ]}
    />
  );
}

function Name({ model: { tier, key, role, in_senior_chain, used } }: { readonly model: ModelView }) {
  return (
    <>
      <Tier tier={tier}>{key}</Tier>
      <span className="muted block">
        {role}
        {in_senior_chain && role !== "senior" && ", fallback of the senior"}
        {!used && ", not used"}
      </span>
    </>
  );
}

function Why({ model: { since_ms, reason, retry_at_ms, override } }: { readonly model: ModelView }) {
  return (
    <>
      <Time ms={since_ms} />
      <span className="muted block">
        {reason} {retry_at_ms !== null && <NextTry ms={retry_at_ms} />}
        {override !== null && !reason.includes(override.by) && `, by ${override.by}`}
      </span>
    </>
  );
}

function ChangeModel({ model, action, all, onClose }: Changing & { all: readonly ModelView[]; onClose: () => void }) {
  const title = `${titles[action]} ${model.key}`;
  return (
    <Confirm
      title={title}
      action={() => title}
      dangerous={action === "disable"}
      onConfirm={() => call(`POST models/{key}/${action}`, { at: { key: model.key } })}
      onClose={onClose}
    >
      {() => (
        <>
          <p>{effect(model, action, all)}</p>
          <p className="muted">It holds from the next request on and is in the audit log.</p>
        </>
      )}
    </Confirm>
  );
}

function effect({ key, served }: ModelView, action: Changing["action"], all: readonly ModelView[]): string {
  if (action === "reset") {
    return `Everything that was seen of ${key} is forgotten: its state, its failures, its latencies. It starts as an unknown model.`;
  }
  if (action === "enable") return `${key} may be sent requests again, as its health allows.`;
  const others = all.filter((model) => model.key !== key && model.routable && model.in_senior_chain);
  const requests = `It served ${counted(served.requests, "request")} of this range.`;
  if (others.length === 0) return `${requests} No other model of the senior chain can serve: requests will be refused.`;
  return `${requests} Its requests go to ${others.map((model) => model.key).join(", ")} where the rules allow it; free models never take over.`;
}

const sources = {
  shipped: "as shipped",
  registry_file: "your registry file",
  price_book: "the aggregator's list",
} as const;

/** Prices of a million tokens, where they come from, and where the aggregator's list differs. */
function Prices({ data: { models, price_book_read_ms: readMs } }: Props) {
  const drifts = models.flatMap(({ key, drift }) => drift.map((one) => ({ key, ...one })));
  const aside = (
    <span className="muted">
      a million tokens; {readMs === null ? "the aggregator's list was not read" : "list read "}
      {readMs !== null && <Time ms={readMs} />}
    </span>
  );
  return (
    <Section title="Prices" aside={aside}>
      {drifts.map(({ key, reason, detail, at_ms }) => (
        <p key={`${key} ${reason} ${detail}`} className="notice">
          <code>{key}</code>: {words(reason)}. {detail} <Time ms={at_ms} />
        </p>
      ))}
      <Table
        caption="Prices of a million tokens"
        className="folds"
        rows={models}
        rowKey={({ key }) => key}
        columns={[
          ["model", ({ tier, key }) => <Tier tier={tier}>{key}</Tier>, { kind: "heading" }],
          ["upstream id", ({ upstream_id }) => upstream_id, { of: "mono" }],
          ["input", ({ price }) => <Money nano={price.input_nano_usd_per_mtok} />, { kind: "figure", fold: true }],
          ["cached", ({ price }) => <Money nano={price.cached_input_nano_usd_per_mtok} />, "figure"],
          ["output", ({ price }) => <Money nano={price.output_nano_usd_per_mtok} />, "figure"],
          ["context", ({ context_tokens }) => count(context_tokens), "figure"],
          [
            "from",
            ({ price_source, price: { bands } }) =>
              `${sources[price_source]}${bands > 0 ? `, ${counted(bands, "more band")}` : ""}`,
            { of: "nowrap" },
          ],
        ]}
      />
    </Section>
  );
}
