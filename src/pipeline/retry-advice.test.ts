import { expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import type { HeldMoney, Spend } from "#ledger/ledger.ts";
import { retryAdviceFor } from "./retry-advice.ts";

interface Unresolved {
  readonly amount: number;
  readonly endsInMs: number;
  readonly goal?: boolean;
  readonly asked?: boolean;
}

/** A goal and a day with these amounts spent and held, each under a cap of 100; the request needs 30. */
function adviceFor(spent: number, held: number, unresolved: readonly Unresolved[] | undefined) {
  const own = { spent: nanoUsd(spent), held: nanoUsd(held) };
  const spend: Spend = { day: "2026-01-15", goalAccount: own, dayAccount: own };
  const fits = ({ goalAccount, dayAccount }: Spend) =>
    goalAccount.spent + goalAccount.held + 30 <= 100 && dayAccount.spent + dayAccount.held + 30 <= 100;
  const money: HeldMoney | undefined = unresolved && {
    typicalHoldMs: 4_000,
    unresolved: unresolved.map(({ amount, endsInMs, goal = true, asked = false }) => ({
      amount: nanoUsd(amount),
      endsInMs,
      goal,
      day: true,
      key: false,
      asked,
    })),
  };
  return retryAdviceFor({ goal: "goal" }, spend, fits, { heldMoney: async () => money });
}

const [first, second, last] = [100_000, 200_000, 600_500];
const three = [
  { amount: 5, endsInMs: first },
  { amount: 20, endsInMs: second },
  { amount: 55, endsInMs: last },
];
const asked = { amount: 40, endsInMs: 300_000, asked: true };
const ofOtherGoal = { amount: 80, endsInMs: 9_000, goal: false };
const soonAgain = (retryAfterS: number) => ({ shouldRetry: true, retryAfterS });
const notBefore = (retryAfterS: number) => ({ shouldRetry: false, retryAfterS, unresolved: nanoUsd(80) });

const rows: [what: string, spent: number, held: number, unresolved: Unresolved[] | undefined, advice: object][] = [
  ["yes, for as long as a hold usually lasts, while running calls hold the money", 10, 80, [], soonAgain(4)],
  ["yes, if only a part of it is of unknown outcome", 10, 80, [{ amount: 50, endsInMs: 500_000 }], soonAgain(4)],
  ["no, if the money is spent", 80, 20, [{ amount: 20, endsInMs: 500_000 }], { shouldRetry: false }],
  ["no, if calls of unknown outcome hold it, until the last that blocks has ended", 10, 80, three, notBefore(200)],
  [
    "yes, soon, while the cost of those calls is being looked up",
    10,
    80,
    [asked, { ...asked, asked: false }],
    soonAgain(15),
  ],
  ["no, if the day's money is held for other goals", 10, 80, [ofOtherGoal], notBefore(9)],
  ["soon, if the store cannot report the holds", 10, 80, undefined, soonAgain(2)],
];
test.each(rows)("whether waiting helps after a budget refusal: %s", async (_, spent, held, unresolved, advice) => {
  expect(await adviceFor(spent, held, unresolved)).toMatchObject(advice);
});
