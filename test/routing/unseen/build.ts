import type { JsonObject } from "#domain/chat.ts";

/** How a request is to be read. */
export interface Reading {
  /** `ask`: new work; `turn`: a further turn of earlier work, compaction included; otherwise the kind of housekeeping. */
  readonly is: "ask" | "turn" | "housekeeping";
  /** The user's words, without their envelope. */
  readonly ask?: string;
  readonly guarded?: boolean;
  /** Whether the newest result of a tool is a failure. */
  readonly failed?: boolean;
}

export interface Request extends Reading {
  readonly from: string;
  readonly messages: readonly JsonObject[];
  readonly tools?: readonly string[];
}

export const system = (content: string): JsonObject => ({ role: "system", content });
export const user = (content: string): JsonObject => ({ role: "user", content });
export const assistant = (content: string): JsonObject => ({ role: "assistant", content });

let calls = 0;
/** A call of a tool and its result. */
export function used(name: string, args: JsonObject, result: string): JsonObject[] {
  const id = `call_${++calls}`;
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
  return [
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: id, content: result },
  ];
}

export const guardedAsk =
  "Revoke every refresh token issued before May and let logout invalidate the session in production.";
export const plainAsk = "Add a --json flag to the export command and mention it in the usage text.";
