import type { CallerKey } from "#domain/chat.ts";
import type { HttpError } from "./errors.ts";

/**
 * An endpoint. `common` holds the headers that every response of this request has; `key` is the caller's line of `AUTH_KEYS_FILE`.
 * An error is returned: whoever called answers with it, in the form that the caller reads.
 */
export type Handler = (
  request: Request,
  requestId: string,
  common: Record<string, string>,
  key?: CallerKey,
) => Answer | Promise<Answer>;
export type Answer = Response | HttpError;

/** The endpoints as metrics and log name them. */
export type RouteLabel =
  | "chat_completions"
  | "route_decision"
  | "route_outcome"
  | "route_status"
  | "route_decisions"
  | "models"
  | "dashboard"
  | "other";

/** What is checked before anything of a body is read: the token; whether there is room; and whether the ledger is on time. */
export type Admission = "open" | "token" | "room" | "ledger";

export interface Endpoint {
  /** GET stands for HEAD too: the same without its body, which the runtime leaves out. */
  readonly method: "GET" | "POST";
  readonly label: RouteLabel;
  /** Each includes those before it. */
  readonly admission: Admission;
  readonly handler: Handler;
  /** Orchestrators ask every few seconds: a 503 is what it has to say, and no rejection. */
  readonly isProbe?: boolean;
}

/** By path: the router, the 404 and the 405 read the same table. */
export type EndpointTable = Readonly<Record<string, Endpoint>>;

export function jsonResponse(body: unknown, common: Record<string, string>, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...common, "content-type": "application/json" } });
}
