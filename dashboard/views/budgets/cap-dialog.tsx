import { useState } from "react";
import type { AnswerOf, BudgetLine } from "#dashboard/api-schema.ts";
import { call } from "../../api/client.ts";
import { Confirm } from "../../components/dialog.tsx";
import { goalName } from "../../format/goal.ts";
import { exactMoney, money, parseMoney } from "../../format/money.ts";

interface Props {
  readonly line: BudgetLine;
  readonly policy: AnswerOf<"GET budgets">["policy_caps"];
  readonly onClose: () => void;
}

/** Gives a goal or a day a hard cap of its own, or takes that back. Says with figures what will follow. */
export function CapDialog({ line, policy, onClose }: Props) {
  const [text, setText] = useState(
    line.hard_nano_usd === null ? "" : exactMoney(line.hard_nano_usd).replace(" USD", ""),
  );
  const ofPolicy = line.kind === "day" ? policy.day_hard_nano_usd : policy.goal_hard_nano_usd;
  const wanted = text.trim() === "" ? null : parseMoney(text);
  const set = (fields: FormData): Promise<unknown> => {
    if (wanted === undefined) throw new Error("Write an amount in US dollars, such as 7.50.");
    const why = String(fields.get("why") ?? "").trim();
    return call("POST budgets/{goal}/cap", {
      // Not its name, which may be cut.
      at: { goal: line.account.slice(`${line.kind}/`.length) },
      body: {
        hard_usd: wanted === null ? null : exactMoney(wanted).replace(" USD", ""),
        account: line.kind,
        ...(why === "" ? {} : { why }),
      },
    });
  };
  return (
    <Confirm
      title={`Hard cap of ${line.kind === "day" ? `UTC day ${line.name}` : goalName(line.name)}`}
      action={wanted == null ? "Give the cap back to the policy" : `Set the cap to ${money(wanted)}`}
      onConfirm={async (fields) => set(fields)}
      onClose={onClose}
    >
      <p>
        Now {money(line.hard_nano_usd)} {line.cap_from === "operator" ? "(set by hand)" : "(from the policy)"};{" "}
        {money(line.spent_nano_usd)} spent, {money(line.held_nano_usd)} held. The policy says {money(ofPolicy)}.
      </p>
      <label className="field">
        Hard cap in US dollars; empty gives it back to the policy
        <input
          name="hard"
          inputMode="decimal"
          value={text}
          aria-invalid={wanted === undefined}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <label className="field">
        Why, for the audit log (optional)
        <input name="why" maxLength={200} />
      </label>
      <p>{effectOf(line, wanted, ofPolicy)}</p>
    </Confirm>
  );
}

function effectOf(line: BudgetLine, wanted: number | null | undefined, ofPolicy: number): string {
  if (wanted === undefined) return "Write an amount in US dollars, such as 7.50.";
  const cap = wanted ?? ofPolicy;
  const left = cap - line.spent_nano_usd - line.held_nano_usd;
  if (left <= 0) return `${money(cap)} is used already: every further request is refused.`;
  return `${money(left)} may still be spent. It holds from the next request on and is in the audit log.`;
}
