import type { ModelRegistry } from "#domain/model.ts";
import type { Caps } from "#domain/money/caps.ts";
import { loadRegistry } from "#models/load-registry.ts";
import type { RuleCheckerOptions } from "#privacy/rules/custom-rules.ts";
import { type Invalid, inOrder } from "#settings/problem.ts";
import { capsOf } from "./caps.ts";
import { chainProblems, customRuleProblems, loadPolicy } from "./load-policy.ts";
import type { Policy } from "./schema.ts";

/** Policy and registry, valid each and together. */
export interface Config {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly caps: Caps;
}

export interface ConfigPaths {
  readonly policyPath?: string | undefined;
  readonly registryPath?: string | undefined;
}

/** Reads both files. All problems of both at once; never throws, and always ends. */
export async function loadConfig(
  paths: ConfigPaths,
  ruleCheck: RuleCheckerOptions = {},
): Promise<{ readonly kind: "ok"; readonly config: Config } | Invalid> {
  const policy = loadPolicy(paths.policyPath);
  const registry = loadRegistry(paths.registryPath);
  const readPolicy = policy.kind === "ok" ? policy : policy.rest;
  const readModels = registry.kind === "ok" ? registry.registry : registry.rest;
  const rules = readPolicy
    ? await customRuleProblems(readPolicy.policy, readPolicy.document, ruleCheck)
    : { problems: [], unfinished: false };
  const problems = inOrder([
    ...(policy.kind === "invalid" ? policy.problems : []),
    ...(readPolicy && readModels ? chainProblems(readPolicy.policy, readModels, readPolicy.document) : []),
    ...rules.problems,
    ...(registry.kind === "invalid" ? registry.problems : []),
  ]);
  if (problems.length > 0 || policy.kind === "invalid" || registry.kind === "invalid")
    return { kind: "invalid", problems, unfinished: rules.unfinished };
  const config = { policy: policy.policy, registry: registry.registry, caps: capsOf(policy.policy) };
  return { kind: "ok", config };
}
