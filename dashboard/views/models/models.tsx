import type { AnswerOf } from "#dashboard/api.ts";
import type { ModelView } from "#dashboard/endpoints/models.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { Confirm } from "../../components/dialog.tsx";
import { Cost, Requests, State, Tier, Time } from "../../components/marks.tsx";
import { Loaded, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { counted, duration, share } from "../../format.ts";
import { rangeOf, usePlace } from "../../router.tsx";
import { History } from "./history.tsx";
import { Prices } from "./prices.tsx";

type Answer = AnswerOf<"GET models">;
interface Changing {
  readonly model: ModelView;
  readonly action: "disable" | "enable" | "reset";
}

/** Can they serve, and are their prices right? */
export function Models() {
  const models = useRead("GET models", { query: rangeOf(usePlace()) });
  const { changing, open, close } = useChange<Changing>();
  return (
    <Loaded query={models} what="the models" height={560}>
      {(data) => (
        <div className="view">
          <Aggregator data={data} />
          <Section title="Models">
            <ModelTable data={data} onChange={open} />
          </Section>
          <Section title="State over time" aside={<span className="muted">as this node has seen it</span>}>
            <History data={data} />
          </Section>
          <Prices data={data} />
          {changing !== undefined && <ChangeModel changing={changing} all={data.models} onClose={close} />}
        </div>
      )}
    </Loaded>
  );
}

function Aggregator({ data: { aggregator } }: { readonly data: Answer }) {
  if (aggregator.state === "closed") return null;
  return (
    <div className="notice">
      The aggregator as a whole is {aggregator.state === "open" ? "out" : "being probed"}
      {aggregator.reason !== null && `: ${aggregator.reason}`}.
      {aggregator.retry_at_ms !== null && (
        <>
          {" "}
          The next try is at <Time ms={aggregator.retry_at_ms} />.
        </>
      )}
    </div>
  );
}

interface TableProps {
  readonly data: Answer;
  readonly onChange: (changing: Changing) => void;
}

function ModelTable({ data: { models, range }, onChange }: TableProps) {
  return (
    <Table
      caption="Models"
      className="folds models"
      rows={models}
      rowKey={({ key }) => key}
      columns={({ heading, text, figure, buttons }) => [
        heading("model", (model) => <Name model={model} />),
        text("state", (model) => <StateNow model={model} />, "push"),
        text("since, why", (model) => <Why model={model} />, "since", { fold: true }),
        figure("served", ({ served }) => <Requests of={served} range={range} />),
        figure("failed", (model) => <FailedAttempts model={model} />, {
          tone: ({ failed_attempts }) => (failed_attempts > 0 ? "warn" : undefined),
        }),
        figure(
          "first token 50 / 95 %",
          ({ first_token_ms: first }) => (first === null ? "–" : `${duration(first.p50)} / ${duration(first.p95)}`),
          { label: "first token" },
        ),
        figure("cost", ({ served }) => <Cost of={served} range={range} />),
        buttons((model) => <Actions model={model} onChange={onChange} />),
      ]}
    />
  );
}

interface ModelProps {
  readonly model: ModelView;
}

function Name({ model: { tier, key, role, in_senior_chain, used } }: ModelProps) {
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

function StateNow({ model: { state, routable } }: ModelProps) {
  return (
    <>
      <State state={state} />
      {!routable && <span className="muted block">gets no traffic</span>}
    </>
  );
}

function FailedAttempts({ model: { failed_attempts: failed, served } }: ModelProps) {
  return (
    <>
      {counted(failed, "attempt")}
      {failed > 0 && <span className="muted"> {share(failed, served.requests + failed)}</span>}
    </>
  );
}

function Why({ model: { since_ms, reason, retry_at_ms, override } }: ModelProps) {
  return (
    <>
      <Time ms={since_ms} />
      <span className="muted block">
        {reason}
        {retry_at_ms !== null && (
          <>
            {" "}
            Next try <Time ms={retry_at_ms} />.
          </>
        )}
        {override !== null && !reason.includes(override.by) && `, by ${override.by}`}
      </span>
    </>
  );
}

function Actions({ model, onChange }: Pick<TableProps, "onChange"> & ModelProps) {
  const actions = [model.override?.disabled === true ? "enable" : "disable", "reset"] as const;
  return actions.map((action) => (
    <button key={action} type="button" className="plain" onClick={() => onChange({ model, action })}>
      {titles[action]}
      <span className="hidden"> {model.key}</span>
    </button>
  ));
}

interface ChangeProps {
  readonly changing: Changing;
  readonly all: readonly ModelView[];
  readonly onClose: () => void;
}

const titles = { disable: "Disable", enable: "Enable", reset: "Reset" } as const;

function ChangeModel({ changing: { model, action }, all, onClose }: ChangeProps) {
  return (
    <Confirm
      title={`${titles[action]} ${model.key}`}
      action={`${titles[action]} ${model.key}`}
      dangerous={action === "disable"}
      onConfirm={() => call(`POST models/{key}/${action}`, { at: { key: model.key } })}
      onClose={onClose}
    >
      <p>{effect(model, action, all)}</p>
      <p className="muted">It holds from the next request on and is in the audit log.</p>
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
