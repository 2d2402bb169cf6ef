import { fileURLToPath } from "node:url";
import type { Policy } from "#config/policy.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import type { Verdict } from "./rule-checker-process.ts";

/** Why a rule of the policy's own cannot be used. */
export interface RuleProblem {
  readonly rule: string;
  readonly problem: string;
  /** The rule may be good: the check did not come to an end. */
  readonly unchecked?: true;
}

export interface RuleCheckerOptions {
  /** Ends the check: the rules that were not checked yet come back as `unchecked`. */
  readonly signal?: AbortSignal | undefined;
  /** How long one pattern may take, the start of the process included, in milliseconds. */
  readonly limitMs?: number | undefined;
}

/** recheck's own limit is 5 s; a busy machine needs a while to start the process. */
const defaultLimitMs = 20_000;

/**
 * Checks rules of the policy's own: valid, never empty, and linear in the length of the text. To be called by whoever loads
 * a policy, before the engine is built; takes up to a few seconds per pattern that was not checked before. Always ends:
 * where the checker hangs or dies twice, the first rule without an answer comes back as `unchecked`.
 */
export async function checkCustomRules(
  rules: Policy["privacy"]["custom_rules"],
  options: RuleCheckerOptions = {},
): Promise<RuleProblem[]> {
  const problems: RuleProblem[] = [];
  const patterns = new Map<string, string>();
  const seen = new Set<string>();
  for (const { id, pattern } of rules) {
    const problem = seen.has(id) ? "another rule has the same id" : shapeProblem(pattern);
    seen.add(id);
    if (problem !== undefined) problems.push({ rule: id, problem });
    else if (!knownLinear.has(pattern)) patterns.set(id, pattern);
  }
  if (patterns.size === 0) return problems;
  const { signal, limitMs = defaultLimitMs } = options;
  const timeoutMs = limitMs * patterns.size;
  const endsAt = performance.now() + timeoutMs;
  const all = [...patterns.values()];
  const verdicts = await verdictsOn(all, timeoutMs, signal);
  // A process that ended by itself (out of memory, a signal) is started once more.
  if (verdicts.length < all.length && performance.now() < endsAt)
    verdicts.push(...(await verdictsOn(all.slice(verdicts.length), timeoutMs, signal)));
  for (const [index, [rule, pattern]] of [...patterns].entries()) {
    const verdict = verdicts[index];
    if (verdict === undefined) {
      const problem = signal?.aborted
        ? "the check was given up"
        : `the checker did not answer within ${timeoutMs / 1_000} s`;
      problems.push({ rule, problem: `could not be checked: ${problem}`, unchecked: true });
      break;
    }
    const problem = complexityProblem(verdict);
    if (problem === undefined) knownLinear.add(pattern);
    else problems.push({ rule, problem });
  }
  return problems;
}

/** Patterns that were found to be linear, so that changing a policy back costs nothing. */
const knownLinear = new Set<string>();

/** What a process of its own says of patterns, in order; fewer answers where it hung, died or was told to stop. */
async function verdictsOn(
  patterns: readonly string[],
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<Verdict[]> {
  if (signal?.aborted === true) return [];
  try {
    const script = fileURLToPath(new URL("./rule-checker-process.ts", import.meta.url));
    const child = Bun.spawn([process.execPath, script], {
      // Of its ways to compute, the one that needs no further process; the rest of our environment is none of its business.
      env: { RECHECK_BACKEND: "worker" },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
      timeout,
      // A stopped process takes no other signal.
      killSignal: "SIGKILL",
      ...(signal === undefined ? {} : { signal }),
    });
    child.stdin.write(`${JSON.stringify(patterns)}\n`);
    await child.stdin.flush();
    const answers = await new Response(child.stdout).text();
    // What was cut off in the middle is no answer.
    return answers
      .split("\n")
      .slice(0, -1)
      .map((line): Verdict => JSON.parse(line));
  } catch {
    return [];
  }
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
