import { actions, aliases, causes, taskKinds } from "#domain/routing.ts";
import { hardRules } from "#pipeline/decide/rules/hard-rules.ts";
import { costStates, refusers, tiers } from "./decision-record.ts";
import { requestOutcomes } from "./record.ts";

/** The fields of a filter whose values are words of a closed set, and the words. */
export const filterWords = {
  cause: causes,
  rule: hardRules.map(({ name }) => name),
  kind: taskKinds,
  alias: aliases,
  tier: tiers,
  outcome: requestOutcomes,
  refusedBy: refusers,
  costState: costStates,
  action: actions,
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** What is wrong with a value of such a field; undefined where nothing is. A mistyped word would select nothing, without a message. */
export function wordProblem(field: keyof typeof filterWords, value: string): string | undefined {
  const words: readonly string[] = filterWords[field];
  return words.includes(value) ? undefined : `"${value}" is none of ${words.join(", ")}`;
}

/** The same for a status: one, or a class of them. */
export function statusProblem(value: string): string | undefined {
  return /^[1-5](\d\d|xx)$/.test(value) ? undefined : `"${value}" is no status such as 403, and no class such as 5xx`;
}
