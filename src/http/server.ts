import { endsOfTicks } from "#platform/event-loop.ts";
import { authProblem } from "./access/auth.ts";
import { originCheck } from "./access/origin-check.ts";
import { AnswerHeaders } from "./answer-headers.ts";
import { type EndpointTable, type Handler, jsonResponse, type RouteLabel } from "./endpoint.ts";
import { chatEndpoint } from "./endpoints/chat.ts";
import { decisionRecordEndpoint, decisionRecordPath } from "./endpoints/decision-record.ts";
import { type HealthReport, healthReport } from "./endpoints/health.ts";
import { modelsEndpoint } from "./endpoints/models.ts";
import { livenessEndpoint, metricsEndpoint, openApiEndpoint, readinessEndpoint } from "./endpoints/operation.ts";
import { routeDecisionEndpoint } from "./endpoints/route-decision.ts";
import { routeOutcomeEndpoint } from "./endpoints/route-outcome.ts";
import { routeStatusEndpoint } from "./endpoints/route-status.ts";
import { codeOf, errorResponse } from "./errors.ts";
import { BodiesInFlight } from "./limits/bodies-in-flight.ts";
import { leavesBody, withLingeringClose } from "./limits/lingering-close.ts";
import { OpenRequests } from "./limits/open-requests.ts";
import { withOverloadCheck } from "./limits/overload-check.ts";
import { notFound } from "./not-found.ts";
import { requestIdOf } from "./request/headers.ts";
import type { RequestTraces, ServerConnection, ServerOptions } from "./server-options.ts";

export interface HttpServer {
  readonly url: string;
  readonly streams: OpenRequests;
  /** The health report of this process alone. */
  health(): HealthReport;
  /** From now on `/readyz` answers 503; requests are still served. */
  drain(): void;
  /** No new connections; resolves when the listener is closed. Open requests continue. */
  stopListening(): Promise<void>;
  /** Closes all connections. */
  stop(): Promise<void>;
}

/** What the endpoints need of the running server. */
interface ServerState {
  readonly streams: OpenRequests;
  readonly bodies: BodiesInFlight;
  readonly health: () => HealthReport;
  readonly isDraining: () => boolean;
  /** Sets the idle timeout of a request's connection; 0 lifts it. */
  readonly setIdleTimeout: (request: Request, seconds: number) => void;
}

const defaultIdleSeconds = 10;
/** Turns of the event loop within which an answer that is known is written. */
const turnsToWrite = 100;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Starts the HTTP server: routes each request through the checks that apply to all, in the order that the reference documents. */
export function startServer(options: ServerOptions): HttpServer {
  const streams = new OpenRequests();
  const startedMs = options.ports.clock.monotonic();
  let draining = false;
  const health = (): HealthReport => ownHealth(options, startedMs);
  const bodies = new BodiesInFlight(options.maxBytesInFlight);
  const setIdleTimeout = (request: Request, seconds: number) => server.timeout(request, seconds);
  const table = endpointTable(options, { streams, bodies, health, isDraining: () => draining, setIdleTimeout });
  const guarded = requestGuard(options);
  const connection: ServerConnection = {
    addressOf: (request) => server.requestIP(request)?.address ?? "",
    liftIdleTimeout: (request) => setIdleTimeout(request, 0),
    bodies,
  };

  const server: Bun.Server<undefined> = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort,
    // Closes connections that are idle or whose request arrives too slowly; lifted while a chat request waits for its answer.
    idleTimeout: options.idleSeconds ?? defaultIdleSeconds,
    // Far above our own limit, whose refusal explains itself.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    routes: {
      ...guardedRoutes(table, guarded, options.traces),
      ...dashboardRoutes(options.dashboard?.(connection), guarded),
    },
    fetch: guarded((request, _, common) => errorResponse(notFound(request, table), request, common), "other"),
    error: (error) => {
      options.onCrash(error, "");
      return jsonResponse({ detail: "The gateway failed on this request; its log says where." }, {}, 500);
    },
  });

  return {
    url: server.url.origin,
    streams,
    health,
    drain() {
      draining = true;
    },
    async stopListening() {
      void server.stop(false);
    },
    async stop() {
      // The last answers are known, and not yet written. Connections with a stream of events may stay for ever.
      for (let turn = 0; turn < turnsToWrite && server.pendingRequests > 0; turn++) await nextTurn();
      await server.stop(true);
    },
  };
}

function endpointTable(options: ServerOptions, state: ServerState): EndpointTable {
  const { ports, reportOutcome } = options;
  const { streams, bodies, setIdleTimeout } = state;
  const idleSeconds = options.idleSeconds ?? defaultIdleSeconds;
  const chat = {
    ports,
    maxRequestBytes: options.maxRequestBytes,
    maxRequestValues: options.maxRequestValues,
    explain: options.explain,
    bodies,
    pieces: options.pieces,
    streams,
    headers: new AnswerHeaders(),
    streamHeaders: new AnswerHeaders(),
    endOfTick: endsOfTicks(),
    liftIdleTimeout: (request: Request) => setIdleTimeout(request, 0),
    restoreIdleTimeout: (request: Request) => setIdleTimeout(request, idleSeconds),
    ...(options.traces === undefined ? {} : { traces: options.traces }),
  };
  const authorized = (handler: Handler): Handler => {
    return (request, requestId, common) => {
      const problem = authProblem(request.headers, options.auth());
      return problem === undefined ? handler(request, requestId, common) : errorResponse(problem, request, common);
    };
  };
  const chatHandler: Handler = (request, requestId, common) => chatEndpoint(request, requestId, common, chat);
  const dryRunHandler = routeDecisionEndpoint({ ...options, bodies });
  const outcomeHandler = routeOutcomeEndpoint({ reportOutcome, bodies });
  return {
    "/v1/chat/completions": { POST: authorized(withOverloadCheck(chatHandler, true, options, streams)) },
    "/v1/route/decision": { POST: authorized(withOverloadCheck(dryRunHandler, false, options, streams)) },
    "/v1/route/outcome": { POST: authorized(withOverloadCheck(outcomeHandler, false, options, streams)) },
    "/v1/route/status": { GET: authorized(routeStatusEndpoint(options)) },
    [decisionRecordPath]: { GET: authorized(decisionRecordEndpoint(options)) },
    "/v1/models": { GET: authorized(modelsEndpoint(ports)) },
    "/healthz": {
      GET: async (_request, _, common) => {
        const report = (await options.gatewayHealth?.()) ?? state.health();
        return jsonResponse(report.body, common, report.status);
      },
    },
    "/livez": { GET: livenessEndpoint(ports) },
    "/readyz": { GET: readinessEndpoint(ports, state.isDraining) },
    "/metrics": { GET: metricsEndpoint(options) },
    "/openapi.json": { GET: openApiEndpoint() },
  };
}

function ownHealth({ ports, configStatus, recordsHealth, version }: ServerOptions, startedMs: number): HealthReport {
  return healthReport({
    view: ports.health.view(),
    seniorChain: ports.config().policy.health.senior_fallback_chain,
    ledger: ports.ledger.status(),
    records: recordsHealth?.(),
    config: configStatus(),
    version,
    uptimeMs: ports.clock.monotonic() - startedMs,
  });
}

/** `isProbe`: a 503 is what the endpoint has to say, and no rejection. */
type Guard = (handler: Handler, route: RouteLabel, isProbe?: boolean) => (request: Request) => Promise<Response>;

/** What applies to every request: its id, the origin check, the answer to an unexpected error, and the end of a body that nobody reads. */
function requestGuard(options: ServerOptions): Guard {
  const { ports } = options;
  const originProblem = originCheck(options);
  // Enough that callers who send somewhat too much read the refusal only after they have sent it all.
  const lingering = { timers: ports.timers, maxBytes: 4 * options.maxRequestBytes };
  return (handler, route, isProbe = false) =>
    async (request) => {
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
      const { status } = response;
      if (status >= 400 && !response.headers.has("x-smart-gateway-decision-id") && !(isProbe && status === 503)) {
        const code = codeOf(response);
        options.onRejected({
          requestId,
          route,
          method: request.method,
          status,
          ...(code === undefined ? {} : { code }),
        });
      }
      return leavesBody(request, response) ? withLingeringClose(request, response, lingering) : response;
    };
}

const routeLabels: Readonly<Record<string, RouteLabel>> = {
  "/v1/chat/completions": "chat_completions",
  "/v1/route/decision": "route_decision",
  "/v1/route/outcome": "route_outcome",
  "/v1/route/status": "route_status",
  [decisionRecordPath]: "route_decisions",
  "/v1/models": "models",
};

/** Asked every few seconds by orchestrators. */
const probes: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

/** The table as the runtime's router takes it. HEAD is GET without its body, which the runtime leaves out. */
function guardedRoutes(table: EndpointTable, guarded: Guard, traces: RequestTraces | undefined) {
  return Object.fromEntries(
    Object.entries(table).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).flatMap(([method, handler]) => {
          const names = method === "GET" ? ["GET", "HEAD"] : [method];
          const serve = guarded(handler, routeLabels[path] ?? "other", probes.has(path));
          return names.map((name) => [name, traced(serve, path, traces)]);
        }),
      ),
    ]),
  );
}

/** The dashboard answers its path and everything below it, with all methods. */
function dashboardRoutes(handler: Handler | undefined, guarded: Guard): ReturnType<typeof guardedRoutes> {
  if (handler === undefined) return {};
  const route = guarded(handler, "dashboard");
  const methods = Object.fromEntries(everyMethod.map((method) => [method, route]));
  return { "/dashboard": methods, "/dashboard/*": methods };
}

const everyMethod = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** The callers' endpoints with a trace of each request, where there are traces; else as they are. */
function traced(
  serve: (request: Request) => Promise<Response>,
  path: string,
  traces: RequestTraces | undefined,
): (request: Request) => Promise<Response> {
  if (traces === undefined || !path.startsWith("/v1/")) return serve;
  return async (request) => {
    traces.started(request, path);
    const response = await serve(request);
    traces.answered(request, response);
    return response;
  };
}

/** Whether a `Connection` header asks for the connection to be closed after the answer. */
function closesAfter(connection: string | null): boolean {
  return connection !== null && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection);
}
