import type { Json } from "#domain/chat.ts";

/** The words that the format knows. */
const formatWords = ["stop", "length", "tool_calls", "function_call", "content_filter"] as const;
export type FinishReason = (typeof formatWords)[number];

const known: ReadonlySet<Json | undefined> = new Set(formatWords);

/**
 * What makers say instead, by a part of the word without its separators and in lower case: `end_turn`, `END-TURN` and
 * `endTurn` are one. The first row that matches counts; a word of no row ends an answer as `stop` does. The last column
 * is where it was seen.
 */
const dialects: readonly (readonly [part: string, meaning: FinishReason | "none" | "failure", seenAt: string])[] = [
  ["unspecified", "none", "Gemini: FINISH_REASON_UNSPECIFIED"],
  ["notfinished", "none", "watsonx: not_finished"],
  ["inprogress", "none", "proxies of OpenAI's Responses: in_progress"],
  ["toxic", "content_filter", "Cohere: ERROR_TOXIC"],
  ["errorlimit", "length", "Cohere: ERROR_LIMIT"],
  ["ratelimit", "failure", "one-api and others that pass an error's code on"],
  ["malformed", "failure", "Gemini: MALFORMED_FUNCTION_CALL, function_call_filter: MALFORMED_FUNCTION_CALL"],
  ["unexpected", "failure", "Gemini: UNEXPECTED_TOOL_CALL"],
  ["toomany", "failure", "Gemini: TOO_MANY_TOOL_CALLS"],
  ["error", "failure", "OpenRouter: error; Zhipu: network_error; SiliconFlow: error_finish"],
  ["fail", "failure", "proxies of OpenAI's Responses: failed"],
  ["abort", "failure", "vLLM and SGLang: abort"],
  ["cancel", "failure", "watsonx: cancelled; Cohere: USER_CANCEL"],
  ["interrupt", "failure", "LM Studio: interrupted"],
  ["overload", "failure", "Moonshot: engine_overloaded"],
  ["insufficient", "failure", "DeepSeek: insufficient_system_resource"],
  ["unavailable", "failure", "Google: UNAVAILABLE"],
  ["timeout", "failure", "LiteLLM and proxies: timeout"],
  ["exception", "failure", "Bedrock proxies: modelStreamErrorException"],
  ["filter", "content_filter", "Bedrock: content_filtered; Gemini: content_filter: SAFETY"],
  ["safety", "content_filter", "Gemini: SAFETY, IMAGE_SAFETY"],
  ["recitation", "content_filter", "Gemini: RECITATION"],
  ["block", "content_filter", "Gemini: BLOCKLIST"],
  ["prohibited", "content_filter", "Gemini: PROHIBITED_CONTENT"],
  ["spii", "content_filter", "Gemini: SPII"],
  ["sensitive", "content_filter", "Zhipu: sensitive"],
  ["guardrail", "content_filter", "Bedrock: guardrail_intervened"],
  ["moderat", "content_filter", "one-api: moderation"],
  ["refus", "content_filter", "Anthropic: refusal"],
  ["length", "length", "Mistral: model_length"],
  ["limit", "length", "watsonx: token_limit, time_limit"],
  ["max", "length", "Anthropic: max_tokens; Gemini: MAX_TOKENS; OpenAI's Responses: max_output_tokens"],
  ["contextwindow", "length", "Anthropic and Zhipu: model_context_window_exceeded"],
  ["incomplete", "length", "proxies of OpenAI's Responses: incomplete"],
  ["tool", "tool_calls", "Anthropic: tool_use; Cohere: TOOL_CALL; Ollama: tool_call"],
  ["functioncall", "tool_calls", "Baidu: function_calls"],
];

/** Longer words are cut: they are no words. */
const maxLength = 64;

/** What a finish reason means. None: the answer goes on, as with `null`, `""`, `"null"` and all that is no text. */
export function finishMeaning(value: Json | undefined): FinishReason | "none" | "failure" {
  if (value === null || value === undefined || typeof value !== "string") return "none";
  if (known.has(value)) return value as FinishReason; // it is one of them
  const word = value
    .slice(0, maxLength)
    .toLowerCase()
    .replace(/[^a-z]+/g, "");
  if (word === "" || word === "null" || word === "none") return "none";
  if (word === "functioncall") return "function_call";
  return dialects.find(([part]) => word.includes(part))?.[1] ?? "stop";
}
