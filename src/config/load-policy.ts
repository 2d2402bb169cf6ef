import type { ModelRegistry } from "#domain/model.ts";
import type { RuleCheckerOptions } from "#privacy/rules/custom-rules.ts";
import { type ConfigDocument, parseConfig, readConfigFile } from "./config-file.ts";
import { Policy } from "./policy.ts";
import { type Invalid, inOrder, nearest, type Problem } from "./problem.ts";
import { pathText, validate } from "./validate.ts";

export type LoadedPolicy = {
  readonly kind: "ok";
  readonly policy: Policy;
  /** For checks that need more than the file: they name its lines. */
  readonly document: ConfigDocument;
};

/** `rest` is what the valid part of the file would mean, for checks against the registry. */
export type InvalidPolicy = Invalid & { readonly rest?: LoadedPolicy };

/** The name that problems carry when no file is set: the defaults, which are also the shipped file. */
export const defaultPolicyName = "config/policy.yaml";

/** The policy in a file, merged over the defaults; without a file, the defaults. Never throws. */
export function loadPolicy(path: string | undefined): LoadedPolicy | InvalidPolicy {
  const read = path === undefined ? parseConfig("", defaultPolicyName) : readConfigFile(path, "ROUTING_POLICY_PATH");
  return read.kind === "ok" ? policyIn(read.document) : read;
}

/** The policy that a text would mean as a file, merged over the defaults; `file` names it in problems. Never throws. */
function loadPolicyText(text: string, file: string): LoadedPolicy | InvalidPolicy {
  const read = parseConfig(text, file);
  return read.kind === "ok" ? policyIn(read.document) : read;
}

function policyIn(document: ConfigDocument): LoadedPolicy | InvalidPolicy {
  const checked = validate(Policy, document);
  const parsed = checked.kind === "ok" ? checked.value : checked.rest;
  const policy = parsed === undefined ? undefined : withOneThreshold(parsed, document);
  const wrong = checked.kind === "ok" ? [] : checked.problems;
  if (policy === undefined) return { kind: "invalid", problems: inOrder(wrong) };
  const reported = new Set(wrong.map(({ path }) => path));
  const problems = [...wrong, ...inconsistencies(policy, document, reported)];
  const loaded: LoadedPolicy = { kind: "ok", policy, document };
  return problems.length > 0 ? { kind: "invalid", problems: inOrder(problems), rest: loaded } : loaded;
}

/** A file that sets one of the two thresholds beyond the other's default means that one: no gray zone is left. */
function withOneThreshold(policy: Policy, document: ConfigDocument): Policy {
  const { flash_below, pro_from } = policy.routing;
  if (flash_below <= pro_from) return policy;
  const lowSet = isSet(document.value, ["routing", "flash_below"]);
  const highSet = isSet(document.value, ["routing", "pro_from"]);
  if (lowSet === highSet) return policy;
  const threshold = lowSet ? flash_below : pro_from;
  return { ...policy, routing: { ...policy.routing, flash_below: threshold, pro_from: threshold } };
}

/** Pairs of keys of which the first must not be above the second. */
const ordered: readonly (readonly [lower: readonly string[], upper: readonly string[]])[] = [
  [
    ["routing", "flash_below"],
    ["routing", "pro_from"],
  ],
  [
    ["upstream", "backoff_base_ms"],
    ["upstream", "backoff_max_ms"],
  ],
  [
    ["health", "open_base_ms"],
    ["health", "open_max_ms"],
  ],
  [
    ["health", "quarantine_base_ms"],
    ["health", "quarantine_max_ms"],
  ],
  [
    ["health", "limited_default_ms"],
    ["health", "limited_max_ms"],
  ],
  [
    ["health", "aggregator_open_base_ms"],
    ["health", "aggregator_open_max_ms"],
  ],
  [
    ["health", "recovered_failure_share"],
    ["health", "degraded_failure_share"],
  ],
  [
    ["health", "degraded_failure_share"],
    ["health", "unhealthy_failure_share"],
  ],
  [
    ["health", "recovered_slow_share"],
    ["health", "slow_share"],
  ],
  [
    ["stream", "max_event_bytes"],
    ["stream", "max_answer_bytes"],
  ],
];

/** Leaves out pairs of which one is `reported` already: its value is not known. */
function inconsistencies(policy: Policy, document: ConfigDocument, reported: ReadonlySet<string>): Problem[] {
  const problems: Problem[] = [];
  for (const [lower, upper] of ordered) {
    const [low, high] = [numberAt(policy, lower), numberAt(policy, upper)];
    if (low <= high || reported.has(pathText(lower)) || reported.has(pathText(upper))) continue;
    // Names the key that the file sets; the other one may be a default.
    const blamed = isSet(document.value, lower) ? lower : upper;
    problems.push(
      problem(document, blamed, {
        message: `${pathText(lower)} (${low}) must not be above ${pathText(upper)} (${high})`,
        suggestion: `set both, ${lower.at(-1)} the lower one`,
      }),
    );
  }
  return problems;
}

/** Checks the policy's own privacy rules; slow (up to seconds per new rule), so it runs only where there are some. */
export async function customRuleProblems(
  policy: Policy,
  document: ConfigDocument,
  options: RuleCheckerOptions = {},
): Promise<{ readonly problems: readonly Problem[]; readonly unfinished: boolean }> {
  const rules = policy.privacy.custom_rules;
  if (rules.length === 0) return { problems: [], unfinished: false };
  const { checkCustomRules } = await import("#privacy/rules/custom-rules.ts");
  const found = await checkCustomRules(rules, options);
  const problems = found.map(({ rule, problem: message }) => {
    const index = rules.findLastIndex(({ id }) => id === rule);
    return problem(document, ["privacy", "custom_rules", index], { message: `${rule}: ${message}` });
  });
  return { problems, unfinished: found.some(({ unchecked }) => unchecked === true) };
}

/** Checks against the registry: the fallback chain names existing models, each once, and none that is free. */
export function chainProblems(policy: Policy, registry: ModelRegistry, document: ConfigDocument): Problem[] {
  const chain = policy.health.senior_fallback_chain;
  return chain.flatMap((key, index) => {
    const at = ["health", "senior_fallback_chain", index];
    const model = registry.models.get(key);
    if (model === undefined) {
      const near = nearest(key, registry.models.keys());
      const suggestion =
        near === undefined ? `known models: ${[...registry.models.keys()].join(", ")}` : `did you mean ${near}?`;
      return [problem(document, at, { message: `no model has the key ${key}`, suggestion })];
    }
    if (model.free) {
      const message = `${key} is a free model, and free models are never fallbacks`;
      return [problem(document, at, { message, suggestion: "remove it from the chain" })];
    }
    if (chain.indexOf(key) !== index) return [problem(document, at, { message: `${key} stands in the chain twice` })];
    return [];
  });
}

function problem(
  document: ConfigDocument,
  at: readonly (string | number)[],
  what: Pick<Problem, "message" | "suggestion">,
): Problem {
  const line = document.lineOf(at);
  return { file: document.file, path: pathText(at), ...(line === undefined ? {} : { line }), ...what };
}

function numberAt(policy: Policy, path: readonly string[]): number {
  return Number(path.reduce<unknown>(below, policy));
}

function isSet(value: unknown, path: readonly string[]): boolean {
  return path.reduce<unknown>(below, value) !== undefined;
}

function below(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
}

/** The name of an edited policy in its problems. */
const editedName = "edited policy";

/** How long the check of one privacy rule of an edited policy may take, in milliseconds. */
const ruleCheckMs = 5_000;

/** Checks an edited policy as its file would be checked with this registry, without applying it. Never throws. */
export async function checkPolicyText(
  text: string,
  registry: ModelRegistry,
): Promise<{ readonly kind: "ok"; readonly policy: Policy } | Invalid> {
  const policy = loadPolicyText(text, editedName);
  const read = policy.kind === "ok" ? policy : policy.rest;
  const rules = read
    ? await customRuleProblems(read.policy, read.document, { limitMs: ruleCheckMs })
    : { problems: [], unfinished: false };
  const problems = inOrder([
    ...(policy.kind === "invalid" ? policy.problems : []),
    ...(read ? chainProblems(read.policy, registry, read.document) : []),
    ...rules.problems,
  ]);
  if (problems.length > 0 || policy.kind === "invalid") return { kind: "invalid", problems };
  return { kind: "ok", policy: policy.policy };
}
