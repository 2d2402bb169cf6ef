import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { Permit, Verdict } from "#health/health.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import { FilteredPermit } from "./filtered-permit.ts";

/**
 * What one request may say about a model's health. A model that is taken out is out for everybody, for half an hour or more in
 * the worst case: what a caller can bring about by the request itself is no evidence against the model.
 */

/** Fields that no answer becomes empty, unreadable or expensive by, whatever they hold. */
const ordinaryFields: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "metadata",
  "user",
  "seed",
  "store",
  "reasoning",
  "reasoning_effort",
  "verbosity",
  "usage",
  "prompt_cache_key",
  "safety_identifier",
]);

/** Fields that are ordinary within these bounds: a token or two of output, or noise for a sampler, empties any answer. */
const ordinaryNumbers: { readonly [field: string]: readonly [least: number, most: number] } = {
  max_tokens: [256, Number.MAX_SAFE_INTEGER],
  max_completion_tokens: [256, Number.MAX_SAFE_INTEGER],
  temperature: [0, 1.5],
  top_p: [0.1, 1],
  n: [1, 1],
};

/** Whether the request is of the usual kind, so that an answer that is empty, unreadable or too expensive is the model's doing. */
export function isOrdinary(body: JsonObject & { readonly messages: readonly JsonObject[] }): boolean {
  for (const field in body) {
    const value: Json | undefined = body[field];
    if (value === null || value === undefined || ordinaryFields.has(field)) continue;
    const bounds = ordinaryNumbers[field];
    if (bounds === undefined || typeof value !== "number" || value < bounds[0] || value > bounds[1]) return false;
  }
  // A model that is to go on with an answer of its own often has nothing to add.
  return body.messages.at(-1)?.["role"] !== "assistant";
}

/** Share of the context window from which the caller's prompt, and not the model, is taken to be why it took too long. */
const fullContextShare = 0.9;

/**
 * A permit whose verdicts leave out what the request itself may have caused; the same permit where there is nothing to leave
 * out. It holds no part of the request.
 */
export function ignoreCallerFaults(
  permit: Permit,
  model: Model,
  request: { readonly body: JsonObject & { messages: JsonObject[] }; readonly size: RequestSize },
): Permit {
  const ordinary = isOrdinary(request.body);
  const fillsContext = request.size.inputTokensEstimate >= fullContextShare * model.contextTokens;
  return ordinary && !fillsContext ? permit : new FilteredPermit(permit, withoutCallerFaults(ordinary, fillsContext));
}

/** Beside `ignoreCallerFaults`, so that the function it returns cannot keep the request. */
function withoutCallerFaults(ordinary: boolean, fillsContext: boolean): (verdict: Verdict) => Verdict {
  const byCaller = (verdict: Verdict): boolean => {
    if (verdict.kind === "garbage" || verdict.kind === "price_breach") return !ordinary;
    return fillsContext && verdict.kind === "failure" && verdict.reason.startsWith("timed_out");
  };
  return (verdict) => (byCaller(verdict) ? { kind: "ignored" } : verdict);
}

/** Whether a 4xx says that the model itself is unknown: only then the model is missing, and it is not the request's fault. */
export function namesUnknownModel({ status, message }: UpstreamFailure, upstreamId: string): boolean {
  if (status !== 404 && status !== 400) return false;
  const id = upstreamId.toLowerCase();
  // Anchored at both sides of the id: aggregators also answer 404 when no host of a known model fits the request ("No
  // endpoints found that support tool use"), and an error may quote what the caller wrote.
  const said = message.toLowerCase().replace(/["'`‘’“”]/g, "");
  return (
    said.replace(/\.$/, "") === `no endpoints found for ${id}` ||
    said.startsWith(`${id} is not a valid model`) ||
    said.startsWith(`model ${id} not found`) ||
    said.startsWith(`model not found: ${id}`) ||
    said.startsWith(`unknown model: ${id}`) ||
    new RegExp(`^(the |error: )?model:? ${escaped(id)} (does not exist|is not found|was not found)`).test(said)
  );
}

/** Whether a 402 or 403 speaks of this request (flagged by moderation, more output than the credit allows), not of our account. */
export function refusesThisRequest({ status, message }: UpstreamFailure): boolean {
  if (status === 403) return /\bmoderation\b|\bflagged\b/i.test(message);
  return status === 402 && /\bfewer max_tokens\b|\bcan only afford\b/i.test(message);
}

function escaped(text: string): string {
  return text.replace(/[^\w-]/g, "\\$&");
}

/** Whether a choice was ended by something else than the model's own stop: then that it is empty proves nothing. */
export function endedByLimit(choice: unknown): boolean {
  const reason = isObject(choice) ? choice["finish_reason"] : undefined;
  return typeof reason === "string" && reason !== "stop";
}
