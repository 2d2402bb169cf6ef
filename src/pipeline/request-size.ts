import { type ChatRequest, isObject } from "#domain/chat.ts";
import type { Surcharge } from "#domain/money/money.ts";
import { outputLimitsIn } from "#domain/output-limits.ts";
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
  const { otherOutputTokens, reasoningTokens, otherChoices = 0 } = outputLimitsIn(body);
  if (otherOutputTokens !== undefined) size.otherOutputTokens = otherOutputTokens;
  if (reasoningTokens !== undefined) size.reasoningTokens = reasoningTokens;
  if (otherChoices > size.choices) size.choices = otherChoices;
  // A token that was predicted and not used is billed as output; it is at least a byte of the prediction.
  if (isObject(body["prediction"])) size.predictedTokens = Buffer.byteLength(JSON.stringify(body["prediction"]));
  if (request.surcharge !== undefined) size.surcharge = request.surcharge;
  return size;
}
