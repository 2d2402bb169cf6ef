import { isObject, type Json, type JsonObject } from "#domain/chat.ts";

/** A whole completion as the one chunk of a stream: each message becomes a delta, each tool call gets its index. */
export function chunkOf(completion: JsonObject): JsonObject {
  const choices = Array.isArray(completion["choices"]) ? completion["choices"] : [];
  return {
    ...completion,
    object: "chat.completion.chunk",
    choices: choices.filter(isObject).map((choice, index) => {
      const { message, ...rest } = choice;
      return { index, ...rest, delta: deltaOf(message), finish_reason: choice["finish_reason"] ?? "stop" };
    }),
  };
}

function deltaOf(message: Json | undefined): JsonObject {
  if (!isObject(message)) return {};
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: calls.map((call, index) => (isObject(call) ? { index, ...call } : call)) };
}
