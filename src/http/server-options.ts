import type { Outcome, RoutingDecision } from "#domain/routing.ts";
import type { TraceContext } from "#domain/trace-context.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestRecord } from "#records/record.ts";
import type { AuthRules } from "./access/auth.ts";
import type { PieceCache } from "./chat-body/piece-cache.ts";
import type { Handler, RouteLabel } from "./endpoint.ts";
import type { ConfigStatus, HealthReport, RecordsHealth } from "./endpoints/health.ts";
import type { BodiesInFlight } from "./limits/bodies-in-flight.ts";

/** What a caller reports at `POST /v1/route/outcome`. */
export interface OutcomeReport {
  readonly decisionId: string;
  readonly outcome: Outcome;
  /** From 0 to 1; null where the caller gave none. */
  readonly score: number | null;
}

/** What a part that answers a whole folder of paths needs of the server. */
export interface ServerConnection {
  /** The peer's address, as the socket has it; "" when it has gone. */
  addressOf(request: Request): string;
  /** For streams, which are idle most of the time. */
  liftIdleTimeout(request: Request): void;
  readonly bodies: BodiesInFlight;
}

/** Follows requests from their head to the end of their answer. */
export interface RequestTraces {
  started(request: Request, route: string): void;
  /** What calls made for the request have as their parent. */
  contextOf(request: Request): TraceContext | undefined;
  /** The answer begins; one that does not stream is whole. */
  answered(request: Request, response: Response): void;
  streamEnded(request: Request): void;
}

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
  /** What is known of messages of earlier requests. */
  readonly pieces: PieceCache;
  /** Names beside the loopback ones under which a gateway on loopback may be called. */
  readonly allowedHosts: readonly string[];
  readonly auth: () => AuthRules;
  readonly ports: Ports;
  /** The model that a goal was last sent to by this process, and when; undefined when that is long ago. */
  readonly lastModel: (goal: string) => { readonly model: string; readonly atMs: number } | undefined;
  /** Whether the files' configuration is in force, for `/healthz`. */
  readonly configStatus: () => ConfigStatus;
  /** How the decision records are kept, for `/healthz`; undefined where none are. */
  readonly recordsHealth?: () => RecordsHealth | undefined;
  /** Undefined when it is not available now. */
  readonly metricsText: () => Promise<{ readonly text: string; readonly contentType: string } | undefined>;
  /** The report of all workers together, where there are several; undefined when it is not available now. */
  readonly gatewayHealth?: () => Promise<HealthReport | undefined>;
  /** Why a request should be refused before its body is read; undefined when there is room. */
  readonly shedReason: (activeRequests: number) => string | undefined;
  /** Present where requests are traced. */
  readonly traces?: RequestTraces;
  /** Keeps what a caller reports of a decision; false for an unknown one. Rejects when the store does not answer. */
  readonly reportOutcome: (report: OutcomeReport) => Promise<boolean>;
  /** Called for every request that was answered with an error and has no record of its own. */
  readonly onRejected: (event: {
    requestId: string;
    route: RouteLabel;
    method: string;
    status: number;
    code?: string;
  }) => void;
  /** Called with each decision of the dry run. */
  readonly onDryRun: (decision: RoutingDecision, durationMs: number) => void;
  /** Answers everything under `/dashboard`, all methods. */
  readonly dashboard?: (connection: ServerConnection) => Handler;
  /** A decision's record with its explanation, by its id or its request's; undefined where there is none. Rejects without the store. */
  readonly decisionRecord: (id: string) => Promise<object | undefined>;
  /** The explanation of a request that goes on, or has just ended. */
  readonly explain: (record: RequestRecord) => object;
  /** Called with an unexpected error; the request is answered 500. */
  readonly onCrash: (error: unknown, requestId: string) => void;
  /** A connection without a request, or whose request does not arrive, is closed after so long. Default 10. */
  readonly idleSeconds?: number;
}
