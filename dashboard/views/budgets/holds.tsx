import type { AnswerOf } from "#dashboard/api.ts";
import type { Hold } from "#dashboard/endpoints/holds.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { Confirm } from "../../components/dialog.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { Loaded, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { counted, duration, goalName, money, words } from "../../format.ts";
import { DecisionLink } from "../../router.tsx";

type Closing = { readonly hold: Hold; readonly how: "Settle" | "Release" };

const tones = { live: undefined, orphaned: "warn", unresolved: "warn", charged: "bad" } as const;

/** Money that is held: by which attempt, since when, and when it frees itself. What is unresolved can be closed by hand. */
export function Holds({ totals }: Pick<AnswerOf<"GET budgets">, "totals">) {
  const holds = useRead("GET holds", { query: { limit: 100 } });
  const { changing: closing, open, close } = useChange<Closing>();
  const said = totals
    .filter(({ count }) => count > 0)
    .map(({ state, count, held_nano_usd }) => `${count} ${state}, ${money(held_nano_usd)}`);
  return (
    <Section title="Holds" aside={<span className="muted">{said.join(" · ")}</span>}>
      <Loaded query={holds} what="the holds" height={120}>
        {(data) =>
          data.holds.length === 0 ? (
            <p className="muted">Nothing is held. A request's money is held while its call runs.</p>
          ) : (
            <>
              <HoldTable holds={data.holds} atMs={data.at_ms} onClose={open} />
              {data.more > 0 && <p className="muted">and {counted(data.more, "more hold")}</p>}
            </>
          )
        }
      </Loaded>
      {closing !== undefined && <CloseHold {...closing} onClose={close} />}
    </Section>
  );
}

function HoldTable(props: { holds: readonly Hold[]; atMs: number; onClose: (closing: Closing) => void }) {
  const { holds, atMs, onClose } = props;
  const frees = ({ until_ms }: Hold): string => (until_ms > atMs ? `in ${duration(until_ms - atMs)}` : "now");
  const buttons = (hold: Hold) =>
    (["Settle", "Release"] as const).map((how) => (
      <button key={how} type="button" className="plain" onClick={() => onClose({ hold, how })}>
        {how}
        <span className="hidden"> the hold {hold.id}</span>
      </button>
    ));
  return (
    <Table
      caption="Holds"
      className="folds"
      rows={holds}
      rowKey={({ id }) => id}
      columns={[
        ["state", ({ state }) => state, { tone: ({ state }) => tones[state] }],
        ["goal", ({ goal }) => goalName(goal), { of: "clip", title: ({ goal }) => goal }],
        ["model", ({ model }) => model, { of: "mono" }],
        ["held", (hold) => <Held {...hold} />, { kind: "figure", label: "", of: "push" }],
        ["since", ({ since_ms }) => <Time ms={since_ms} />, { label: "since", fold: true }],
        ["frees itself", frees, { label: "free", of: "nowrap" }],
        ["why", ({ why }) => words(why), { of: "muted" }],
        ["change", (hold) => hold.may_close && buttons(hold), { kind: "unnamed", of: "number nowrap actions" }],
      ]}
    />
  );
}

function Held({ decision_id, held_nano_usd }: Hold) {
  if (decision_id === null) return <Money nano={held_nano_usd} />;
  return (
    <DecisionLink id={decision_id}>
      <Money nano={held_nano_usd} />
    </DecisionLink>
  );
}

function CloseHold({ hold, how, onClose }: Closing & { readonly onClose: () => void }) {
  const at = { id: hold.id };
  const whose = `${money(hold.held_nano_usd)} held for ${goalName(hold.goal)} on ${hold.model}`;
  const shared = { title: `${how} a hold`, why: "required", onClose } as const;
  if (how === "Release") {
    return (
      <Confirm
        {...shared}
        action={() => `Release ${money(hold.held_nano_usd)}`}
        dangerous
        onConfirm={({ why }) => call("POST holds/{id}/release", { at, body: { why } })}
      >
        {() => (
          <p>
            {whose} goes back to the goal and the day, and nothing is charged. If the upstream has billed the call, the
            ledger is short by that much.
          </p>
        )}
      </Confirm>
    );
  }
  return (
    <Confirm
      {...shared}
      action={(cost) => `Charge ${money(cost)}`}
      amount={{ label: "Cost in US dollars, from the upstream's activity page", first: null, required: true }}
      onConfirm={(body) => call("POST holds/{id}/settle", { at, body })}
    >
      {() => <p>{whose} ends with what the call has cost; the rest goes back to the goal and the day.</p>}
    </Confirm>
  );
}
