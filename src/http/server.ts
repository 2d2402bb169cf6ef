import { anyone, authorize } from "./access/auth.ts";
import { KeyRates } from "./access/key-rates.ts";
import { originCheck } from "./access/origin-check.ts";
import { MessageCache } from "./chat-body/message-cache.ts";
import { type Answer, type Endpoint, type EndpointTable, jsonResponse } from "./endpoint.ts";
import { chatEndpoint } from "./endpoints/chat.ts";
import { decisionRecordEndpoint, decisionRecordPath } from "./endpoints/decision-record.ts";
import { healthReport } from "./endpoints/health.ts";
import { modelEndpoint, modelPath, modelsEndpoint } from "./endpoints/models.ts";
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
import { errorResponse, type HttpError } from "./errors.ts";
import { BodiesInFlight } from "./limits/bodies-in-flight.ts";
import { hasUnreadBody, withLingeringClose } from "./limits/lingering-close.ts";
import { OpenRequests } from "./limits/open-requests.ts";
import { LoadSampler, maxStreams, overloadError, shedReason } from "./limits/overload.ts";
import { notFound } from "./not-found.ts";
import { requestIdOf } from "./request/headers.ts";
import type { ServerConnection, ServerOptions } from "./server-options.ts";

const defaultIdleSeconds = 10;
/** Ticks of the event loop within which an answer that is known is written. */
const ticksToWrite = 100;
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

export type HttpServer = ReturnType<typeof startServer>;

/** Starts the HTTP server: routes each request through the checks that apply to all, in the order that the reference documents. */
export function startServer(options: ServerOptions) {
  const { settings, ports, idleSeconds = defaultIdleSeconds } = options;
  const connection: ServerConnection = {
    addressOf: (request) => server.requestIP(request)?.address ?? "",
    liftIdleTimeout: (request) => server.timeout(request, 0),
    restoreIdleTimeout: (request) => server.timeout(request, idleSeconds),
    bodies: new BodiesInFlight(settings.maxBytesInFlight),
  };
  const state: ServerState = {
    connection,
    startedMs: ports.clock.monotonic(),
    streams: new OpenRequests(),
    messageCache: new MessageCache(),
    load: new LoadSampler(ports.clock, settings.workers),
    isDraining: false,
  };
  const table = endpointTable(options, state);
  const serve = requestGuard(options, state);
  const unknown = serve({ handler: (request) => notFound(request, table), label: "other", admission: "open" });

  const server: Bun.Server<undefined> = Bun.serve({
    hostname: settings.host,
    port: settings.port,
    // Several processes on one port (Linux).
    reusePort: settings.workers > 1,
    // Closes connections that are idle or whose request arrives too slowly; lifted while an answer is awaited.
    idleTimeout: idleSeconds,
    // Far above our own limit, whose refusal explains itself.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    routes: { ...endpointRoutes(table, serve), ...dashboardRoutes(options, connection, serve) },
    fetch: unknown,
    error: (error) => {
      options.onCrash(error, "");
      return jsonResponse({ detail: crashed.detail }, {}, 500);
    },
  });
  state.load.start();

  return {
    url: server.url.origin,
    streams: state.streams,
    messageCache: state.messageCache,
    load: state.load,
    /** The health report of this process alone. */
    health: () => healthReport(options, state.startedMs),
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

/** What the endpoints share. */
interface ServerState {
  readonly connection: ServerConnection;
  readonly startedMs: number;
  readonly streams: OpenRequests;
  /** What is known of messages of earlier requests. */
  readonly messageCache: MessageCache;
  readonly load: LoadSampler;
  isDraining: boolean;
}

const crashed: HttpError = {
  status: 500,
  detail: "The gateway failed on this request; its log says where.",
  code: "internal_error",
};

function endpointTable(options: ServerOptions, state: ServerState): EndpointTable {
  const { ports, records } = options;
  const { bodies } = state.connection;
  const post = (label: Endpoint["label"], admission: Endpoint["admission"], handler: Endpoint["handler"]): Endpoint => {
    return { method: "POST", label, admission, handler };
  };
  const get = (label: Endpoint["label"], handler: Endpoint["handler"]): Endpoint => {
    return { method: "GET", label, admission: "token", handler };
  };
  const open = (handler: Endpoint["handler"], isProbe = false): Endpoint => {
    return { method: "GET", label: "other", admission: "open", handler, isProbe };
  };
  const health = async () => (await options.gatewayHealth?.()) ?? healthReport(options, state.startedMs);
  const table: EndpointTable = {
    "/": open(rootEndpoint(() => table)),
    "/v1/chat/completions": post("chat_completions", "ledger", chatEndpoint({ ...options, ...state })),
    "/v1/route/decision": post("route_decision", "room", routeDecisionEndpoint(options, bodies)),
    "/v1/route/outcome": post("route_outcome", "room", routeOutcomeEndpoint(options, bodies)),
    "/v1/route/status": get("route_status", routeStatusEndpoint(options)),
    [decisionRecordPath]: get("route_decisions", decisionRecordEndpoint(records)),
    "/v1/models": get("models", modelsEndpoint(ports)),
    [modelPath]: get("models", modelEndpoint(ports)),
    "/healthz": open(async (_request, _, common) => {
      const { body, status } = await health();
      return jsonResponse(body, common, status);
    }, true),
    "/livez": open(livenessEndpoint(ports), true),
    "/readyz": open(readinessEndpoint(ports, state), true),
    "/metrics": open(metricsEndpoint(options)),
    "/openapi.json": open(openApiEndpoint()),
  };
  return table;
}

/** Why a request may not be served now, in the order of the checks; else the line of its token. */
type AdmissionCheck = (headers: Headers, admission: Endpoint["admission"]) => ReturnType<typeof authorize>;

function admissionCheck({ settings, ports, keys }: ServerOptions, { load, streams }: ServerState): AdmissionCheck {
  const limit = maxStreams();
  const rates = new KeyRates(settings.workers);
  return (headers, admission) => {
    if (admission === "open") return anyone;
    const authorized = authorize(headers, settings.authMinTokenLength, keys(), ports.clock.now());
    if ("status" in authorized || admission === "token") return authorized;
    const tooMany = authorized.key && rates.take(authorized.key, ports.clock.monotonic());
    if (tooMany !== undefined) return tooMany;
    const { eventLoopDelayMs, memoryShare } = load;
    const ledgerOldestMs = admission === "ledger" ? ports.ledger.oldestMs() : 0;
    const activeStreams = streams.count;
    const reason = shedReason({ activeStreams, maxStreams: limit, eventLoopDelayMs, memoryShare, ledgerOldestMs });
    return reason === undefined ? authorized : overloadError(reason, ports.ledger.status());
  };
}

/** @param tracedAs the path that the traces of the requests name; undefined: they are not traced */
type Serve = (endpoint: Omit<Endpoint, "method">, tracedAs?: string) => (request: Request) => Promise<Response>;

/** What applies to every request: its id, origin check and admission, the answer to an error, and the end of a body that nobody reads. */
function requestGuard(options: ServerOptions, state: ServerState): Serve {
  const { ports, settings, onCrash, onRejected, traces } = options;
  const { connection } = state;
  const originProblem = originCheck(settings);
  const admit = admissionCheck(options, state);
  const isDemo = settings.upstream.kind === "demo";
  // Enough that callers who send somewhat too much read the refusal only after they have sent it all.
  const maxLingeringBytes = 4 * settings.maxRequestBytes;
  return ({ handler, label: route, admission, isProbe }, tracedAs) =>
    async (request) => {
      if (tracedAs !== undefined) traces?.started(request, tracedAs);
      const { headers, method } = request;
      const requestId = requestIdOf(headers, ports.config().privacy);
      const common: Record<string, string> = { "x-request-id": requestId };
      if (isDemo) common["x-smart-gateway-demo"] = "true";
      // The runtime closes the connection as asked, and does not say so by itself.
      if (closesAfter(headers.get("connection"))) common["connection"] = "close";
      let answer: Answer;
      let label: string | undefined;
      try {
        const admitted = originProblem(headers) ?? admit(headers, admission);
        // It may wait for the database longer than a connection may be idle.
        if (method === "GET") connection.liftIdleTimeout(request);
        label = "status" in admitted ? admitted.label : admitted.key?.label;
        answer = "status" in admitted ? admitted : await handler(request, requestId, common, admitted.key);
      } catch (error) {
        onCrash(error, requestId);
        answer = crashed;
      }
      const error = answer instanceof Response ? undefined : answer;
      const response = answer instanceof Response ? answer : errorResponse(answer, request, common);
      const { status } = response;
      if (method === "GET" && !response.headers.get("content-type")?.startsWith("text/event-stream"))
        connection.restoreIdleTimeout(request);
      if (
        status >= 400 &&
        !response.headers.has("x-smart-gateway-decision-id") &&
        !(isProbe === true && status === 503)
      )
        onRejected({
          requestId,
          route,
          method,
          status,
          label,
          code: error?.code,
          param: error?.param,
          model: error?.model,
        });
      const sent = hasUnreadBody(request, response)
        ? await withLingeringClose(request, response, ports.timers, maxLingeringBytes)
        : response;
      if (tracedAs !== undefined) traces?.answered(request, sent);
      return sent;
    };
}

type Routes = { [path: string]: { [method: string]: ReturnType<Serve> } };

/** The table as the runtime's router takes it. */
function endpointRoutes(table: EndpointTable, serve: Serve): Routes {
  return Object.fromEntries(
    Object.entries(table).map(([path, endpoint]) => {
      const served = serve(endpoint, path.startsWith("/v1/") ? path : undefined);
      return [path, endpoint.method === "GET" ? { GET: served, HEAD: served } : { POST: served }];
    }),
  );
}

/** The dashboard answers its path and everything below it, with all methods. */
function dashboardRoutes({ dashboard }: ServerOptions, connection: ServerConnection, serve: Serve): Routes {
  if (dashboard === undefined) return {};
  const served = serve({ handler: dashboard(connection), label: "dashboard", admission: "open" });
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  const routes = Object.fromEntries(methods.map((method) => [method, served]));
  return { "/dashboard": routes, "/dashboard/*": routes };
}

/** Whether a `Connection` header asks for the connection to be closed after the answer. */
function closesAfter(connection: string | null): boolean {
  return connection !== null && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection);
}
