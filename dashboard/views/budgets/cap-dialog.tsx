import { useState } from "react";
import type { AnswerOf } from "#dashboard/api.ts";
import type { BudgetLine } from "#dashboard/endpoints/budgets.ts";
import { call } from "../../api/client.ts";
import { AmountField, Confirm, WhyField } from "../../components/dialog.tsx";
import { exactDollars, goalName, money, parseMoney } from "../../format.ts";

interface Props {
  readonly line: BudgetLine;
  readonly policy: AnswerOf<"GET budgets">["policy_caps"];
  readonly onClose: () => void;
}

/** Gives a goal or a day a hard cap of its own, or takes that back. Says with figures what will follow. */
export function CapDialog({ line, policy, onClose }: Props) {
  const { account, kind, hard_nano_usd: hard, spent_nano_usd: spent, held_nano_usd: held } = line;
  const [text, setText] = useState(hard === null ? "" : exactDollars(hard));
  const ofPolicy = kind === "day" ? policy.day_hard_nano_usd : policy.goal_hard_nano_usd;
  const wanted = text.trim() === "" ? null : parseMoney(text);
  const set = async (why: string): Promise<unknown> => {
    if (wanted === undefined) throw new Error(notAnAmount);
    const hard_usd = wanted === null ? null : exactDollars(wanted);
    // Not its name, which may be cut.
    const at = { goal: account.slice(`${kind}/`.length) };
    return call("POST budgets/{goal}/cap", {
      at,
      body: { hard_usd, account: kind, ...(why === "" ? {} : { why }) },
    });
  };
  return (
    <Confirm
      title={`Hard cap of ${kind === "day" ? `UTC day ${line.name}` : goalName(line.name)}`}
      action={wanted == null ? "Give the cap back to the policy" : `Set the cap to ${money(wanted)}`}
      onConfirm={set}
      onClose={onClose}
    >
      <p>
        Now {money(hard)} {line.cap_from === "operator" ? "(set by hand)" : "(from the policy)"}; {money(spent)} spent,{" "}
        {money(held)} held. The policy says {money(ofPolicy)}.
      </p>
      <AmountField
        label="Hard cap in US dollars; empty gives it back to the policy"
        text={text}
        isValid={wanted !== undefined}
        onText={setText}
      />
      <WhyField required={false} />
      <p>{effect(wanted === null ? ofPolicy : wanted, spent + held)}</p>
    </Confirm>
  );
}

const notAnAmount = "Write an amount in US dollars, such as 7.50.";

function effect(cap: number | undefined, used: number): string {
  if (cap === undefined) return notAnAmount;
  if (cap <= used) return `${money(cap)} is used already: every further request is refused.`;
  return `${money(cap - used)} may still be spent. It holds from the next request on and is in the audit log.`;
}
