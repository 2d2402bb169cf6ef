/** An endpoint. `common` holds the headers that every response of this request has. */
export type Handler = (
  request: Request,
  requestId: string,
  common: Record<string, string>,
) => Response | Promise<Response>;

/** path → method → handler: the router, the 404 and the 405 read the same table. */
export type EndpointTable = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

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

export function jsonResponse(body: unknown, common: Record<string, string>, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...common, "content-type": "application/json" } });
}
