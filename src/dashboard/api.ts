import type { z } from "zod";
import { errorOf } from "#domain/errors.ts";
import { jsonResponse } from "#http/endpoint.ts";
import { readJson } from "#http/request/read-body.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { Operator } from "#operator/audit.ts";
import { isDefect } from "#operator/problem.ts";
import type { OperatorSources } from "#operator/sources.ts";
import type { Timers } from "#platform/time.ts";
import { type Call, type Endpoint, Refusal, refusalOf, wrongMethod } from "./endpoint.ts";
import { budgetEndpoints } from "./endpoints/budgets.ts";
import { decisionEndpoints } from "./endpoints/decisions.ts";
import { modelEndpoints } from "./endpoints/models.ts";
import { nowEndpoints } from "./endpoints/now.ts";
import { playgroundEndpoints } from "./endpoints/playground.ts";
import { policyEndpoints } from "./endpoints/policy.ts";
import { type EventStream, openEventStream } from "./event-stream.ts";

/**
 * Every endpoint under `/dashboard/api/`, by method and path: for the server, the page's types and the reference. `{…}`
 * in a path is one segment, URL-encoded. The first that fits a call serves it.
 */
export function dashboardEndpoints(sources: OperatorSources) {
  return {
    ...nowEndpoints(sources),
    ...decisionEndpoints(sources),
    ...budgetEndpoints(sources),
    ...modelEndpoints(sources),
    ...policyEndpoints(sources),
    ...playgroundEndpoints(sources),
  };
}

export type DashboardApi = ReturnType<typeof dashboardEndpoints>;
export type DashboardEndpoint = keyof DashboardApi;

/** What an endpoint answers; its events where it streams. */
export type AnswerOf<E extends DashboardEndpoint> =
  DashboardApi[E] extends Endpoint<z.ZodObject, z.ZodType, infer A> ? A : never;
/** What a caller may write into the query. */
export type QueryOf<E extends DashboardEndpoint> = z.input<NonNullable<DashboardApi[E]["query"]>>;
/** What a caller sends as body. */
export type BodyOf<E extends DashboardEndpoint> = z.input<NonNullable<DashboardApi[E]["body"]>>;

/** Streams at once, over all pages. */
const maxStreams = 64;
const maxBodyBytes = 2 * 1_048_576;

/** An endpoint without its types: it is given what its schemas let through. */
interface AnyEndpoint {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  answer?(call: Call): unknown;
  events?(call: Call, stream: EventStream<never>): () => void;
}

/** Answers calls as JSON or as a stream. `path`: behind `/dashboard/api/`, as sent. Throws a `Refusal` of what cannot be served. */
export function apiRouter(
  endpoints: Readonly<Record<string, AnyEndpoint>>,
  timers: Timers,
  connection: Pick<ServerConnection, "bodies" | "liftIdleTimeout">,
) {
  const routes = Object.entries(endpoints).map(([name, endpoint]) => {
    const [method = "", path = ""] = name.split(" ");
    return { method, path: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`), endpoint };
  });
  let streams = 0;

  const find = (path: string, method: string) => {
    const found = routes.filter((one) => one.path.test(path));
    if (found.length === 0)
      throw new Refusal(errorOf("not_found.dashboard", { problem: "The dashboard's API has nothing at this path." }));
    // The table names `decisions/live` before `decisions/{id}`.
    const route = found.find((one) => one.method === method);
    if (route === undefined) throw wrongMethod("This path does", method, [...new Set(found.map((one) => one.method))]);
    try {
      const groups = Object.entries(route.path.exec(path)?.groups ?? {});
      const params = Object.fromEntries(groups.map(([name, value]) => [name, decodeURIComponent(value)]));
      return { endpoint: route.endpoint, params };
    } catch {
      throw new Refusal(errorOf("not_found.dashboard", { problem: "The path is not encoded as a URL." }));
    }
  };

  const readBody = async (request: Request): Promise<unknown> => {
    const body = await readJson(request, maxBodyBytes, connection.bodies);
    if ("value" in body) return body.value;
    const detail = `The body is larger than ${maxBodyBytes} bytes.`;
    throw new Refusal(body.status === 413 ? { ...body, detail } : body);
  };

  const openStream = (endpoint: AnyEndpoint, call: Call, request: Request, common: Record<string, string>) => {
    // A proxy that buffers answers would hold the events back.
    const headers = { ...common, "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
    if (request.method === "HEAD") return new Response(null, { headers }); // its body would never be read
    if (streams >= maxStreams) throw new Refusal(errorOf("overloaded.feeds"));
    streams += 1;
    const closed = Promise.withResolvers<void>();
    const stream = openEventStream<never>(timers, request.signal, closed.resolve);
    connection.liftIdleTimeout(request);
    const stop = endpoint.events?.(call, stream);
    void closed.promise.then(() => {
      streams -= 1;
      stop?.();
    });
    return new Response(stream.body, { headers });
  };

  const answer = async (path: string, request: Request, operator: Operator, headers: Record<string, string>) => {
    const { endpoint, params } = find(path, request.method === "HEAD" ? "GET" : request.method);
    // A filter with a typing error in its name would show everything; an empty value counts as absent.
    const { searchParams } = new URL(request.url, "http://gateway");
    const given = Object.fromEntries([...searchParams].filter(([, value]) => value !== ""));
    const query = endpoint.query && parsed(endpoint.query.strict(), given, "the query");
    const body = endpoint.body && parsed(endpoint.body, await readBody(request), "the body");
    const call = { operator, params, query, body, lastEventId: request.headers.get("last-event-id") ?? undefined };
    if (endpoint.events !== undefined) return openStream(endpoint, call, request, headers);
    return jsonResponse(await endpoint.answer?.(call), headers);
  };
  return (...call: Parameters<typeof answer>) =>
    answer(...call).catch((error: unknown) => {
      // Defects are the server's to report. What else is thrown comes from a store; its message may hold an address.
      if (isDefect(error)) throw error;
      throw refusalOf(error) ?? new Refusal(errorOf("store_unavailable"));
    });
}

/** What a caller gave, as the schema has it. Throws what is wrong with it, by field. */
function parsed(schema: z.ZodType, given: unknown, whole: string): unknown {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues
    .slice(0, 8)
    .map(({ path, message }) => `${path.length === 0 ? whole : path.map(String).join(".")}: ${message}`);
  throw new Refusal(errorOf("invalid_request.fields", { problem: problems.join("; ") }));
}
