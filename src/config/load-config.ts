import { dirname, resolve } from "node:path";
import { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { Caps } from "#domain/money/money.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { readJsonFile } from "./config-file.ts";
import { checkPolicy, loadPolicy } from "./load-policy.ts";
import { capsOf, type Policy } from "./policy.ts";
import type { Invalid, Problem } from "./problem.ts";
import { validate } from "./validate.ts";

/** Policy and registry, valid each and together. */
export interface Config {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly caps: Caps;
  /** What was learned from outcomes, where the policy names a file of it. */
  readonly learned?: LearnedWeights;
}

export interface ConfigPaths {
  readonly policyPath?: string | undefined;
  readonly registryPath?: string | undefined;
}

export type LoadedConfig = (
  | {
      readonly kind: "ok";
      readonly config: Config;
      /** What is valid, and has no effect. */
      readonly warnings: readonly Problem[];
    }
  | Invalid
) & {
  /** The files that were read, or could not be. */
  readonly files: readonly string[];
};

/** Reads policy and registry, and the learned weights that the policy names. All problems at once; never throws. */
export function loadConfig({ policyPath, registryPath }: ConfigPaths): LoadedConfig {
  const policy = loadPolicy(policyPath);
  const registry = loadRegistry(registryPath);
  const weightsPath = policy.kind === "ok" ? weightsPathOf(policy.policy, policyPath) : undefined;
  const files = [policyPath, registryPath, weightsPath].filter((path) => path !== undefined);
  if (policy.kind === "invalid" || registry.kind === "invalid") {
    const problems = [policy, registry].flatMap((file) => (file.kind === "invalid" ? file.problems : []));
    return { kind: "invalid", problems, files };
  }
  const learned = weightsPath === undefined ? undefined : loadWeights(weightsPath);
  const problems = [
    ...checkPolicy(policy, registry.registry),
    ...(learned?.kind === "invalid" ? learned.problems : []),
  ];
  if (problems.length > 0) return { kind: "invalid", problems, files };
  const config = {
    policy: policy.policy,
    registry: registry.registry,
    caps: capsOf(policy.policy),
    ...(learned?.kind === "ok" ? { learned: learned.weights } : {}),
  };
  return { kind: "ok", config, warnings: policy.warnings, files };
}

/** The path of the learned weights that the policy names; undefined when it names none. */
export function weightsPathOf({ routing }: Policy, policyPath: string | undefined): string | undefined {
  const { weights_file } = routing.learned;
  return weights_file === "" ? undefined : resolve(dirname(policyPath ?? "."), weights_file);
}

/** Learned weights from a file. Its form, the version of its features and every number are checked; never throws. */
export function loadWeights(path: string): { readonly kind: "ok"; readonly weights: LearnedWeights } | Invalid {
  const read = readJsonFile(path, "routing.learned.weights_file");
  if (read.kind === "invalid") return read;
  const checked = validate(LearnedWeights, read.document);
  if (checked.kind === "ok") return { kind: "ok", weights: checked.value };
  // One problem for each table: hundreds of them would hide the cause.
  const [first, ...others] = checked.problems;
  const suggestion = "fit again: smart-gateway policy learn --write";
  const problems = first === undefined ? [] : [{ ...first, suggestion }, ...others.slice(0, 4)];
  return { kind: "invalid", problems };
}
