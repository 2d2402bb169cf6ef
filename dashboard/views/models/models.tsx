import type { AnswerOf, ModelView } from "#dashboard/api-schema.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { Confirm } from "../../components/dialog.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Money, State, Tier, Time } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { figures, Table, unseen } from "../../components/table.tsx";
import { count, counted, duration, share } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { usePlace } from "../../router/location.ts";
import { decisionsHref, rangeOf } from "../../router/state.ts";
import { History } from "./history.tsx";
import { Prices } from "./prices.tsx";

type Answer = AnswerOf<"GET models">;
type Action = "disable" | "enable" | "reset";
interface Changing {
  readonly model: ModelView;
  readonly action: Action;
}

/** Can they serve, and are their prices right? */
export function Models() {
  const place = usePlace();
  const models = useRead("GET models", { query: rangeOf(place) });
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

function ModelTable({ data, onChange }: TableProps) {
  return (
    <Table
      caption="Models"
      columns={[
        "model",
        "state",
        "since, why",
        figures("served"),
        figures("failed"),
        figures("first token 50 / 95 %"),
        figures("cost"),
        unseen("change"),
      ]}
      className="folds models"
    >
      {data.models.map((model) => (
        <ModelRow key={model.key} model={model} data={data} onChange={onChange} />
      ))}
    </Table>
  );
}

function ModelRow({ model, data, onChange }: TableProps & { readonly model: ModelView }) {
  const place = usePlace();
  const tries = model.served.requests + model.failed_attempts;
  const disabled = model.override?.disabled === true;
  const served = decisionsHref(model.served.filter, place, data.range);
  return (
    <tr>
      <th scope="row">
        <Tier tier={model.tier}>{model.key}</Tier>
        <span className="muted block">
          {model.role}
          {model.in_senior_chain && model.role !== "senior" && ", fallback of the senior"}
          {!model.used && ", not used"}
        </span>
      </th>
      <td className="push">
        <State state={model.state} />
        {!model.routable && <span className="muted block">gets no traffic</span>}
      </td>
      <td className="fold" aria-hidden="true" />
      <td className="since">
        <Time ms={model.since_ms} />
        <span className="muted block">
          {model.reason}
          {model.retry_at_ms !== null && (
            <>
              {" "}
              Next try <Time ms={model.retry_at_ms} />.
            </>
          )}
          {model.override !== null && !model.reason.includes(model.override.by) && `, by ${model.override.by}`}
        </span>
      </td>
      <td className="number" data-label="served">
        <Link href={served}>{count(model.served.requests)}</Link>
      </td>
      <td className="number" data-label="failed" data-tone={model.failed_attempts > 0 ? "warn" : undefined}>
        {counted(model.failed_attempts, "attempt")}
        {tries > 0 && model.failed_attempts > 0 && (
          <span className="muted"> {share(model.failed_attempts, tries)}</span>
        )}
      </td>
      <td className="number" data-label="first token">
        {model.first_token_ms === null
          ? "–"
          : `${duration(model.first_token_ms.p50)} / ${duration(model.first_token_ms.p95)}`}
      </td>
      <td className="number" data-label="cost">
        <Link href={served}>
          <Money nano={model.served.cost_nano_usd} />
        </Link>
      </td>
      <td className="number nowrap actions">
        <button
          type="button"
          className="plain"
          onClick={() => onChange({ model, action: disabled ? "enable" : "disable" })}
        >
          {disabled ? "Enable" : "Disable"}
          <span className="hidden"> {model.key}</span>
        </button>
        <button type="button" className="plain" onClick={() => onChange({ model, action: "reset" })}>
          Reset<span className="hidden"> {model.key}</span>
        </button>
      </td>
    </tr>
  );
}

interface ChangeProps {
  readonly changing: Changing;
  readonly all: readonly ModelView[];
  readonly onClose: () => void;
}

const titles: Readonly<Record<Action, string>> = { disable: "Disable", enable: "Enable", reset: "Reset" };

function ChangeModel({ changing: { model, action }, all, onClose }: ChangeProps) {
  return (
    <Confirm
      title={`${titles[action]} ${model.key}`}
      action={`${titles[action]} ${model.key}`}
      dangerous={action === "disable"}
      onConfirm={() => call(`POST models/{key}/${action}`, { at: { key: model.key } })}
      onClose={onClose}
    >
      <p>{effectOf(model, action, all)}</p>
      <p className="muted">It holds from the next request on and is in the audit log.</p>
    </Confirm>
  );
}

function effectOf(model: ModelView, action: Action, all: readonly ModelView[]): string {
  if (action === "reset") {
    return `Everything that was seen of ${model.key} is forgotten: its state, its failures, its latencies. It starts as an unknown model.`;
  }
  if (action === "enable") return `${model.key} may be sent requests again, as its health allows.`;
  const others = all.filter(({ key, routable, in_senior_chain }) => key !== model.key && routable && in_senior_chain);
  const served = `It served ${counted(model.served.requests, "request")} of this range.`;
  if (others.length === 0) return `${served} No other model of the senior chain can serve: requests will be refused.`;
  return `${served} Its requests go to ${others.map(({ key }) => key).join(", ")} where the rules allow it; free models never take over.`;
}
