import { aliases, type RoutingDecision } from "#domain/routing.ts";
import { outageOf } from "#ledger/ledger.ts";
import { decide } from "#pipeline/decide/decide.ts";
import type { Ports } from "#pipeline/ports.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";
import { coalescePerTurn, largeBodyBytes } from "#platform/event-loop-turns.ts";
import { type AuthRules, authProblem } from "./access/auth.ts";
import { originCheck } from "./access/origin-check.ts";
import { chatEndpoint } from "./endpoints/chat.ts";
import { type ConfigStatus, type HealthReport, healthReport } from "./endpoints/health.ts";
import { parseDecisionRequest, parseLargeDecisionRequest } from "./request/decision-request.ts";
import { errorResponse, type HttpError } from "./errors.ts";
import { BodiesInFlight } from "./limits/bodies-in-flight.ts";
import { OpenRequests } from "./limits/open-requests.ts";
import { openApiDocument } from "./openapi/document.ts";
import { isJsonContentType } from "./request/content-type.ts";
import { readBody } from "./request/read-body.ts";
import { requestIdOf } from "./request/request-id.ts";

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Several processes on one port (Linux). */
  readonly reusePort: boolean;
  readonly version: string;
  /** Marks every answer as coming from a simulated upstream. */
  readonly demo: boolean;
  readonly maxRequestBytes: number;
  /** Most JSON values in one body. */
  readonly maxRequestValues: number;
  /** Bytes of request bodies held at once, over all requests. */
  readonly maxBytesInFlight: number;
  /** Names beside the loopback ones under which a gateway on loopback may be called. */
  readonly allowedHosts: readonly string[];
  readonly auth: () => AuthRules;
  readonly ports: Ports;
  /** Whether the files' configuration is in force, for `/healthz`. */
  readonly configStatus: () => ConfigStatus;
  /** Undefined when it cannot be had now. */
  readonly metricsText: () => Promise<{ readonly text: string; readonly contentType: string } | undefined>;
  /** The report of all workers together, where there are several; undefined when it cannot be had now. */
  readonly gatewayHealth?: () => Promise<HealthReport | undefined>;
  /** Why a chat request should be turned away unread; undefined when there is room. */
  readonly shedReason: (activeRequests: number) => string | undefined;
  /** Told of every request that was answered with an error and has no record of its own. */
  readonly onRejected: (event: { requestId: string; route: RouteLabel; method: string; status: number }) => void;
  readonly onDryRun: (decision: RoutingDecision, durationMs: number) => void;
  readonly onCrash: (error: unknown, requestId: string) => void;
  /** A connection without a request, or whose request does not arrive, is closed after so long. Default 10. */
  readonly idleSeconds?: number;
}

export interface HttpServer {
  readonly url: string;
  readonly streams: OpenRequests;
  /** What this process alone has to say at `/healthz`. */
  health(): HealthReport;
  /** From now on `/readyz` says no; requests are still served. */
  drain(): void;
  /** No new connections; resolves when the listener is closed. Requests under way go on. */
  stopListening(): Promise<void>;
  /** Closes what is left. */
  stop(): Promise<void>;
}

/** The endpoints as metrics and log name them. */
export type RouteLabel = "chat_completions" | "route_decision" | "models" | "other";

type Handler = (request: Request, requestId: string, common: Record<string, string>) => Response | Promise<Response>;

/** The edge: paths, methods, authorization, and everything else handed on. Order of checks as the reference documents it. */
export function startServer(options: ServerOptions): HttpServer {
  const { ports } = options;
  const streams = new OpenRequests();
  const startedMs = ports.clock.monotonic();
  const idleSeconds = options.idleSeconds ?? 10;
  let draining = false;
  let openApi: string | undefined;
  const originProblem = originCheck(options);

  const json = (body: unknown, common: Record<string, string>, status = 200): Response =>
    new Response(JSON.stringify(body), { status, headers: { ...common, "content-type": "application/json" } });

  const goOn = coalescePerTurn<() => void>((waiting) => {
    for (const resolve of waiting) resolve();
  });
  const endpoint = {
    ports,
    maxRequestBytes: options.maxRequestBytes,
    maxRequestValues: options.maxRequestValues,
    bodies: new BodiesInFlight(options.maxBytesInFlight),
    streams,
    endOfTurn: () => new Promise<void>(goOn),
    liftIdleTimeout: (request: Request) => server.timeout(request, 0),
    restoreIdleTimeout: (request: Request) => server.timeout(request, idleSeconds),
  };

  /** path → method → handler; the one table that 404 and 405 are read from too. */
  const table: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
    "/v1/chat/completions": {
      POST: authorized(
        unlessOverloaded((request, requestId, common) => chatEndpoint(request, requestId, common, endpoint), true),
      ),
    },
    "/v1/route/decision": {
      POST: authorized(
        unlessOverloaded(async (request, _, common) => {
          const refuse = (error: HttpError) => errorResponse(error, request, common);
          const invalid = (detail: string, status = 422) => refuse({ status, detail, code: "invalid_request" });
          const body = await readBody(request, options.maxRequestBytes, endpoint.bodies);
          if (body.kind === "refused") return refuse(body.error);
          if (body.kind === "not_utf8") return invalid("The body is not valid JSON: it is not UTF-8.");
          if (body.kind === "gone") return invalid("The request body did not arrive whole.");
          try {
            if (!isJsonContentType(request.headers)) return invalid("Content-Type must be application/json.");
            const configuration = ports.config();
            const { privacy } = configuration;
            const parsed =
              body.bytes > largeBodyBytes
                ? await parseLargeDecisionRequest(body.text, options.maxRequestValues, privacy)
                : parseDecisionRequest(body.text, options.maxRequestValues, privacy);
            if (parsed.kind === "invalid") return invalid(parsed.detail, parsed.status);
            const begunMs = ports.clock.monotonic();
            const snapshot = takeSnapshot(configuration, ports.health.view(), parsed.size);
            const decision = decide(parsed.task, parsed.runtime, snapshot);
            options.onDryRun(decision, ports.clock.monotonic() - begunMs);
            return json(decision, common);
          } finally {
            body.held.release();
          }
        }, false),
      ),
    },
    "/v1/models": {
      GET: authorized((_request, _, common) =>
        json(
          {
            object: "list",
            data: aliases.map((id) => ({ id, object: "model", created: modelsCreated, owned_by: "smart-gateway" })),
          },
          common,
        ),
      ),
    },
    "/healthz": {
      GET: async (_request, _, common) => {
        const report = (await options.gatewayHealth?.()) ?? ownHealth();
        return json(report.body, common, report.status);
      },
    },
    "/livez": {
      GET: (_request, _, common) =>
        // Only a new process can read what is really on the disk. A lost store is no reason: a restart would begin an empty one.
        ports.ledger.status().failed === "restart_needed"
          ? json({ status: "restart_needed" }, common, 503)
          : json({ status: "ok" }, common),
    },
    "/readyz": {
      GET: (_request, _, common) =>
        draining || !ports.ledger.status().ok
          ? json({ status: draining ? "draining" : "unavailable" }, common, 503)
          : json({ status: "ok" }, common),
    },
    "/metrics": {
      GET: async (request, _, common) => {
        const metrics = await options.metricsText();
        if (metrics === undefined) {
          // The figures of one worker alone would look as if every counter had gone down.
          const detail = "The workers of this gateway did not answer in time. Scrape again.";
          return errorResponse({ status: 503, detail, headers: { "retry-after": "1" } }, request, common);
        }
        const { text, contentType } = metrics;
        return new Response(text, { headers: { ...common, "content-type": contentType } });
      },
    },
    "/openapi.json": {
      GET: (_request, _, common) => {
        openApi ??= JSON.stringify(openApiDocument());
        return new Response(openApi, { headers: { ...common, "content-type": "application/json" } });
      },
    },
  };

  /** Turned away before anything of the body is read. `spends`: whether the handler needs the budget store. */
  function unlessOverloaded(handler: Handler, spends: boolean): Handler {
    return (request, requestId, common) => {
      const reason = options.shedReason(streams.count);
      if (reason === undefined || (reason === "ledger_slow" && !spends)) return handler(request, requestId, common);
      if (reason === "ledger_slow") {
        // Not the gateway has too much to do: its store does not keep up, or is away.
        const { detail, retryAfterS } = outageOf(ports.ledger.status());
        const waits = retryAfterS !== undefined;
        const headers = waits ? { "retry-after": String(retryAfterS) } : { "x-should-retry": "false" };
        return errorResponse({ status: 503, detail, code: "budget_store_unavailable", headers }, request, common);
      }
      const detail = `The gateway is overloaded (${reason}). Try again shortly.`;
      const headers = { "retry-after": "1" };
      return errorResponse({ status: 503, detail, code: "overloaded", headers }, request, common);
    };
  }

  const ownHealth = (): HealthReport =>
    healthReport({
      view: ports.health.view(),
      seniorChain: ports.config().policy.health.senior_fallback_chain,
      ledger: ports.ledger.status(),
      config: options.configStatus(),
      version: options.version,
      uptimeMs: ports.clock.monotonic() - startedMs,
    });

  function authorized(handler: Handler): Handler {
    return (request, requestId, common) => {
      const problem = authProblem(request.headers, options.auth());
      return problem === undefined ? handler(request, requestId, common) : errorResponse(problem, request, common);
    };
  }

  const guarded =
    (handler: Handler, route: RouteLabel) =>
    async (request: Request): Promise<Response> => {
      const requestId = requestIdOf(request.headers, ports.config().privacy);
      const common: Record<string, string> = { "x-request-id": requestId };
      if (options.demo) common["x-smart-gateway-demo"] = "true";
      // The runtime closes the connection as asked, and does not say so by itself.
      if (closesAfter(request.headers.get("connection"))) common["connection"] = "close";
      let response: Response;
      try {
        const foreign = originProblem(request.headers);
        response =
          foreign === undefined ? await handler(request, requestId, common) : errorResponse(foreign, request, common);
      } catch (error) {
        options.onCrash(error, requestId);
        response = errorResponse(
          { status: 500, detail: "The gateway failed on this request; its log says where.", code: "internal_error" },
          request,
          common,
        );
      }
      if (response.status >= 400 && !response.headers.has("x-smart-gateway-decision-id")) {
        options.onRejected({ requestId, route, method: request.method, status: response.status });
      }
      return response;
    };

  const routes = Object.fromEntries(
    Object.entries(table).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).flatMap(([method, handler]) =>
          // HEAD is GET without its body; the runtime leaves the body out.
          method === "GET"
            ? [
                ["GET", guarded(handler, routeNames[path] ?? "other")],
                ["HEAD", guarded(handler, routeNames[path] ?? "other")],
              ]
            : [[method, guarded(handler, routeNames[path] ?? "other")]],
        ),
      ),
    ]),
  );

  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort,
    // Cuts callers that trickle a request or leave their connection idle; lifted while a chat request waits for its answer.
    idleTimeout: idleSeconds,
    // Far above our own limit, which answers with a body that explains itself.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    routes,
    fetch: guarded((request, _, common) => errorResponse(nowhere(request, table), request, common), "other"),
    error: (error) => {
      options.onCrash(error, "");
      return new Response(JSON.stringify({ detail: "The gateway failed on this request; its log says where." }), {
        status: 500,
        headers: { "content-type": "application/json" },
      });
    },
  });

  return {
    url: server.url.origin,
    streams,
    health: ownHealth,
    drain() {
      draining = true;
    },
    async stopListening() {
      void server.stop(false);
    },
    async stop() {
      await server.stop(true);
    },
  };
}

/** Whether a `Connection` header asks for the connection to be closed after the answer. */
function closesAfter(connection: string | null): boolean {
  return connection !== null && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection);
}

const routeNames: Readonly<Record<string, RouteLabel>> = {
  "/v1/chat/completions": "chat_completions",
  "/v1/route/decision": "route_decision",
  "/v1/models": "models",
};

/** The aliases came with release 1.0.0, 2026-08-23; Unix time in seconds. */
const modelsCreated = 1_787_443_200;

function nowhere(request: Request, table: Readonly<Record<string, Readonly<Record<string, Handler>>>>): HttpError {
  // Without a `Host` (HTTP/1.0) there is only a path.
  const path = URL.parse(request.url, "http://gateway")?.pathname ?? "";
  const methods = Object.hasOwn(table, path) ? table[path] : undefined;
  if (methods === undefined) return { status: 404, detail: absent(path, table), code: "not_found" };
  if (Object.hasOwn(methods, request.method)) {
    // The router compares what was sent; a path that only means the same is not served, or rules of a proxy could be evaded.
    return { status: 404, detail: `Write the path as ${path}, without . or .. segments.`, code: "not_found" };
  }
  const allow = Object.keys(methods)
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .join(", ");
  return {
    status: 405,
    detail: `This path does not take ${request.method}; it takes ${allow}.`,
    code: "method_not_allowed",
    headers: { allow },
  };
}

/** What to use instead, for the paths that clients with other settings ask for. */
function absent(path: string, table: Readonly<Record<string, unknown>>): string {
  const plain = path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
  const hint = hints[plain];
  if (hint !== undefined) return hint;
  if (plain.startsWith("/v1/models/")) return "Models are not served one by one. GET /v1/models lists them.";
  // A base URL that lacks its /v1, has it twice, has a folder before it, or a slash too many.
  const meant = Object.keys(table).find((known) => plain.endsWith(known) || `/v1${plain}` === known);
  return meant === undefined
    ? "There is nothing at this path. GET /openapi.json lists what there is."
    : `There is nothing at this path; use ${meant}. A client's base URL is this gateway's address and /v1, without a slash behind it.`;
}

const chatInstead =
  "Use POST /v1/chat/completions: set the client to an OpenAI-compatible provider with the Chat Completions API";
const hints: Readonly<Record<string, string>> = {
  "/v1/responses": `The Responses API is not served. ${chatInstead}.`,
  "/v1/messages": `The Anthropic Messages API is not served. ${chatInstead}.`,
  "/v1/completions": `Legacy text completions are not served. ${chatInstead}.`,
  "/v1/embeddings": "Embeddings are not served; this gateway routes chat completions only (POST /v1/chat/completions).",
};
