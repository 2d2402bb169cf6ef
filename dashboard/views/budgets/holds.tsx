import { useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { Hold } from "#dashboard/endpoints/holds.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { AmountField, Confirm, WhyField } from "../../components/dialog.tsx";
import { Money, Time } from "../../components/marks.tsx";
import { Loaded, Section } from "../../components/parts.tsx";
import { Table } from "../../components/table.tsx";
import { counted, duration, exactDollars, goalName, money, parseMoney, words } from "../../format.ts";
import { DecisionLink } from "../../router.tsx";

type Closing = { readonly hold: Hold; readonly how: "settle" | "release" };

const tones = { live: undefined, orphaned: "warn", unresolved: "warn", charged: "bad" } as const;

/** Money that is held: by which attempt, since when, and when it frees itself. What is unresolved can be closed by hand. */
export function Holds({ totals }: { readonly totals: AnswerOf<"GET budgets">["totals"] }) {
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
      {closing !== undefined && <CloseHold closing={closing} onClose={close} />}
    </Section>
  );
}

interface TableProps {
  readonly holds: readonly Hold[];
  readonly atMs: number;
  readonly onClose: (closing: Closing) => void;
}

function HoldTable({ holds, atMs, onClose }: TableProps) {
  const button = (hold: Hold, how: Closing["how"]) => (
    <button key={how} type="button" className="plain" onClick={() => onClose({ hold, how })}>
      {how === "settle" ? "Settle" : "Release"}
      <span className="hidden"> the hold {hold.id}</span>
    </button>
  );
  return (
    <Table
      caption="Holds"
      className="folds"
      rows={holds}
      rowKey={({ id }) => id}
      columns={({ text, buttons }) => [
        text("state", ({ state }) => state, undefined, { tone: ({ state }) => tones[state] }),
        text("goal", ({ goal }) => goalName(goal), "clip", { title: ({ goal }) => goal }),
        text("model", ({ model }) => model, "mono"),
        text("held", (hold) => <Held {...hold} />, "push", { figure: true }),
        text("since", ({ since_ms }) => <Time ms={since_ms} />, undefined, { label: "since", fold: true }),
        text(
          "frees itself",
          ({ until_ms }) => (until_ms > atMs ? `in ${duration(until_ms - atMs)}` : "now"),
          "nowrap",
          {
            label: "free",
          },
        ),
        text("why", ({ why }) => words(why), "muted"),
        buttons((hold) => hold.may_close && [button(hold, "settle"), button(hold, "release")]),
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

function CloseHold({ closing: { hold, how }, onClose }: { readonly closing: Closing; readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const cost = parseMoney(text);
  const at = { id: hold.id };
  const whose = `${money(hold.held_nano_usd)} held for ${goalName(hold.goal)} on ${hold.model}`;
  if (how === "release") {
    return (
      <Confirm
        title="Release a hold"
        action={`Release ${money(hold.held_nano_usd)}`}
        dangerous
        onConfirm={(why) => call("POST holds/{id}/release", { at, body: { why } })}
        onClose={onClose}
      >
        <p>
          {whose} goes back to the goal and the day, and nothing is charged. If the upstream has billed the call, the
          ledger is short by that much.
        </p>
        <WhyField required />
      </Confirm>
    );
  }
  const settle = async (why: string): Promise<unknown> => {
    if (cost === undefined) throw new Error("Write what the call has cost in US dollars, such as 0.0187.");
    return call("POST holds/{id}/settle", { at, body: { usd: exactDollars(cost), why } });
  };
  return (
    <Confirm title="Settle a hold" action={`Charge ${money(cost)}`} onConfirm={settle} onClose={onClose}>
      <p>{whose} ends with what the call has cost; the rest goes back to the goal and the day.</p>
      <AmountField
        label="Cost in US dollars, from the upstream's activity page"
        text={text}
        isValid={text === "" || cost !== undefined}
        required
        onText={setText}
      />
      <WhyField required />
    </Confirm>
  );
}
