import type { JsonObject } from "#domain/chat.ts";

/** What a chat template may add around one message (role marks, separators), in tokens; generous. */
const tokensPerMessage = 8;
/** What a chat template may add around the whole prompt, in tokens. */
const tokensPerRequest = 64;

/**
 * No tokenizer makes more input tokens of this body: a token of a byte-level tokenizer covers at least one byte, so the
 * UTF-8 bytes of everything sent, and what chat templates add, bound the prompt from above.
 *
 * The bytes are counted on the serialized body, which is all text sent plus its JSON: escapes only make it longer, and no
 * text is in the prompt that is not in the body. That one number covers every field, also those the gateway does not know.
 */
export function inputBoundOf(body: JsonObject): number {
  const messages = Array.isArray(body["messages"]) ? body["messages"].length : 0;
  return Buffer.byteLength(JSON.stringify(body), "utf8") + tokensPerMessage * messages + tokensPerRequest;
}
