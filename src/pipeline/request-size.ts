import { type ChatRequest, isObject, type JsonObject } from "#domain/chat.ts";
import { otherOutputLimits } from "#domain/guarded-fields.ts";
import type { Surcharge } from "#domain/money/money.ts";
import { numberOf } from "#domain/raw-json.ts";
import type { Writable } from "#domain/writable.ts";

/** What bounds the cost of a request, together with a model's prices. */
export interface RequestSize {
  /** No tokenizer can make more tokens of it: bytes of all text sent + 8 per message + 64. Bounds the hold. */
  readonly inputTokensBound: number;
  /** A calibrated guess, for the soft cap and for display, never above the bound. */
  readonly inputTokensEstimate: number;
  /** What the caller allows; null: the model's default. */
  readonly requestedOutputTokens: number | null;
  /** The largest output limit under another name than the two that are standard. Default 0. */
  readonly otherOutputTokens?: number;
  /** Tokens that the caller grants to reasoning alone. Default 0. */
  readonly reasoningTokens?: number;
  /** Output tokens that are billed beyond any limit: those of a prediction that the answer does not use. Default 0. */
  readonly predictedTokens?: number;
  readonly choices: number;
  /** It asks the upstream to write to its prompt cache (`cache_control`), which can cost more than plain input. */
  readonly writesCache?: boolean;
  readonly surcharge?: Surcharge;
}

/** Bytes that a placeholder may be longer than what it replaces. */
const bytesPerRedaction = 96;
/** Bytes of JSON in a body that mean one token, on the average of prose and code; for display and the soft cap only. */
const bytesPerToken = 4;

/** Taken from the body's size as received, which is at least its text: nothing is counted twice on the hot path. */
export function requestSizeOf(request: ChatRequest, redactions: number): RequestSize {
  const bytes = request.bodyBytes + bytesPerRedaction * redactions;
  const messages = request.body.messages.length;
  const { body } = request;
  const size: Writable<RequestSize> = {
    inputTokensBound: bytes + 8 * messages + 64,
    inputTokensEstimate: Math.ceil(bytes / bytesPerToken) + 4 * messages,
    requestedOutputTokens: request.requestedOutputTokens,
    choices: request.choices,
  };
  // Rare, so absent is the usual: a request is one shape more seldom than it pays to write zeros.
  if (request.writesCache === true) size.writesCache = true;
  const other = largestOf(body, otherOutputLimits);
  if (other > 0) size.otherOutputTokens = other;
  const reasoning = reasoningTokensIn(body);
  if (reasoning > 0) size.reasoningTokens = reasoning;
  // A token that was predicted and not used is billed as output; it is at least a byte of the prediction.
  if (isObject(body["prediction"])) size.predictedTokens = Buffer.byteLength(JSON.stringify(body["prediction"]));
  if (request.surcharge !== undefined) size.surcharge = request.surcharge;
  return size;
}

/** What a caller grants to reasoning alone, under any of the names in use; 0 when it grants nothing of its own. */
function reasoningTokensIn(body: JsonObject): number {
  const { reasoning, thinking } = body;
  return Math.max(
    isObject(reasoning) ? largestOf(reasoning, ["max_tokens"]) : 0,
    isObject(thinking) ? largestOf(thinking, ["budget_tokens"]) : 0,
    largestOf(body, ["thinking_budget"]),
  );
}

function largestOf(object: JsonObject, names: readonly string[]): number {
  let largest = 0;
  for (const name of names) {
    // A server that is not strict takes a number in quotes for a number.
    const amount = numberOf(object[name]) ?? 0;
    if (amount > largest) largest = Math.min(Math.ceil(amount), Number.MAX_SAFE_INTEGER);
  }
  return largest;
}
