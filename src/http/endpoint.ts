import type { CallerKey } from "#domain/chat.ts";
import type { HttpError } from "./errors.ts";

/** What the checks of a request have found, for its handler. */
export interface HttpContext {
  /** The caller's own, or a new one. */
  readonly requestId: string;
  /** What every answer to this request has. */
  readonly headers: Record<string, string>;
  /** The line of the caller's token in `AUTH_KEYS_FILE`, where it has a label. */
  key?: CallerKey | undefined;
}

/** One thing that is checked before anything of a body is read: why the request is refused, if it is. */
export type Check = (request: Request, context: HttpContext) => HttpError | undefined;

/** An error is returned: the server answers with it, in the form that the caller reads. */
export type Handler = (request: Request, context: HttpContext) => Answer | Promise<Answer>;
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

export interface Endpoint {
  /** GET stands for HEAD too: the same without its body, which the runtime leaves out. */
  readonly method: "GET" | "POST";
  readonly label: RouteLabel;
  /** In their order; the first that refuses is the last. */
  readonly checks: readonly Check[];
  readonly handler: Handler;
  /** Orchestrators ask every few seconds: a 503 is what it has to say, and no rejection. */
  readonly isProbe?: boolean;
}

/** By path: the router, the 404 and the 405 read the same table. */
export type EndpointTable = Readonly<Record<string, Endpoint>>;

export function jsonResponse(body: unknown, common: Record<string, string>, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...common, "content-type": "application/json" } });
}
