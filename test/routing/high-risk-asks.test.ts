import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assessed } from "#pipeline/assess/fixtures.ts";

interface LabelledAsk {
  readonly set: string;
  readonly prompt: string;
  readonly high_risk?: boolean;
  readonly kind?: string;
}

const asks = readFileSync(join(import.meta.dir, "fixtures/high-risk-asks.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as LabelledAsk); // written by this project
const kindOf = (ask: string) => {
  const { kind, risk_level } = assessed({ ask }).task;
  return risk_level === "HIGH" || risk_level === "CRITICAL" ? kind : undefined;
};
const share = <T>(list: readonly T[], holds: (each: T) => boolean) => list.filter(holds).length / list.length;

// Shares, not single asks: a word that finds one more of these has so far found none of those that nobody had read.
test.each([...new Set(asks.map(({ set }) => set))])(
  "high-risk asks are found, ordinary ones are left alone: %s",
  (set) => {
    const of = asks.filter((ask) => ask.set === set);
    const highRisk = of.filter((ask) => ask.high_risk !== false);
    const ordinary = of.filter((ask) => ask.high_risk === false);
    expect(share(highRisk, ({ prompt }) => kindOf(prompt) !== undefined)).toBeGreaterThan(0.85);
    if (ordinary.length > 0) expect(share(ordinary, ({ prompt }) => kindOf(prompt) !== undefined)).toBeLessThan(0.02);
    const labelled = of.filter(({ kind }) => kind !== undefined);
    if (labelled.length > 0)
      expect(share(labelled, ({ prompt, kind }) => kindOf(prompt) === kind)).toBeGreaterThan(0.9);
  },
);
