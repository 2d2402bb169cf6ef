import type { CallerKey } from "#domain/chat.ts";

/** An endpoint. `common` holds the headers that every response of this request has; `key` is the caller's line of `AUTH_KEYS_FILE`. */
export type Handler = (
  request: Request,
  requestId: string,
  common: Record<string, string>,
  key?: CallerKey,
) => Response | Promise<Response>;

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

export interface Endpoint {
  /** GET stands for HEAD too: the same without its body, which the runtime leaves out. */
  readonly method: "GET" | "POST";
  readonly label: RouteLabel;
  readonly handler: Handler;
  /** Orchestrators ask every few seconds: a 503 is what it has to say, and no rejection. */
  readonly isProbe?: true;
}

/** By path: the router, the 404 and the 405 read the same table. */
export type EndpointTable = Readonly<Record<string, Endpoint>>;

export function jsonResponse(body: unknown, common: Record<string, string>, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...common, "content-type": "application/json" } });
}
