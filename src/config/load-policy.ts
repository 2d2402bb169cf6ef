import type { ModelRegistry } from "#domain/model.ts";
import { checkCustomRules } from "#privacy/rules/custom-rules.ts";
import { type ConfigDocument, parseConfig, readConfigFile, valueAt } from "./config-file.ts";
import { Policy } from "./policy.ts";
import { type Invalid, inOrder, nearest, type Problem } from "./problem.ts";
import { withoutRemovedKeys } from "./removed-keys.ts";
import { problemAt, validate } from "./validate.ts";

export interface LoadedPolicy {
  readonly kind: "ok";
  readonly policy: Policy;
  /** Keys that an earlier release had, and that have no effect any more. */
  readonly warnings: readonly Problem[];
  /** For checks that need more than the file: they name its lines. */
  readonly document: ConfigDocument;
}

/** The name that problems carry when no file is set: the defaults, which are also the shipped file. */
export const defaultPolicyName = "defaults/policy.yaml";

/** The policy in a file, merged over the defaults; without a file, the defaults. Never throws. */
export function loadPolicy(path: string | undefined): LoadedPolicy | Invalid {
  const read = path === undefined ? parseConfig("", defaultPolicyName) : readConfigFile(path, "ROUTING_POLICY_PATH");
  return read.kind === "ok" ? readPolicy(read.document) : read;
}

function readPolicy(document: ConfigDocument): LoadedPolicy | Invalid {
  const { value, removed } = withoutRemovedKeys(document.value);
  const checked = validate(Policy, document, value);
  if (checked.kind === "invalid") return checked;
  const policy = joinThresholds(checked.value, document);
  const problems = findMisorderedKeys(policy, document);
  if (problems.length > 0) return { kind: "invalid", problems: inOrder(problems) };
  const warnings = removed.map(({ path, instead }) =>
    problemAt(document, path, `has no effect any more: ${instead}`, "remove it from the file"),
  );
  return { kind: "ok", policy, warnings: inOrder(warnings), document };
}

/** A file that sets one of the two thresholds beyond the other's default means that one: no gray zone is left. */
function joinThresholds(policy: Policy, document: ConfigDocument): Policy {
  const { flash_below, pro_from } = policy.routing;
  const lowSet = valueAt(document.value, ["routing", "flash_below"]) !== undefined;
  const highSet = valueAt(document.value, ["routing", "pro_from"]) !== undefined;
  if (flash_below <= pro_from || lowSet === highSet) return policy;
  const threshold = lowSet ? flash_below : pro_from;
  return { ...policy, routing: { ...policy.routing, flash_below: threshold, pro_from: threshold } };
}

/** Keys of which the first must not be above the second. */
const ordered = [
  ["routing", "flash_below", "pro_from"],
  ["health", "open_base_ms", "open_max_ms"],
  ["budget", "per_goal_soft_usd", "per_goal_hard_usd"],
  ["budget", "per_day_soft_usd", "per_day_hard_usd"],
] as const;

function findMisorderedKeys(policy: Policy, document: ConfigDocument): Problem[] {
  return ordered.flatMap(([section, lower, upper]) => {
    const [low = 0, high = 0] = [lower, upper].map((key) => Number(valueAt(policy, [section, key])));
    const [setsLow, setsHigh] = [lower, upper].map((key) => valueAt(document.value, [section, key]) !== undefined);
    // A hard cap alone below the other's default takes the soft one down with it.
    if (low <= high || (section === "budget" && !(setsLow && setsHigh))) return [];
    const message = `${section}.${lower} (${low}) must not be above ${section}.${upper} (${high})`;
    // Names the key that the file sets; the other one may be a default.
    return [problemAt(document, [section, setsLow ? lower : upper], message, `set both, ${lower} the lower one`)];
  });
}

/** What a policy needs beyond its own file: models of its fallback chain, and privacy rules that can be run. */
export function checkPolicy({ policy, document }: LoadedPolicy, registry: ModelRegistry): readonly Problem[] {
  const rules = policy.privacy.custom_rules;
  const problems = checkCustomRules(rules).map(({ rule, problem }) => {
    const index = rules.findLastIndex(({ id }) => id === rule);
    return problemAt(document, ["privacy", "custom_rules", index], `${rule}: ${problem}`);
  });
  return inOrder([...findChainProblems(policy, registry, document), ...problems]);
}

/** The fallback chain names existing models, each once, and none that is free. */
function findChainProblems(policy: Policy, registry: ModelRegistry, document: ConfigDocument): Problem[] {
  const chain = policy.health.senior_fallback_chain;
  return chain.flatMap((key, index) => {
    const report = (message: string, suggestion?: string) => [
      problemAt(document, ["health", "senior_fallback_chain", index], message, suggestion),
    ];
    const model = registry.models.get(key);
    if (model === undefined) {
      const near = nearest(key, registry.models.keys());
      const known = `known models: ${[...registry.models.keys()].join(", ")}`;
      return report(`no model has the key ${key}`, near === undefined ? known : `did you mean ${near}?`);
    }
    if (model.free)
      return report(`${key} is a free model, and free models are never fallbacks`, "remove it from the chain");
    return chain.indexOf(key) === index ? [] : report(`${key} stands in the chain twice`);
  });
}

/** Checks an edited policy as its file would be checked with this registry, without applying it. Never throws. */
export function checkPolicyText(
  text: string,
  registry: ModelRegistry,
): { readonly kind: "ok"; readonly policy: Policy } | Invalid {
  const read = parseConfig(text, "edited policy");
  const loaded = read.kind === "ok" ? readPolicy(read.document) : read;
  if (loaded.kind === "invalid") return loaded;
  const problems = checkPolicy(loaded, registry);
  return problems.length > 0 ? { kind: "invalid", problems } : loaded;
}
