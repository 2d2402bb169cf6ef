import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Asks that were written to judge how guarded topics are recognized, by set. `guarded` ones change something that must not go wrong;
 * the others mention the same things but change none of them. Two sets have one ask in each of many languages for each guarded kind.
 */
export interface JudgedAsk {
  readonly set: string;
  readonly prompt: string;
  /** Absent in the sets of languages, whose asks are all guarded. */
  readonly guarded?: boolean;
  readonly language?: string;
  readonly kind?: "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION";
}

export const guardedKinds = ["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"] as const;

const file = join(import.meta.dir, "../../test/routing/fixtures/guarded-asks.jsonl");
// Written by this project, one object a line.
export const judgedAsks = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as JudgedAsk);

/** The sets with guarded and ordinary asks. */
export function judgedSets(): readonly { name: string; guarded: readonly string[]; ordinary: readonly string[] }[] {
  const asks = judgedAsks.filter(({ guarded }) => guarded !== undefined);
  return [...new Set(asks.map(({ set }) => set))].map((name) => {
    const prompts = (isGuarded: boolean) =>
      asks.filter(({ set, guarded }) => set === name && guarded === isGuarded).map(({ prompt }) => prompt);
    return { name, guarded: prompts(true), ordinary: prompts(false) };
  });
}
