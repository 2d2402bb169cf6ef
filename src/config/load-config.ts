import type { ModelRegistry } from "#domain/model.ts";
import type { Caps } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { checkPolicy, loadPolicy } from "./load-policy.ts";
import { capsOf, type Policy } from "./policy.ts";
import type { Invalid, Problem } from "./problem.ts";

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

export type LoadedConfig =
  /** `warnings`: what is valid, and has no effect. */
  { readonly kind: "ok"; readonly config: Config; readonly warnings: readonly Problem[] } | Invalid;

/** Reads policy and registry. All problems at once; never throws. */
export function loadConfig({ policyPath, registryPath }: ConfigPaths): LoadedConfig {
  const policy = loadPolicy(policyPath);
  const registry = loadRegistry(registryPath);
  if (policy.kind === "invalid" || registry.kind === "invalid") {
    const problems = [policy, registry].flatMap((file) => (file.kind === "invalid" ? file.problems : []));
    return { kind: "invalid", problems };
  }
  const problems = checkPolicy(policy, registry.registry);
  if (problems.length > 0) return { kind: "invalid", problems };
  const config = { policy: policy.policy, registry: registry.registry, caps: capsOf(policy.policy) };
  return { kind: "ok", config, warnings: policy.warnings };
}
