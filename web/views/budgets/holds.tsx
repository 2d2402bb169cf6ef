import type { AnswerOf } from "#dashboard/api.ts";
import type { Hold } from "#operator/holds.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { Confirm } from "../../components/dialog.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { Loaded, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { counted, duration, goalName, money, words } from "../../format.ts";
import { DecisionLink } from "../../router.tsx";

type Closing = { readonly holds: readonly Hold[]; readonly how: "Settle" | "Release" };

const tones = { live: undefined, orphaned: "warn", unresolved: "warn", charged: "bad" } as const;

/** Money that is held: by which attempt, since when, and how it ends. What is unresolved can be closed by hand. */
export function Holds({ totals }: Pick<AnswerOf<"GET budgets">, "totals">) {
  const holds = useRead("GET holds", { query: { limit: 100 } });
  const { changing: closing, open: change, close } = useChange<Closing>();
  const said = totals
    .filter(({ count }) => count > 0)
    .map(({ state, count, held_nano_usd }) => `${count} ${state}, ${money(held_nano_usd)}`);
  const open = holds.data?.holds.filter(({ may_close }) => may_close) ?? [];
  const aside = (
    <span className="row muted">
      {said.join(" · ")}
      {open.length > 1 && <Buttons holds={open} of={`these ${open.length} holds`} onClose={change} />}
    </span>
  );
  return (
    <Section title="Holds" aside={aside}>
      <Loaded query={holds} what="the holds" height={120}>
        {(data) =>
          data.holds.length === 0 ? (
            <p className="muted">Nothing is held. A request's money is held while its call runs.</p>
          ) : (
            <>
              <HoldTable holds={data.holds} atMs={data.at_ms} onClose={change} />
              {data.more > 0 && <p className="muted">and {counted(data.more, "more hold")}</p>}
            </>
          )
        }
      </Loaded>
      {closing !== undefined && <CloseHolds {...closing} onClose={close} />}
    </Section>
  );
}

interface ButtonsProps {
  readonly holds: readonly Hold[];
  readonly of: string;
  readonly onClose: (closing: Closing) => void;
}

function Buttons({ holds, of, onClose }: ButtonsProps) {
  return (["Settle", "Release"] as const).map((how) => (
    <button key={how} type="button" className="plain" onClick={() => onClose({ holds, how })}>
      {how}
      {holds.length > 1 && " all"}
      <span className="hidden"> {of}</span>
    </button>
  ));
}

function HoldTable(props: { holds: readonly Hold[]; atMs: number; onClose: (closing: Closing) => void }) {
  const { holds, atMs, onClose } = props;
  /** Only a call that runs ends its hold with its own cost. */
  const ends = ({ until_ms, state }: Hold): string => {
    if (state === "live") return "with its call";
    return until_ms > atMs ? `charged in ${duration(until_ms - atMs)}` : "charged now";
  };
  const buttons = (hold: Hold) => <Buttons holds={[hold]} of={`the hold ${hold.id}`} onClose={onClose} />;
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
        ["ends", ends, { label: "ends", of: "nowrap" }],
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

function CloseHolds({ holds, how, onClose }: Closing & { readonly onClose: () => void }) {
  const [first] = holds;
  const held = holds.reduce((sum, { held_nano_usd }) => sum + held_nano_usd, 0);
  const whose =
    holds.length === 1 && first !== undefined
      ? `${money(held)} held for ${goalName(first.goal)} on ${first.model}`
      : `${money(held)} held by ${holds.length} calls`;
  const title = holds.length === 1 ? `${how} a hold` : `${how} ${holds.length} holds`;
  const shared = { title, why: "required", onClose } as const;
  /** One after the other: what has failed stays open, and is said. */
  const each = async (close: (at: { readonly id: string }) => Promise<unknown>) => {
    for (const { id } of holds) await close({ id });
  };
  if (how === "Release") {
    return (
      <Confirm
        {...shared}
        action={() => `Release ${money(held)}`}
        dangerous
        onConfirm={({ why }) => each((at) => call("POST holds/{id}/release", { at, body: { why } }))}
      >
        {() => (
          <p>
            {whose} goes back to the goals and the day, and nothing is charged. If the upstream has billed a call, the
            ledger is short by that much.
          </p>
        )}
      </Confirm>
    );
  }
  return (
    <Confirm
      {...shared}
      action={(cost) => `Charge ${money(cost)}${holds.length > 1 ? " each" : ""}`}
      amount={{ label: "Cost of a call in US dollars, from the upstream's activity page", first: null, required: true }}
      onConfirm={(body) => each((at) => call("POST holds/{id}/settle", { at, body }))}
    >
      {() => <p>{whose} ends with what each call has cost; the rest goes back to the goals and the day.</p>}
    </Confirm>
  );
}
