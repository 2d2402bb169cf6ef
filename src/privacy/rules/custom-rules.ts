import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import type { Policy } from "#config/policy.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

/** Why a rule of the policy's own cannot be used. */
export interface RuleProblem {
  readonly rule: string;
  readonly problem: string;
}

type CustomRule = Policy["privacy"]["custom_rules"][number];

/** Checks rules of the policy's own: whoever loads a policy does it before the engine is built. */
export function checkCustomRules(rules: readonly CustomRule[]): RuleProblem[] {
  const seen = new Set<string>();
  return rules.flatMap(({ id, pattern }) => {
    const problem = seen.has(id) ? "another rule has the same id" : patternProblem(pattern);
    seen.add(id);
    return problem === undefined ? [] : [{ rule: id, problem }];
  });
}

function patternProblem(pattern: string): string | undefined {
  try {
    return compile(pattern).test("") ? "matches the empty text" : undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, " ") : "unreadable";
    return `is not a regular expression that takes linear time: ${reason}`;
  }
}

/** RE2: its time is linear whatever the pattern. Loaded with the first rule, as nearly all policies have none. */
function compile(pattern: string): RE2JS {
  const { RE2JS }: typeof import("re2js") = createRequire(import.meta.url)("re2js");
  return RE2JS.compile(RE2JS.translateRegExp(pattern), RE2JS.LOOKBEHINDS);
}

/** Matches of one rule in one text that are used; a pattern that matches everywhere is a mistake, not a protection. */
const maxMatches = 10_000;
/**
 * Longest match, and how much before it a pattern may look at. The text is searched in windows of twice that length:
 * what a search reads beyond its match is read again, which over a whole text of matches would not be linear.
 */
const maxMatchLength = 2_048;
const leadLength = 64;

/** Finds what the policy's own rules name: group 1 of a pattern where it has one, else the whole match. */
export function customRules(rules: readonly CustomRule[]): (normalized: NormalizedText, found: Span[]) => void {
  const compiled = rules.map(({ id, pattern }) => ({ id, pattern: compile(pattern) }));
  return ({ text }, found) => {
    for (const { id, pattern } of compiled) {
      let count = 0;
      for (let at = 0; at < text.length && count < maxMatches; at += maxMatchLength) {
        const from = Math.max(0, at - leadLength);
        const match = pattern.matcher(text.slice(from, at + 2 * maxMatchLength));
        let next = at;
        for (let more = match.find(at - from); more && count < maxMatches; more = match.find()) {
          if (from + match.start() >= at + maxMatchLength) break;
          const group = pattern.groupCount() > 0 && match.start(1) >= 0 ? 1 : 0;
          const [start, end] = [from + match.start(group), from + match.end(group)];
          if (end > start) found.push({ start, end, rule: id });
          next = from + match.end();
          count++;
        }
        at = Math.max(at, next - maxMatchLength);
      }
    }
  };
}
