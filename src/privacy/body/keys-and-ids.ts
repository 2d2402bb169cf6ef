import type { Scan, Span } from "#privacy/text/spans.ts";

/**
 * Names: keys of objects, and ids that pair one place of a body with another. They are read like text, but nothing can stand
 * in for them: a key is what the upstream looks for, and an id must be the same wherever it stands.
 */

/** Members whose value pairs places with each other, or chooses among values that the API knows. */
export const idKeys: ReadonlySet<string> = new Set(["id", "tool_call_id", "type", "role", "model"]);
/** Members with the function that is called: `name` in them is the one that `tools` declares. */
export const functionCallKeys: ReadonlySet<string> = new Set(["function", "function_call", "custom"]);

/** Names of the API itself, which every body is full of: no rule is asked about them. */
export const apiMemberNames: ReadonlySet<string> = new Set(
  (
    "model messages stream stream_options include_usage temperature top_p top_k min_p n max_tokens max_completion_tokens stop " +
    "tools tool_choice functions function_call parallel_tool_calls response_format user metadata usage provider prediction " +
    "logit_bias logprobs top_logprobs seed reasoning reasoning_effort reasoning_content reasoning_details frequency_penalty " +
    "presence_penalty role content name tool_calls tool_call_id refusal audio annotations id type text function custom " +
    "arguments input index format data signature summary cache_control ephemeral system developer assistant tool " +
    "description parameters properties required additionalProperties items enum strict schema json_schema object string " +
    "integer number boolean array anyOf oneOf allOf default minimum maximum minLength maxLength minItems maxItems pattern"
  ).split(" "),
);

/** Longer names are scanned each time. */
const maxCachedLength = 128;
const maxCachedNames = 16_384;

/** A scan that keeps which names hold nothing: a scan of a random id takes as long as that of a line of text. */
export function cacheCleanNames(scan: Scan): Scan {
  const clean = new Set<string>();
  return (name) => {
    if (clean.has(name)) return noSpans;
    const spans = scan(name);
    if (spans.length > 0 || name.length > maxCachedLength) return spans;
    if (clean.size >= maxCachedNames) clean.clear();
    clean.add(name);
    return noSpans;
  };
}

const noSpans: readonly Span[] = [];
