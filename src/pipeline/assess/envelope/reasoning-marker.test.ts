import { expect, test } from "bun:test";
import { asksForHighReasoning } from "./reasoning-marker.ts";

test("the marker is found anywhere in the text, in any case, with or without spaces", () => {
  expect(asksForHighReasoning("[reasoning:high] Prove it.")).toBe(true);
  expect(asksForHighReasoning("Prove it.\n[Reasoning: HIGH]")).toBe(true);
  expect(asksForHighReasoning("Prove [ reasoning : high ] it.")).toBe(true);
});

test("other words, other levels and broken brackets are not a marker", () => {
  for (const text of [
    "",
    "reasoning:high",
    "[reasoning:low]",
    "[reasoning:higher]",
    "[reasoning:\nhigh]",
    "[reasoning]",
  ]) {
    expect(asksForHighReasoning(text)).toBe(false);
  }
});
