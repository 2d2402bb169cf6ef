import type { Policy } from "#policy/schema.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { CheckAborted, RuleChecker, type RuleCheckerOptions, type Verdict } from "./rule-checker.ts";

export type { RuleCheckerOptions } from "./rule-checker.ts";

/** Why a rule of the policy's own cannot be used. */
export interface RuleProblem {
  readonly rule: string;
  readonly problem: string;
  /** The rule may be good: the check did not come to an end. */
  readonly unchecked?: true;
}

/**
 * Checks rules of the policy's own: valid, never empty, and linear in the length of the text. To be called by whoever loads
 * a policy, before the engine is built; takes up to a few seconds per pattern that was not checked before. Always ends:
 * where the checker hangs or dies twice, the rule and those after it come back as `unchecked`.
 */
export async function checkCustomRules(
  rules: Policy["privacy"]["custom_rules"],
  options: RuleCheckerOptions = {},
): Promise<RuleProblem[]> {
  const problems: RuleProblem[] = [];
  const checker = new RuleChecker(options);
  const seen = new Set<string>();
  let current = "";
  try {
    for (const { id, pattern } of rules) {
      current = id;
      const problem = seen.has(id)
        ? "another rule has the same id"
        : (shapeProblem(pattern) ?? complexityProblem(await checker.verdictOf(pattern)));
      seen.add(id);
      if (problem !== undefined) problems.push({ rule: id, problem });
    }
  } catch (error) {
    if (!(error instanceof CheckAborted)) throw error;
    problems.push({ rule: current, problem: `could not be checked: ${error.message}`, unchecked: true });
  } finally {
    checker.close();
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

function complexityProblem({ status, complexity }: Verdict): string | undefined {
  if (status === "safe" && complexity !== "polynomial" && complexity !== "exponential") return undefined;
  if (status === "vulnerable") return `can take ${complexity ?? "more than linear"} time; bound its repetitions`;
  return "could not be shown to take linear time; make it simpler";
}

/** Matches of one rule in one text that are used; a pattern that matches everywhere is a mistake, not a protection. */
const maxMatches = 10_000;

/** Finds what the policy's own rules name: group 1 of a pattern where it has one, else the whole match. */
export function customRules(
  rules: Policy["privacy"]["custom_rules"],
): (normalized: NormalizedText, found: Span[]) => void {
  const compiled = rules.map(({ id, pattern }) => ({ id, pattern: new RegExp(pattern, "dg") }));
  return (normalized, found) => {
    for (const { id, pattern } of compiled) {
      pattern.lastIndex = 0;
      for (let count = 0; count < maxMatches; count++) {
        const match = pattern.exec(normalized.text);
        if (match === null) break;
        const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
        if (end > start) found.push({ start, end, rule: id });
        if (match[0] === "") pattern.lastIndex++;
      }
    }
  };
}
