import type { Json, JsonObject } from "#domain/chat.ts";
import type { EvidenceSource } from "#health/health.ts";
import type { RequestContext } from "#pipeline/request-context.ts";

/** Fields that no answer becomes empty, unreadable or expensive by, whatever they hold. */
const ordinaryFields: ReadonlySet<string> = new Set(
  (
    "model messages stream stream_options tools tool_choice parallel_tool_calls metadata user seed store reasoning " +
    "reasoning_effort verbosity usage prompt_cache_key safety_identifier"
  ).split(" "),
);

/** Ordinary within these bounds: a token or two of output, or noise for a sampler, empties any answer. */
const ordinaryNumbers: { readonly [field: string]: readonly [least: number, most: number] } = {
  max_tokens: [256, Number.MAX_SAFE_INTEGER],
  max_completion_tokens: [256, Number.MAX_SAFE_INTEGER],
  temperature: [0, 1.5],
  top_p: [0.1, 1],
  n: [1, 1],
};

/** Whose evidence the answers to a request are. */
export function evidenceSource({ request, assessment }: RequestContext): EvidenceSource {
  const { caller, key, body } = request;
  // Who stands on the list of keys is known; other tokens anybody can make up.
  const conversation = `${key?.label ?? ""}\n${assessment.conversationKey}`;
  if (isOrdinary(body)) return { caller, conversation, billed: conversation };
  return isOrdinary(body, false) ? { caller, billed: conversation } : { caller };
}

/**
 * Whether the request is of the usual kind, so that an answer that is empty or unreadable can be the model's doing.
 * `bounded`: also its numbers are; without that, none of its fields makes an answer cost more than its hold.
 */
function isOrdinary(body: JsonObject & { readonly messages: readonly JsonObject[] }, bounded = true): boolean {
  for (const field in body) {
    const value: Json | undefined = body[field];
    if (value === null || value === undefined || ordinaryFields.has(field)) continue;
    const bounds = ordinaryNumbers[field];
    if (bounds === undefined) return false;
    if (bounded && (typeof value !== "number" || value < bounds[0] || value > bounds[1])) return false;
  }
  // A model that is to go on with an answer of its own often has nothing to add.
  return body.messages.at(-1)?.["role"] !== "assistant";
}
