import { errorOf } from "#domain/errors.ts";
import { keyRateCheck, tokenCheck } from "./access/caller-keys.ts";
import { originCheck } from "./access/origin-check.ts";
import { MessageCache } from "./chat-body/message-cache.ts";
import {
  type Answer,
  type Check,
  type Endpoint,
  type EndpointTable,
  type Handler,
  type HttpContext,
  jsonResponse,
  type RouteLabel,
} from "./endpoint.ts";
import { chatEndpoint } from "./endpoints/chat.ts";
import { decisionRecordEndpoint, decisionRecordPath } from "./endpoints/decision-record.ts";
import { healthEndpoint, healthReport } from "./endpoints/health.ts";
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
import { LoadSampler, ledgerCheck, loadCheck } from "./limits/overload.ts";
import { notFound } from "./not-found.ts";
import { requestIdOf } from "./request/headers.ts";
import type { ServerConnection, ServerOptions } from "./server-options.ts";

const defaultIdleSeconds = 10;
/** Ticks of the event loop within which an answer that is known is written. */
const ticksToWrite = 100;
const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

export type HttpServer = ReturnType<typeof startServer>;

/** Starts the HTTP server: each request passes the checks of its endpoint, then its handler answers. */
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
  const checks = endpointChecks(options, state);
  const table = endpointTable(options, state, checks);
  const serve = requestServer(options, connection);
  const unknown = serve({ handler: (request) => notFound(request, table), label: "other", checks: checks.open });

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
    routes: { ...endpointRoutes(table, serve), ...dashboardRoutes(options, connection, checks.open, serve) },
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

const crashed = errorOf("internal_error");

/** What is checked before a body is read, by kind of endpoint; in this order. */
type EndpointChecks = Readonly<Record<"open" | "read" | "write" | "spend", readonly Check[]>>;

function endpointChecks(options: ServerOptions, { load, streams }: ServerState): EndpointChecks {
  const { settings, ports } = options;
  const open = [originCheck(settings)];
  const read = [...open, tokenCheck(options)];
  const write = [...read, keyRateCheck(ports.clock, settings.workers), loadCheck(load, streams)];
  return { open, read, write, spend: [...write, ledgerCheck(ports.ledger)] };
}

function endpointTable(options: ServerOptions, state: ServerState, checks: EndpointChecks): EndpointTable {
  const { ports, records } = options;
  const { bodies } = state.connection;
  const of = (method: Endpoint["method"], kind: keyof EndpointChecks) => (label: RouteLabel, handler: Handler) => {
    return { method, label, checks: checks[kind], handler };
  };
  const [get, post, chat] = [of("GET", "read"), of("POST", "write"), of("POST", "spend")];
  const open = (handler: Handler, isProbe = false) => ({ ...of("GET", "open")("other", handler), isProbe });
  const table: EndpointTable = {
    "/": open(rootEndpoint(() => table)),
    "/v1/chat/completions": chat("chat_completions", chatEndpoint({ ...options, ...state })),
    "/v1/route/decision": post("route_decision", routeDecisionEndpoint(options, bodies)),
    "/v1/route/outcome": post("route_outcome", routeOutcomeEndpoint(options, bodies)),
    "/v1/route/status": get("route_status", routeStatusEndpoint(options)),
    [decisionRecordPath]: get("route_decisions", decisionRecordEndpoint(records)),
    "/v1/models": get("models", modelsEndpoint(ports)),
    [modelPath]: get("models", modelEndpoint(ports)),
    "/healthz": open(healthEndpoint(options, state), true),
    "/livez": open(livenessEndpoint(ports), true),
    "/readyz": open(readinessEndpoint(ports, state), true),
    "/metrics": open(metricsEndpoint(options)),
    "/openapi.json": open(openApiEndpoint()),
  };
  return table;
}

/** @param tracedAs the path that the traces of the requests name; undefined: they are not traced */
type Serve = (endpoint: Omit<Endpoint, "method">, tracedAs?: string) => (request: Request) => Promise<Response>;

/** What is done with every request: its context, the endpoint's checks, its answer, the report of an error. */
function requestServer(options: ServerOptions, connection: ServerConnection): Serve {
  const { ports, settings, onCrash, traces } = options;
  // Enough that callers who send somewhat too much read the refusal only after they have sent it all.
  const maxLingeringBytes = 4 * settings.maxRequestBytes;
  return (endpoint, tracedAs) => async (request) => {
    if (tracedAs !== undefined) traces?.started(request, tracedAs);
    const context = contextOf(request, options);
    const isGet = request.method === "GET";
    let answer: Answer;
    try {
      const refusal = firstRefusal(endpoint.checks, request, context);
      // It may wait for the database longer than a connection may be idle.
      if (isGet) connection.liftIdleTimeout(request);
      answer = refusal ?? (await endpoint.handler(request, context));
    } catch (error) {
      onCrash(error, context.requestId);
      answer = crashed;
    }
    const response = answer instanceof Response ? answer : errorResponse(answer, request, context.headers);
    if (isGet && !response.headers.get("content-type")?.startsWith("text/event-stream"))
      connection.restoreIdleTimeout(request);
    if (response.status >= 400) reportRejection(endpoint, request, context, answer, response, options);
    const sent = hasUnreadBody(request, response)
      ? await withLingeringClose(request, response, ports.timers, maxLingeringBytes)
      : response;
    if (tracedAs !== undefined) traces?.answered(request, sent);
    return sent;
  };
}

function contextOf({ headers }: Request, { ports, settings }: ServerOptions): HttpContext {
  const requestId = requestIdOf(headers, ports.config().privacy);
  const common: Record<string, string> = { "x-request-id": requestId };
  if (settings.upstream.kind === "demo") common["x-smart-gateway-demo"] = "true";
  // The runtime closes the connection as asked, and does not say so by itself.
  if (closesAfter(headers.get("connection"))) common["connection"] = "close";
  return { requestId, headers: common };
}

function firstRefusal(checks: readonly Check[], request: Request, context: HttpContext): HttpError | undefined {
  for (const check of checks) {
    const refusal = check(request, context);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Reports an error that has no decision, and so no record of its own. */
function reportRejection(
  { label: route, isProbe }: Omit<Endpoint, "method">,
  { method }: Request,
  { requestId, key }: HttpContext,
  answer: Answer,
  { status, headers }: Response,
  { onRejected }: ServerOptions,
): void {
  if (headers.has("x-smart-gateway-decision-id") || (isProbe === true && status === 503)) return;
  const { code, param, model, label = key?.label }: Partial<HttpError> = answer instanceof Response ? {} : answer;
  onRejected({ requestId, route, method, status, code, param, model, label });
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
function dashboardRoutes(
  { dashboard }: ServerOptions,
  connection: ServerConnection,
  checks: readonly Check[],
  serve: Serve,
): Routes {
  if (dashboard === undefined) return {};
  const served = serve({ handler: dashboard(connection), label: "dashboard", checks });
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  const routes = Object.fromEntries(methods.map((method) => [method, served]));
  return { "/dashboard": routes, "/dashboard/*": routes };
}

/** Whether a `Connection` header asks for the connection to be closed after the answer. */
function closesAfter(connection: string | null): boolean {
  return connection !== null && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection);
}
