import type { Policy } from "#policy/schema.ts";
import type { Span } from "./spans.ts";
import type { View } from "./view.ts";

/** Why a rule of the policy's own cannot be used. */
export interface RuleProblem {
  readonly rule: string;
  readonly problem: string;
}

/**
 * Checks rules of the policy's own: valid, never empty, and linear in the length of the text. To be called by whoever loads
 * a policy, before the engine is built; takes up to a second or two per pattern.
 */
export async function checkCustomRules(rules: Policy["privacy"]["custom_rules"]): Promise<RuleProblem[]> {
  const problems: RuleProblem[] = [];
  if (rules.length === 0) return problems;
  // The checker is large and only needed here, when a policy with own rules is loaded.
  const { check } = await import("recheck");
  const seen = new Set<string>();
  for (const { id, pattern } of rules) {
    const problem = seen.has(id)
      ? "another rule has the same id"
      : (shapeProblem(pattern) ?? complexityProblem(await check(pattern, "g", { timeout: 5_000 })));
    seen.add(id);
    if (problem !== undefined) problems.push({ rule: id, problem });
  }
  return problems;
}

function shapeProblem(pattern: string): string | undefined {
  let regexp: RegExp;
  try {
    regexp = new RegExp(pattern, "g");
  } catch (error) {
    return `is not a regular expression: ${error instanceof Error ? error.message : "unreadable"}`;
  }
  return regexp.test("") ? "matches the empty text" : undefined;
}

function complexityProblem({ status, complexity }: { status: string; complexity?: { type: string } | undefined }) {
  if (status === "safe" && complexity?.type !== "polynomial" && complexity?.type !== "exponential") return undefined;
  if (status === "vulnerable") return `can take ${complexity?.type ?? "more than linear"} time; bound its repetitions`;
  return "could not be shown to take linear time; make it simpler";
}

/** Matches of one rule in one text that are used; a pattern that matches everywhere is a mistake, not a protection. */
const mostMatches = 10_000;

/** Finds what the policy's own rules name: group 1 of a pattern where it has one, else the whole match. */
export function customRules(rules: Policy["privacy"]["custom_rules"]): (view: View, found: Span[]) => void {
  const compiled = rules.map(({ id, pattern }) => ({ id, pattern: new RegExp(pattern, "dg") }));
  return (view, found) => {
    for (const { id, pattern } of compiled) {
      pattern.lastIndex = 0;
      for (let count = 0; count < mostMatches; count++) {
        const match = pattern.exec(view.text);
        if (match === null) break;
        const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
        if (end > start) found.push({ start, end, rule: id });
        if (match[0] === "") pattern.lastIndex++;
      }
    }
  };
}
