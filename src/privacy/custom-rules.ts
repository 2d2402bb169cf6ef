import type { Policy } from "#policy/schema.ts";

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
