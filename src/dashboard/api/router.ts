import type { z } from "zod";
import type { DashboardAccess, Operator } from "#dashboard/access/access.ts";
import { type DashboardEndpoint, dashboardApi } from "#dashboard/api-schema.ts";
import { jsonResponse } from "#http/endpoint.ts";
import { errorResponse, type HttpError } from "#http/errors.ts";
import { isJsonContentType } from "#http/request/headers.ts";
import { readBody } from "#http/request/read-body.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { Timers } from "#platform/time.ts";
import { type ApiHandlers, ApiProblem } from "./endpoint.ts";
import { type EventStream, openEventStream } from "./event-stream.ts";

/** Calls that are answered at once; a page makes some ten. */
const maxCalls = 64;
/** Streams at once, over all pages. */
const maxStreams = 64;
const maxBodyBytes = 2 * 1_048_576;

export interface ApiRouterOptions {
  readonly access: DashboardAccess;
  readonly endpoints: ApiHandlers;
  readonly timers: Timers;
  readonly connection: Pick<ServerConnection, "bodies" | "liftIdleTimeout">;
}

/** The table's entry for an endpoint, without its types. */
interface Endpoint {
  readonly method: string;
  readonly path: RegExp;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly events?: z.ZodType;
  readonly handler: (call: AnyCall, stream?: EventStream<never>) => unknown;
}

interface AnyCall {
  readonly operator: Operator;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  readonly lastEventId: string | undefined;
}

/** Finds the endpoint of a call, checks what it was given, and answers as JSON or as a stream. */
export class ApiRouter {
  readonly #options: ApiRouterOptions;
  readonly #endpoints: readonly Endpoint[];
  #calls = 0;
  #streams = 0;

  constructor(options: ApiRouterOptions) {
    this.#options = options;
    this.#endpoints = Object.entries(dashboardApi).map(([name, { about: _, ...schemas }]) => {
      const [method = "", path = ""] = name.split(" ");
      // The handler takes what its schemas let through; `ApiHandlers` has checked that they fit together.
      const handler = options.endpoints[name as DashboardEndpoint] as Endpoint["handler"];
      return { method, path: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`), handler, ...schemas };
    });
  }

  /** `path`: behind `/dashboard/api/`, as sent. */
  async answer(
    path: string,
    search: URLSearchParams,
    request: Request,
    operator: Operator,
    common: Record<string, string>,
  ): Promise<Response> {
    const headers = { ...common, "cache-control": "no-store" };
    const refuse = (error: HttpError) => errorResponse(error, request, headers);
    const method = request.method === "HEAD" ? "GET" : request.method;
    const found = this.#endpoints.filter((one) => one.path.test(path));
    // The table names `decisions/live` before `decisions/{id}`.
    const endpoint = found.find((one) => one.method === method);
    if (endpoint === undefined) return refuse(notServed(method, found));
    if (method !== "GET") {
      const problem = this.#options.access.writeProblem(request, operator);
      if (problem !== undefined) return refuse(problem);
    }
    if (this.#calls >= maxCalls) return refuse(busy);
    this.#calls += 1;
    try {
      const params = decoded(endpoint.path.exec(path)?.groups ?? {});
      // A filter with a typing error in its name would show everything; an empty value counts as absent.
      const given = () => Object.fromEntries([...search].filter(([, value]) => value !== ""));
      const query = endpoint.query && parsed(endpoint.query.strict(), given(), "the query");
      const body = endpoint.body && parsed(endpoint.body, await this.#json(request), "the body");
      const lastEventId = request.headers.get("last-event-id") ?? undefined;
      const call = { operator, params, query, body, lastEventId };
      if (endpoint.events !== undefined) return this.#stream(endpoint, call, request, headers);
      return jsonResponse(await endpoint.handler(call), headers);
    } catch (error) {
      if (error instanceof ApiProblem) return refuse(error.error);
      throw error;
    } finally {
      this.#calls -= 1;
    }
  }

  async #json(request: Request): Promise<unknown> {
    const body = await readBody(request, maxBodyBytes, this.#options.connection.bodies);
    if (body.kind === "refused") {
      const { status, detail, code } = body.error;
      throw new ApiProblem(status, status === 413 ? `The body is larger than ${maxBodyBytes} bytes.` : detail, code);
    }
    if (body.kind !== "ok") throw new ApiProblem(422, "The body did not arrive whole, as UTF-8.");
    body.held.release();
    if (!isJsonContentType(request.headers)) throw new ApiProblem(422, "Content-Type must be application/json.");
    try {
      return JSON.parse(body.text === "" ? "{}" : body.text);
    } catch {
      throw new ApiProblem(422, "The body is not valid JSON."); // the parser's message quotes the body
    }
  }

  #stream(endpoint: Endpoint, call: AnyCall, request: Request, common: Record<string, string>): Response {
    // A proxy that buffers answers would hold the events back.
    const headers = { ...common, "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
    if (request.method === "HEAD") return new Response(null, { headers }); // its body would never be read
    if (this.#streams >= maxStreams) throw new ApiProblem(503, "Too many live feeds are open.", "overloaded");
    this.#streams += 1;
    let stop: unknown;
    let closed = false;
    const onClose = () => {
      this.#streams -= 1;
      closed = true;
      if (typeof stop === "function") stop();
    };
    const stream = openEventStream<never>({ timers: this.#options.timers, signal: request.signal, onClose });
    this.#options.connection.liftIdleTimeout(request);
    stop = endpoint.handler(call, stream);
    if (closed && typeof stop === "function") stop();
    return new Response(stream.body, { headers });
  }
}

const busy: HttpError = {
  status: 503,
  detail: "The dashboard is answering as many calls as it may. Try again shortly.",
  code: "overloaded",
  headers: { "retry-after": "1" },
};

function notServed(method: string, found: readonly Endpoint[]): HttpError {
  if (found.length === 0) {
    return { status: 404, detail: "The dashboard's API has nothing at this path.", code: "not_found" };
  }
  const allow = [...new Set(found.map((one) => one.method))].join(", ");
  const detail = `This path does not take ${method}; it takes ${allow}.`;
  return { status: 405, detail, code: "method_not_allowed", headers: { allow } };
}

function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    throw new ApiProblem(404, "The dashboard's API has nothing at this path.", "not_found");
  }
}

/** What a caller gave, as the schema has it. Throws what is wrong with it, by field. */
function parsed(schema: z.ZodType, given: unknown, whole: string): unknown {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues
    .slice(0, 8)
    .map(({ path, message }) => `${path.length === 0 ? whole : path.map(String).join(".")}: ${message}`);
  throw new ApiProblem(422, problems.join("; "));
}
