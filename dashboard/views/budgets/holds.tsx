import { useState } from "react";
import type { AnswerOf, Hold } from "#dashboard/api-schema.ts";
import { call } from "../../api/client.ts";
import { useChange, useRead } from "../../api/queries.ts";
import { Confirm } from "../../components/dialog.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Money, Time, words } from "../../components/marks.tsx";
import { Section } from "../../components/section.tsx";
import { figures, Table, unseen } from "../../components/table.tsx";
import { goalName } from "../../format/goal.ts";
import { exactMoney, money, parseMoney } from "../../format/money.ts";
import { counted, duration } from "../../format/numbers.ts";
import { Link } from "../../router/link.tsx";
import { href, usePlace } from "../../router/location.ts";
import { carried } from "../../router/state.ts";

type Totals = AnswerOf<"GET budgets">["totals"];
type Closing = { readonly hold: Hold; readonly how: "settle" | "release" };

const tones: Readonly<Record<Hold["state"], string | undefined>> = {
  live: undefined,
  orphaned: "warn",
  unresolved: "warn",
  charged: "bad",
};

/** Money that is held: by which attempt, since when, and when it frees itself. What is unresolved can be closed by hand. */
export function Holds({ totals }: { readonly totals: Totals }) {
  const holds = useRead("GET holds", { query: { limit: 100 } });
  const { changing: closing, open, close } = useChange<Closing>();
  const said = totals.filter(({ count }) => count > 0);
  return (
    <Section
      title="Holds"
      aside={
        <span className="muted">
          {said.map(({ state, count, held_nano_usd }) => `${count} ${state}, ${money(held_nano_usd)}`).join(" · ")}
        </span>
      }
    >
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
  const place = usePlace();
  return (
    <Table
      caption="Holds"
      columns={["state", "goal", "model", figures("held"), "since", "frees itself", "why", unseen("change")]}
      className="folds"
    >
      {holds.map((hold) => (
        <tr key={hold.id}>
          <td data-tone={tones[hold.state]}>{hold.state}</td>
          <td className="clip" title={hold.goal}>
            {goalName(hold.goal)}
          </td>
          <td className="mono">{hold.model}</td>
          <td className="number push">
            {hold.decision_id === null ? (
              <Money nano={hold.held_nano_usd} />
            ) : (
              <Link href={href(`/decisions/${encodeURIComponent(hold.decision_id)}`, carried(place))}>
                <Money nano={hold.held_nano_usd} />
              </Link>
            )}
          </td>
          <td className="fold" aria-hidden="true" />
          <td data-label="since">
            <Time ms={hold.since_ms} />
          </td>
          <td className="nowrap" data-label="free">
            {hold.until_ms > atMs ? `in ${duration(hold.until_ms - atMs)}` : "now"}
          </td>
          <td className="muted">{words(hold.why)}</td>
          <td className="number nowrap actions">
            {hold.may_close && (
              <>
                <button type="button" className="plain" onClick={() => onClose({ hold, how: "settle" })}>
                  Settle<span className="hidden"> the hold {hold.id}</span>
                </button>
                <button type="button" className="plain" onClick={() => onClose({ hold, how: "release" })}>
                  Release<span className="hidden"> the hold {hold.id}</span>
                </button>
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function CloseHold({ closing: { hold, how }, onClose }: { readonly closing: Closing; readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const cost = parseMoney(text);
  const whose = `${money(hold.held_nano_usd)} held for ${goalName(hold.goal)} on ${hold.model}`;
  const confirm = async (fields: FormData): Promise<unknown> => {
    const why = String(fields.get("why") ?? "").trim();
    if (how === "release") return call("POST holds/{id}/release", { at: { id: hold.id }, body: { why } });
    if (cost === undefined) throw new Error("Write what the call has cost in US dollars, such as 0.0187.");
    return call("POST holds/{id}/settle", {
      at: { id: hold.id },
      body: { usd: exactMoney(cost).replace(" USD", ""), why },
    });
  };
  return (
    <Confirm
      title={how === "release" ? "Release a hold" : "Settle a hold"}
      action={how === "release" ? `Release ${money(hold.held_nano_usd)}` : `Charge ${money(cost ?? null)}`}
      dangerous={how === "release"}
      onConfirm={confirm}
      onClose={onClose}
    >
      {how === "release" ? (
        <p>
          {whose} goes back to the goal and the day, and nothing is charged. If the upstream has billed the call, the
          ledger is short by that much.
        </p>
      ) : (
        <p>{whose} ends with what the call has cost; the rest goes back to the goal and the day.</p>
      )}
      {how === "settle" && (
        <label className="field">
          Cost in US dollars, from the upstream's activity page
          <input
            name="usd"
            inputMode="decimal"
            required
            value={text}
            aria-invalid={text !== "" && cost === undefined}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
      )}
      <label className="field">
        Why, for the audit log
        <input name="why" required maxLength={200} />
      </label>
    </Confirm>
  );
}
