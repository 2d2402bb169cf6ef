import type { CapUse } from "#dashboard/schema/shared.ts";
import { goalAccountOf, isHashedGoal } from "#ledger/rules/accounts.ts";
import { hashOfCutId } from "#records/record-facts.ts";
import type { DecisionRecords } from "#records/records.ts";
import { dayMs } from "./range.ts";

/** The goals of this time are looked through, those that cost most first. */
const spanMs = 30 * dayMs;
const maxGoals = 1_000;

/**
 * The same lines under the names by which decisions are found. The ledger stores long and unusual names of goals as hashes; the
 * decision records have them as callers wrote them, the longest ones cut.
 */
export async function withGoalNames<Line extends CapUse>(
  lines: readonly Line[],
  records: Pick<DecisionRecords, "groups">,
  nowMs: number,
): Promise<readonly Line[]> {
  if (!lines.some(({ name }) => isHashedGoal(name))) return lines;
  const groups = await records.groups("goal", { fromMs: nowMs - spanMs, toMs: Math.ceil(nowMs) + 1 }, maxGoals);
  const names = new Map(groups.map(({ key }) => [hashedAccountOf(key), key]));
  return lines.map((line) =>
    isHashedGoal(line.name) ? { ...line, name: names.get(line.account.slice(0, accountLength)) ?? line.name } : line,
  );
}

/** The beginning of an account's id that the records still have of a name that was cut. */
const accountLength = "goal/sha256:".length + 16;

function hashedAccountOf(goal: string): string {
  const hash = hashOfCutId(goal);
  // The day is only of requests without a goal.
  const account = hash === undefined ? goalAccountOf(goal, "") : `goal/sha256:${hash}`;
  return account.slice(0, accountLength);
}
