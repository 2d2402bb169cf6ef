import { authorize } from "./access/auth.ts";
import { originCheck } from "./access/origin-check.ts";
import { PieceCache } from "./chat-body/piece-cache.ts";
import { type EndpointTable, type Handler, jsonResponse, type RouteLabel } from "./endpoint.ts";
import { chatEndpoint } from "./endpoints/chat.ts";
import { decisionRecordEndpoint, decisionRecordPath } from "./endpoints/decision-record.ts";
import { type HealthReport, healthReport } from "./endpoints/health.ts";
import { modelsEndpoint } from "./endpoints/models.ts";
import {
  livenessEndpoint,
  metricsEndpoint,
  openApiEndpoint,
  readinessEndpoint,
  rootEndpoint,
} from "./endpoints/operation.ts";
import { routeDecisionEndpoint } from "./endpoints/route-decision.ts";
import { routeOutcomeEndpoint } from "./endpoints/route-outcome.ts";
import { routeStatusEndpoint } from "./endpoints/route-status.ts";
import { codeOf, errorResponse, type HttpError } from "./errors.ts";
import { BodiesInFlight } from "./limits/bodies-in-flight.ts";
import { leavesBody, withLingeringClose } from "./limits/lingering-close.ts";
import { OpenRequests } from "./limits/open-requests.ts";
import { LoadSampler, maxStreams, shedReason, withOverloadCheck } from "./limits/overload.ts";
import { notFound } from "./not-found.ts";
import { requestIdOf } from "./request/headers.ts";
import type { RequestTraces, ServerOptions } from "./server-options.ts";

const defaultIdleSeconds = 10;
/** Ticks of the event loop within which an answer that is known is written. */
const ticksToWrite = 100;
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** What the endpoints share. */
function serverState({ settings, ports }: ServerOptions) {
  return {
    startedMs: ports.clock.monotonic(),
    streams: new OpenRequests(),
    bodies: new BodiesInFlight(settings.maxBytesInFlight),
    /** What is known of messages of earlier requests. */
    pieces: new PieceCache(() => ports.config().policy.privacy.scan_memory_bytes),
    load: new LoadSampler(ports.clock, settings.workers),
    isDraining: false,
  };
}
type ServerState = ReturnType<typeof serverState>;

/** Sets the idle timeout of a request's connection, in seconds; 0 lifts it. */
type SetIdleTimeout = (request: Request, seconds: number) => void;

export type HttpServer = ReturnType<typeof startServer>;

/** Starts the HTTP server: routes each request through the checks that apply to all, in the order that the reference documents. */
export function startServer(options: ServerOptions) {
  const { settings, traces } = options;
  const state = serverState(options);
  const setIdleTimeout: SetIdleTimeout = (request, seconds) => server.timeout(request, seconds);
  const table = endpointTable(options, state, setIdleTimeout);
  const guarded = requestGuard(options);
  const dashboard = options.dashboard?.({
    addressOf: (request) => server.requestIP(request)?.address ?? "",
    liftIdleTimeout: (request) => setIdleTimeout(request, 0),
    bodies: state.bodies,
  });

  const server: Bun.Server<undefined> = Bun.serve({
    hostname: settings.host,
    port: settings.port,
    // Several processes on one port (Linux).
    reusePort: settings.workers > 1,
    // Closes connections that are idle or whose request arrives too slowly; lifted while a chat request waits for its answer.
    idleTimeout: options.idleSeconds ?? defaultIdleSeconds,
    // Far above our own limit, whose refusal explains itself.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    routes: { ...guardedRoutes(table, guarded, traces), ...dashboardRoutes(dashboard, guarded) },
    fetch: guarded((request, _, common) => errorResponse(notFound(request, table), request, common), "other"),
    error: (error) => {
      options.onCrash(error, "");
      return jsonResponse({ detail: crashed.detail }, {}, 500);
    },
  });
  state.load.start();

  return {
    url: server.url.origin,
    streams: state.streams,
    pieces: state.pieces,
    load: state.load,
    /** The health report of this process alone. */
    health: () => ownHealth(options, state),
    /** From now on `/readyz` answers 503; requests are still served. */
    drain() {
      state.isDraining = true;
    },
    /** No new connections; open requests continue. */
    stopListening() {
      void server.stop(false);
    },
    /** Closes all connections. */
    async stop() {
      state.load.stop();
      // The last answers are known, and not yet written. Connections with a stream of events may stay for ever.
      for (let tick = 0; tick < ticksToWrite && server.pendingRequests > 0; tick++) await nextTick();
      await server.stop(true);
    },
  };
}

const crashed: HttpError = {
  status: 500,
  detail: "The gateway failed on this request; its log says where.",
  code: "internal_error",
};

function endpointTable(options: ServerOptions, state: ServerState, setIdleTimeout: SetIdleTimeout): EndpointTable {
  const { ports, settings, records, keys, idleSeconds = defaultIdleSeconds } = options;
  const { streams, bodies, load } = state;
  const chat = chatEndpoint({
    ...options,
    ...state,
    liftIdleTimeout: (request) => setIdleTimeout(request, 0),
    restoreIdleTimeout: (request) => setIdleTimeout(request, idleSeconds),
  });
  const authorized = (handler: Handler): Handler => {
    return (request, requestId, common) => {
      const result = authorize(request.headers, settings.authMinTokenLength, keys());
      return result.kind === "ok"
        ? handler(request, requestId, common, result.key)
        : errorResponse(result.error, request, common);
    };
  };
  const streamLimit = maxStreams();
  const shedReasonNow = () => {
    const { eventLoopDelayMs, memoryShare } = load;
    const activeStreams = streams.count;
    const ledgerOldestMs = ports.ledger.oldestMs();
    return shedReason({ activeStreams, maxStreams: streamLimit, eventLoopDelayMs, memoryShare, ledgerOldestMs });
  };
  /** With a token, and while there is room. */
  const admitted = (handler: Handler, spends: boolean): Handler =>
    authorized(withOverloadCheck(handler, spends, shedReasonNow, ports));
  const table: EndpointTable = {
    "/": { method: "GET", label: "other", handler: rootEndpoint(() => table) },
    "/v1/chat/completions": { method: "POST", label: "chat_completions", handler: admitted(chat, true) },
    "/v1/route/decision": {
      method: "POST",
      label: "route_decision",
      handler: admitted(routeDecisionEndpoint(options, bodies), false),
    },
    "/v1/route/outcome": {
      method: "POST",
      label: "route_outcome",
      handler: admitted(routeOutcomeEndpoint(options, bodies), false),
    },
    "/v1/route/status": { method: "GET", label: "route_status", handler: authorized(routeStatusEndpoint(options)) },
    [decisionRecordPath]: {
      method: "GET",
      label: "route_decisions",
      handler: authorized(decisionRecordEndpoint(records)),
    },
    "/v1/models": { method: "GET", label: "models", handler: authorized(modelsEndpoint(ports)) },
    "/healthz": {
      method: "GET",
      label: "other",
      isProbe: true,
      handler: async (_request, _, common) => {
        const report = (await options.gatewayHealth?.()) ?? ownHealth(options, state);
        return jsonResponse(report.body, common, report.status);
      },
    },
    "/livez": { method: "GET", label: "other", isProbe: true, handler: livenessEndpoint(ports) },
    "/readyz": { method: "GET", label: "other", isProbe: true, handler: readinessEndpoint(ports, state) },
    "/metrics": { method: "GET", label: "other", handler: metricsEndpoint(options) },
    "/openapi.json": { method: "GET", label: "other", handler: openApiEndpoint() },
  };
  return table;
}

function ownHealth({ ports, configStatus, records, version }: ServerOptions, { startedMs }: ServerState): HealthReport {
  return healthReport({
    view: ports.health.view(),
    seniorChain: ports.config().policy.health.senior_fallback_chain,
    ledger: ports.ledger.status(),
    records: records.health(),
    config: configStatus(),
    version,
    uptimeMs: ports.clock.monotonic() - startedMs,
  });
}

type Guard = (handler: Handler, label: RouteLabel, isProbe?: true) => (request: Request) => Promise<Response>;

/** What applies to every request: its id, the origin check, the answer to an unexpected error, and the end of a body that nobody reads. */
function requestGuard({ ports, settings, onCrash, onRejected }: ServerOptions): Guard {
  const originProblem = originCheck(settings);
  const isDemo = settings.upstream.kind === "demo";
  // Enough that callers who send somewhat too much read the refusal only after they have sent it all.
  const lingering = { timers: ports.timers, maxBytes: 4 * settings.maxRequestBytes };
  return (handler, route, isProbe) => async (request) => {
    const requestId = requestIdOf(request.headers, ports.config().privacy);
    const common: Record<string, string> = { "x-request-id": requestId };
    if (isDemo) common["x-smart-gateway-demo"] = "true";
    // The runtime closes the connection as asked, and does not say so by itself.
    if (closesAfter(request.headers.get("connection"))) common["connection"] = "close";
    let response: Response;
    try {
      const foreign = originProblem(request.headers);
      response =
        foreign === undefined ? await handler(request, requestId, common) : errorResponse(foreign, request, common);
    } catch (error) {
      onCrash(error, requestId);
      response = errorResponse(crashed, request, common);
    }
    const { status } = response;
    if (status >= 400 && !response.headers.has("x-smart-gateway-decision-id") && !(isProbe && status === 503)) {
      onRejected({ requestId, route, method: request.method, status, code: codeOf(response) });
    }
    return leavesBody(request, response) ? withLingeringClose(request, response, lingering) : response;
  };
}

/** The table as the runtime's router takes it. */
function guardedRoutes(
  table: EndpointTable,
  guarded: Guard,
  traces: RequestTraces | undefined,
): { [path: string]: { [method: string]: ReturnType<Guard> } } {
  return Object.fromEntries(
    Object.entries(table).map(([path, { method, label, handler, isProbe }]) => {
      const serve = traced(guarded(handler, label, isProbe), path, traces);
      return [path, method === "GET" ? { GET: serve, HEAD: serve } : { [method]: serve }];
    }),
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
function traced(serve: ReturnType<Guard>, path: string, traces: RequestTraces | undefined): ReturnType<Guard> {
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
