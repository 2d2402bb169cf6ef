import type { ModelRegistry } from "#domain/model.ts";
import { type Invalid, inOrder } from "#settings/problem.ts";
import { chainProblems, customRuleProblems, loadPolicyText } from "./load-policy.ts";
import type { Policy } from "./schema.ts";

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
