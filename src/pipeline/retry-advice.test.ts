import { describe, expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import type { HeldMoney, Spend } from "#ledger/ledger.ts";
import { retryAdviceFor } from "./retry-advice.ts";

/** A goal and a day with these amounts spent and held, each under a cap of 100; the request needs 30. */
function adviceFor(
  account: { readonly spent: number; readonly held: number },
  unresolved:
    | readonly {
        readonly amount: number;
        readonly endsInMs: number;
        readonly goal?: boolean;
        readonly asked?: boolean;
      }[]
    | undefined,
) {
  const own = { spent: nanoUsd(account.spent), held: nanoUsd(account.held) };
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
      asked,
    })),
  };
  return retryAdviceFor("goal", spend, fits, { heldMoney: async () => money });
}

describe("whether waiting helps after a budget refusal", () => {
  test("yes, for about as long as a hold lasts, while running calls hold the money", async () => {
    expect(await adviceFor({ spent: 10, held: 80 }, [])).toEqual({ shouldRetry: true, retryAfterS: 4 });
    expect(await adviceFor({ spent: 10, held: 80 }, [{ amount: 50, endsInMs: 500_000 }])).toEqual({
      shouldRetry: true,
      retryAfterS: 4,
    });
  });
  test("no, if the money is spent", async () => {
    expect(await adviceFor({ spent: 80, held: 20 }, [{ amount: 20, endsInMs: 500_000 }])).toEqual({
      shouldRetry: false,
    });
  });
  test("no, if calls of unknown outcome hold it; the advice then has the end of the last hold that blocks", async () => {
    const holds = [
      { amount: 5, endsInMs: 100_000 },
      { amount: 20, endsInMs: 200_000 },
      { amount: 55, endsInMs: 600_500 },
    ];
    expect(await adviceFor({ spent: 10, held: 80 }, holds)).toEqual({
      shouldRetry: false,
      retryAfterS: 200,
      unresolved: nanoUsd(80),
    });
  });
  test("yes, soon, while the cost of those calls is being looked up", async () => {
    const asked = [
      { amount: 40, endsInMs: 300_000, asked: true },
      { amount: 40, endsInMs: 300_000 },
    ];
    expect(await adviceFor({ spent: 10, held: 80 }, asked)).toEqual({ shouldRetry: true, retryAfterS: 15 });
  });
  test("holds of other goals count for the day only", async () => {
    expect(await adviceFor({ spent: 10, held: 80 }, [{ amount: 80, endsInMs: 9_000, goal: false }])).toMatchObject({
      shouldRetry: false,
      retryAfterS: 9,
    });
  });
  test("soon, if the store cannot report the holds", async () => {
    expect(await adviceFor({ spent: 10, held: 80 }, undefined)).toEqual({ shouldRetry: true, retryAfterS: 2 });
  });
});
