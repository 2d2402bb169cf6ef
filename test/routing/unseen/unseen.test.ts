import { expect, test } from "bun:test";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { asks } from "./asks.ts";
import { asks as furtherAsks } from "./asks-2.ts";
import { asks as thirdAsks } from "./third-set.ts";

/** Asks in words that no rule was written for when they were written and labelled. */
const guardedKinds: readonly string[] = ["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"];
const isGuarded = (ask: string) => {
  const { kind, risk_level } = assessed({ ask }).task;
  return guardedKinds.includes(kind) && (risk_level === "HIGH" || risk_level === "CRITICAL");
};

const all = [asks, furtherAsks, thirdAsks].flatMap((set) => Object.entries(set));
const labelled = all.flatMap(([language, { guarded, ordinary }]) => [
  ...guarded.map((ask) => [language, ask, true] as const),
  ...ordinary.map((ask) => [language, ask, false] as const),
]);
test.each(labelled)("%s: %s: guarded %p", (_, ask, guarded) => {
  expect(isGuarded(ask)).toBe(guarded);
});
