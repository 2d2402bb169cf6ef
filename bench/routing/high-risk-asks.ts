import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Asks that were written to judge how high-risk topics are recognized, by set. High-risk ones change something that must not go wrong;
 * the others mention the same things but change none of them. Two sets have one ask in each of many languages for each high-risk kind.
 */
export interface JudgedAsk {
  readonly set: string;
  readonly prompt: string;
  /** Absent in the sets of languages, whose asks are all high-risk. */
  readonly high_risk?: boolean;
  readonly language?: string;
  readonly kind?: "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION";
}

export const highRiskKinds = ["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"] as const;

const file = join(import.meta.dir, "../../test/routing/fixtures/high-risk-asks.jsonl");
// Written by this project, one object a line.
export const judgedAsks = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as JudgedAsk);

/** The sets with high-risk and ordinary asks. */
export function judgedSets(): readonly { name: string; highRisk: readonly string[]; ordinary: readonly string[] }[] {
  const asks = judgedAsks.filter(({ high_risk }) => high_risk !== undefined);
  return [...new Set(asks.map(({ set }) => set))].map((name) => {
    const prompts = (isHighRisk: boolean) =>
      asks.filter(({ set, high_risk }) => set === name && high_risk === isHighRisk).map(({ prompt }) => prompt);
    return { name, highRisk: prompts(true), ordinary: prompts(false) };
  });
}
