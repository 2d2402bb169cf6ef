import type { Json } from "#domain/chat.ts";
import { type Problem, refused } from "./problem.ts";
import { Metadata, taskShape } from "./schema.ts";

/** Checked with the published schema: only the gateway's own keys matter, and few requests have any. */
export function problemOfMetadata(metadata: Json | undefined): Problem | undefined {
  if (metadata == null) return undefined;
  const parsed = Metadata.safeParse(metadata);
  if (parsed.success) return undefined;
  const issue = parsed.error.issues[0];
  const key = issue?.path[0];
  const param = key === undefined ? "metadata" : `metadata.${String(key)}`;
  return refused(422, param, `${param} ${key === undefined ? "must be an object" : mustBe(String(key))}.`);
}

/** What a metadata key of ours must be, in words that do not repeat what was sent. */
function mustBe(key: string): string {
  switch (key) {
    case "sensitive":
    case "repo_context_present":
    case "repo_free_opt_in":
      return "must be true or false (a JSON boolean, not text)";
    case "reasoning":
      return "must be auto or high";
    case "routing":
      return "must be one of auto, pro, flash, free";
    case "kind":
    case "explicit_route":
    case "risk_level":
    case "blast_radius":
      return `must be one of ${taskShape[key].unwrap().options.join(", ")}`;
    case "estimated_tool_depth":
      return "must be a whole number from 0";
    case "reasoning_requirement":
    case "ambiguity":
    case "dependency_depth":
    case "verification_difficulty":
      return "must be a number from 0 to 1";
    default:
      return "must be 1 to 256 characters of text without control characters";
  }
}
