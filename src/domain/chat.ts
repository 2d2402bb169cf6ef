import type { NanoUsd, Surcharge } from "./money/money.ts";
import type { Alias, RoutingTask } from "./routing.ts";

/** JSON as it came over the wire. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** Whether JSON that nobody has checked is an object, and neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const messageRoles = ["system", "developer", "user", "assistant", "tool", "function"] as const;
export type MessageRole = (typeof messageRoles)[number];

/** Whether a message of this role is the program's own. Newer models take `developer` for what was `system`. */
export function isSystemRole(role: MessageRole | undefined): boolean {
  return role === "system" || role === "developer";
}

/**
 * One chat message, validated in shape at the edge: a known role, content that is text, text parts, null or absent.
 * All other fields are the caller's and travel unchanged.
 */
export interface ChatMessage extends JsonObject {
  role: MessageRole;
}

/** A chat completion request as the edge hands it on: the whole body, and the gateway's own fields already parsed. */
export interface ChatRequest {
  readonly requestId: string;
  readonly alias: Alias;
  readonly stream: boolean;
  /** A number for the bearer token, the same for all requests with it; it says nothing of the token. */
  readonly caller: number;
  /** The token's line in `AUTH_KEYS_FILE`, where it has a label. */
  readonly key?: CallerKey;
  /** The body as sent, never changed in place. Some messages are parsed when they are read (`wholeMessage`). */
  readonly body: JsonObject & { messages: ChatMessage[] };
  /** The bytes of the body, where what is sent on may be made of them. */
  readonly received?: ReceivedBody;
  /** The body's size in bytes. The text that is sent on of it is not longer. */
  readonly bodyBytes: number;
  /** The larger of `max_completion_tokens` and `max_tokens`, as either may bind; null when neither is above 0. */
  readonly requestedOutputTokens: number | null;
  /** The larger of `n` and `best_of`, at least 1: how many answers are written, and billed. */
  readonly choices: number;
  /** `cache_control` occurs in the body: the upstream may write the prompt to its cache and charge for that. */
  readonly writesCache?: true;
  /** Set by the pipeline where a field goes out that may change the price. */
  readonly surcharge?: Surcharge;
  /** Whether the caller asked for the usage chunk (`stream_options.include_usage`, or `usage.include`). */
  readonly wantsUsage: boolean;
  readonly routing: GatewayFields;
  /** What calls made for it have as their parent; absent where nothing is traced. */
  readonly trace?: TraceContext;
  readonly receivedAtMs: number;
}

/** The place of a piece of work in a distributed trace, as its W3C headers say it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** What an operator has written beside a token: its name in records and metrics, and its limits. */
export interface CallerKey {
  readonly label: string;
  /** What all requests with the label may spend in a UTC day. */
  readonly dayHard?: NanoUsd;
  /** Requests a minute; every process counts for itself. */
  readonly rpm?: number;
  /** From then on it is refused, in milliseconds since the Unix epoch. */
  readonly expiresMs?: number;
}

/** The label of a key that has a cap of its own, and so an account. */
export function cappedLabel(key: CallerKey | undefined): string | undefined {
  return key?.dayHard === undefined ? undefined : key.label;
}

/** The bytes of a body, and where its members and messages stand in them, where these say just what was parsed. */
export interface ReceivedBody {
  readonly bytes: Uint8Array;
  readonly parsed: ChatRequest["body"];
  /** By name, in the order of the body. From the quote before the name to what follows the value. */
  readonly members: ReadonlyMap<string, ByteRange & { readonly index: number }>;
  /** Undefined for a message that has to be written anew. */
  readonly messages: readonly (ByteRange | undefined)[];
}

/** `[from, to)`; white space may be included. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** What headers and `metadata` say to the gateway, parsed, header before metadata. Absent means not said. */
export interface GatewayFields {
  readonly sessionId?: string;
  readonly goalId?: string;
  readonly taskId?: string;
  readonly repoId?: string;
  readonly sensitive?: boolean;
  readonly reasoning?: "auto" | "high";
  readonly routingHint?: "auto" | "pro" | "flash" | "free";
  /** `X-Pro: true`. */
  readonly forcePro: boolean;
  /** `X-Scout: true`. */
  readonly scoutFirst: boolean;
  /** `X-Smart-Gateway-Explain: true`: the answer is to carry its decision. */
  readonly explain?: true;
  readonly failureClass?: "NONE" | "LOCAL" | "STRUCTURAL";
  readonly sameErrorCount?: number;
  /** Routing-task fields given in `metadata` (`kind`, `risk_level`, …); they override what is inferred. */
  readonly taskFields: Partial<
    Omit<RoutingTask, "task_id" | "goal_id" | "instruction" | "metadata" | "sensitive" | "reasoning">
  >;
}

/** Routing-task fields that `metadata` may carry beside the gateway's own keys. */
export const metadataTaskFields = [
  "kind",
  "explicit_route",
  "repo_context_present",
  "repo_free_opt_in",
  "risk_level",
  "blast_radius",
  "reasoning_requirement",
  "ambiguity",
  "dependency_depth",
  "verification_difficulty",
  "estimated_tool_depth",
] as const satisfies readonly (keyof GatewayFields["taskFields"])[];

/** The keys of `metadata` that speak to the gateway. They are read here and never travel upstream. */
export const gatewayMetadataKeys: ReadonlySet<string> = new Set([
  "sensitive",
  "reasoning",
  "routing",
  "session_id",
  "goal_id",
  "task_id",
  "repo_id",
  ...metadataTaskFields,
]);
