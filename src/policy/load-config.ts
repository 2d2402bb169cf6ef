import type { ModelRegistry } from "#domain/model.ts";
import { loadRegistry } from "#models/load-registry.ts";
import type { Invalid } from "#settings/problem.ts";
import { type Caps, capsOf } from "./caps.ts";
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

/** Reads both files. All problems of both at once; never throws. */
export async function loadConfig(
  paths: ConfigPaths,
): Promise<{ readonly kind: "ok"; readonly config: Config } | Invalid> {
  const policy = loadPolicy(paths.policyPath);
  const registry = loadRegistry(paths.registryPath);
  if (policy.kind === "invalid" || registry.kind === "invalid") {
    const problems = [policy, registry].flatMap((loaded) => (loaded.kind === "invalid" ? loaded.problems : []));
    return { kind: "invalid", problems };
  }
  const problems = [
    ...chainProblems(policy.policy, registry.registry, policy.document),
    ...(await customRuleProblems(policy.policy, policy.document)),
  ];
  if (problems.length > 0) return { kind: "invalid", problems };
  const config = { policy: policy.policy, registry: registry.registry, caps: capsOf(policy.policy) };
  return { kind: "ok", config };
}
