import type { z } from "zod";
import type { DashboardAccess, Operator } from "#dashboard/access/access.ts";
import { type DashboardEndpoint, dashboardApi } from "#dashboard/api-schema.ts";
import { EventBody, type EventStream } from "#dashboard/live/event-stream.ts";
import { jsonResponse } from "#http/endpoint.ts";
import { errorResponse, type HttpError } from "#http/errors.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { isJsonContentType } from "#http/request/content-type.ts";
import { readBody } from "#http/request/read-body.ts";
import type { Timers } from "#platform/time.ts";
import { type ApiHandlers, ApiProblem } from "./handlers.ts";

/** Calls that are answered at once; a page makes some ten. */
const maxCalls = 64;
/** Streams at once, over all pages. */
const maxStreams = 64;
const maxBodyBytes = 2 * 1_048_576;

export interface ApiRouterOptions {
  readonly access: DashboardAccess;
  readonly handlers: ApiHandlers;
  readonly timers: Timers;
  readonly bodies: BodiesInFlight;
  /** For streams, which are idle most of the time. */
  readonly liftIdleTimeout: (request: Request) => void;
}

/** The table's entry for an endpoint, without its types. */
interface Endpoint {
  readonly method: string;
  readonly segments: readonly string[];
  readonly query?: z.ZodType;
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
    this.#endpoints = Object.keys(dashboardApi)
      .map((name) => endpointOf(name as DashboardEndpoint, options.handlers)) // its own keys
      // A literal segment is matched before a placeholder: `decisions/live` is no id.
      .sort((a, b) => placeholders(a) - placeholders(b));
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
    const found = this.#find(request.method === "HEAD" ? "GET" : request.method, path);
    if ("error" in found) return refuse(found.error);
    const { endpoint, params } = found;
    if (endpoint.method !== "GET") {
      const problem = this.#options.access.writeProblem(request, operator);
      if (problem !== undefined) return refuse(problem);
    }
    if (this.#calls >= maxCalls) return refuse(busy);
    this.#calls += 1;
    try {
      const query = endpoint.query === undefined ? undefined : parsed(endpoint.query, givenIn(search), "the query");
      const body =
        endpoint.body === undefined ? undefined : parsed(endpoint.body, await this.#bodyOf(request), "the body");
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

  #find(method: string, path: string): { endpoint: Endpoint; params: Record<string, string> } | { error: HttpError } {
    const segments = path.split("/").map(decoded);
    const matching = this.#endpoints.filter((endpoint) => isAt(endpoint, segments));
    const endpoint = matching.find((one) => one.method === method);
    if (endpoint !== undefined) {
      const params = endpoint.segments.flatMap((name, at) =>
        name.startsWith("{") ? [[name.slice(1, -1), segments[at] ?? ""] as const] : [],
      );
      return { endpoint, params: Object.fromEntries(params) };
    }
    if (matching.length === 0) {
      return { error: { status: 404, detail: "The dashboard's API has nothing at this path.", code: "not_found" } };
    }
    const allow = [...new Set(matching.map((one) => one.method))].join(", ");
    const detail = `This path does not take ${method}; it takes ${allow}.`;
    return { error: { status: 405, detail, code: "method_not_allowed", headers: { allow } } };
  }

  async #bodyOf(request: Request): Promise<unknown> {
    const body = await readBody(request, maxBodyBytes, this.#options.bodies);
    if (body.kind === "refused") {
      const tooLarge = `The body is larger than ${maxBodyBytes} bytes.`;
      throw new ApiProblem(body.error.status === 413 ? { ...body.error, detail: tooLarge } : body.error);
    }
    if (body.kind !== "ok") throw new ApiProblem(422, "The body did not arrive whole, as UTF-8.", "invalid_request");
    try {
      if (!isJsonContentType(request.headers)) {
        throw new ApiProblem(422, "Content-Type must be application/json.", "invalid_request");
      }
      return JSON.parse(body.text === "" ? "{}" : body.text);
    } catch (error) {
      if (error instanceof ApiProblem) throw error;
      // The parser's message quotes the body.
      throw new ApiProblem(422, "The body is not valid JSON.", "invalid_request");
    } finally {
      body.held.release();
    }
  }

  #stream(endpoint: Endpoint, call: AnyCall, request: Request, headers: Record<string, string>): Response {
    if (this.#streams >= maxStreams) throw new ApiProblem(503, "Too many live feeds are open.", "overloaded");
    this.#streams += 1;
    let stop: unknown;
    let closed = false;
    const stream = new EventBody<never>({
      timers: this.#options.timers,
      onClose: () => {
        this.#streams -= 1;
        closed = true;
        if (typeof stop === "function") stop();
      },
    });
    this.#options.liftIdleTimeout(request);
    stop = endpoint.handler(call, stream);
    if (closed && typeof stop === "function") stop();
    // A proxy that buffers answers would hold the events back.
    const own = { ...headers, "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
    return new Response(stream.body, { headers: own });
  }
}

const busy: HttpError = {
  status: 503,
  detail: "The dashboard is answering as many calls as it may. Try again shortly.",
  code: "overloaded",
  headers: { "retry-after": "1" },
};

function endpointOf(name: DashboardEndpoint, handlers: ApiHandlers): Endpoint {
  const [method = "", path = ""] = name.split(" ");
  // The handler takes what its schemas let through; `ApiHandlers` has checked that they fit together.
  const handler = handlers[name] as Endpoint["handler"];
  const { query, ...schemas }: { about: string; query?: z.ZodObject } = dashboardApi[name];
  // A filter with a typing error in its name would show everything.
  const strict = query === undefined ? {} : { query: query.strict() };
  return { method, segments: path.split("/"), handler, ...schemas, ...strict };
}

function placeholders({ segments }: Endpoint): number {
  return segments.filter((segment) => segment.startsWith("{")).length;
}

function isAt(endpoint: Endpoint, segments: readonly (string | undefined)[]): boolean {
  return (
    endpoint.segments.length === segments.length &&
    endpoint.segments.every((name, at) => (name.startsWith("{") ? segments[at] : segments[at] === name))
  );
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The parameters of a query; an empty one counts as absent. */
function givenIn(search: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...search].filter(([, value]) => value !== ""));
}

/** What a caller gave, as the schema has it. Throws what is wrong with it, by field. */
function parsed(schema: z.ZodType, given: unknown, whole: string): unknown {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues
    .slice(0, 8)
    .map(({ path, message }) => `${path.length === 0 ? whole : path.map(String).join(".")}: ${message}`);
  throw new ApiProblem(422, problems.join("; "), "invalid_request");
}
