import type { AnswerOf } from "#dashboard/api.ts";
import type { BudgetLine } from "#operator/budgets.ts";
import { call } from "../../api/client.ts";
import { Confirm } from "../../components/dialog.tsx";
import { goalName, money } from "../../format.ts";

interface Props {
  readonly line: BudgetLine;
  readonly policy: AnswerOf<"GET budgets">["policy_caps"];
  readonly onClose: () => void;
}

/** Gives a goal or a day a hard cap of its own, or takes that back. Says with figures what will follow. */
export function CapDialog({ line, policy, onClose }: Props) {
  const { account, kind, hard_nano_usd: hard, spent_nano_usd: spent, held_nano_usd: held } = line;
  const ofPolicy = kind === "day" ? policy.day_hard_nano_usd : policy.goal_hard_nano_usd;
  const effect = (cap: number): string =>
    cap <= spent + held
      ? `${money(cap)} is used already: every further request is refused.`
      : `${money(cap - spent - held)} may still be spent. It holds from the next request on and is in the audit log.`;
  return (
    <Confirm
      title={`Hard cap of ${kind === "day" ? `UTC day ${line.name}` : goalName(line.name)}`}
      action={(cap) => (cap == null ? "Give the cap back to the policy" : `Set the cap to ${money(cap)}`)}
      amount={{ label: "Hard cap in US dollars; empty gives it back to the policy", first: hard, required: false }}
      why="optional"
      onConfirm={({ usd, why }) =>
        call("POST budgets/{goal}/cap", {
          at: { goal: account.slice(`${kind}/`.length) }, // not its name, which may be cut
          body: { hard_usd: usd || null, account: kind === "day" ? "day" : "goal", ...(why === "" ? {} : { why }) },
        })
      }
      onClose={onClose}
    >
      {(cap) => (
        <>
          <p>
            Now {money(hard)} {line.cap_from === "operator" ? "(set by hand)" : "(from the policy)"}; {money(spent)}{" "}
            spent, {money(held)} held. The policy says {money(ofPolicy)}.
          </p>
          <p>{cap === undefined ? "Write an amount in US dollars, such as 7.50." : effect(cap ?? ofPolicy)}</p>
        </>
      )}
    </Confirm>
  );
}
