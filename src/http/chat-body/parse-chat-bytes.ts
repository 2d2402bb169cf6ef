import { decodeUtf8 } from "#http/request/read-body.ts";
import { largeBodyBytes } from "#platform/event-loop-turns.ts";
import { type ChatInput, type ParsedChat, parseChatRequest, parseLargeChatRequest } from "./parse-chat.ts";
import { refused } from "./problem.ts";

export interface ChatBytes extends Pick<ChatInput, "maxValues" | "headers" | "requestId" | "receivedAtMs"> {
  /** The body as received; not changed while the request lasts. */
  readonly bytes: Uint8Array;
}

/** A chat request from the bytes of its body and its headers. */
export function parseChatBytes(input: ChatBytes): ParsedChat | Promise<ParsedChat> {
  const { bytes } = input;
  const text = decodeUtf8(bytes);
  if (text === undefined) return refused(400, undefined, "The body is not valid JSON: it is not UTF-8.");
  const whole: ChatInput = { ...input, text, bytes: bytes.length, received: bytes };
  return bytes.length > largeBodyBytes ? parseLargeChatRequest(whole) : parseChatRequest(whole);
}
