import type { ChatRequest } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { BodyMemory } from "#http/chat-body/memory/body-memory.ts";
import type { ParsedChat } from "#http/chat-body/parse-chat.ts";
import { parseChatBytes } from "#http/chat-body/parse-chat-bytes.ts";

/** What the tests of known parts of bodies send, and how they read it. */

export const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
export const model = { key: "vendor_v4_flash", upstreamId: "vendor/v4-flash" } as Model; // the fields that are read
export const line = "export const total = orders.map((order) => order.price).reduce(add, 0);\n";

export function parsed(json: string | Uint8Array, memory: BodyMemory, maxValues = 100_000): ParsedChat {
  const bytes = typeof json === "string" ? Buffer.from(json) : json;
  const result = parseChatBytes({ bytes, maxValues, headers: new Headers(), requestId: "r", receivedAtMs: 0 }, memory);
  if (result instanceof Promise) throw new Error("unreachable: the bodies of these tests are not large");
  return result;
}

export function requestIn(json: string, memory: BodyMemory): ChatRequest {
  const result = parsed(json, memory);
  if (result.kind !== "ok") throw new Error(result.detail);
  return result.request;
}

/** All parts of a request, as a comparable value. */
export function comparable(result: ParsedChat): unknown {
  if (result.kind !== "ok") return result;
  const { body, received, ...rest } = result.request;
  const places = received && { members: [...received.members], messages: received.messages };
  return { ...rest, body: JSON.stringify(body), places };
}
