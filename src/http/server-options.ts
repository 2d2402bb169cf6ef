import type { AuthKeys } from "#config/auth-keys.ts";
import type { ConfigStatus } from "#config/live-config.ts";
import type { Settings } from "#config/settings.ts";
import type { TraceContext } from "#domain/chat.ts";
import type { Outcome, RoutingDecision } from "#domain/routing.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestRecord } from "#records/record.ts";
import type { Handler, RouteLabel } from "./endpoint.ts";
import type { BodiesInFlight } from "./limits/bodies-in-flight.ts";
import type { HealthAnswer } from "./openapi/schemas.ts";

/** What an endpoint needs of the server beside the request. */
export interface ServerConnection {
  /** The peer's address, as the socket has it; "" when it has gone. */
  addressOf(request: Request): string;
  /** For a caller who waits for an answer, and for streams, which are idle most of the time. */
  liftIdleTimeout(request: Request): void;
  /** Before the last part of the answer is sent: afterwards the runtime no longer knows the request. */
  restoreIdleTimeout(request: Request): void;
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

/** The decision records. What reads or writes the store rejects while that does not answer. */
export interface RecordsPort {
  /** For `/healthz`; undefined where none are kept. */
  health(): HealthAnswer["records"];
  /** A decision's record with its explanation, by its id or its request's; undefined where there is none. */
  explained(id: string): Promise<object | undefined>;
  /** The explanation of a request that goes on, or has just ended. */
  explainNow(record: RequestRecord): object;
  /** Keeps what a caller reports of a decision; false for an unknown one. The score is 0 to 1, or null. */
  reportOutcome(
    report: { decisionId: string; outcome: Outcome; score: number | null },
    caller: number,
  ): Promise<boolean> | undefined;
}

/** A request that was answered with an error and has no record of its own. */
export interface RejectedRequest {
  readonly requestId: string;
  readonly route: RouteLabel;
  readonly method: string;
  readonly status: number;
  readonly code: string | undefined;
  /** The field or header at fault, what stood in `model`, and the label of the caller's key, where known. */
  readonly param: string | undefined;
  readonly model: string | undefined;
  readonly label: string | undefined;
}

export interface HealthReport {
  readonly status: number;
  readonly body: HealthAnswer;
}

/** The combined answers of all workers; undefined while they cannot be asked. */
export interface WorkersView {
  metricsText(): Promise<string | undefined>;
  health(): Promise<HealthReport | undefined>;
}

export interface ServerOptions {
  readonly settings: Settings;
  readonly version: string;
  /** The commit that the program was made of. */
  readonly commit: () => string;
  readonly ports: Ports;
  /** The tokens of `AUTH_KEYS_FILE`; undefined: every long-enough one is accepted. */
  readonly keys: () => AuthKeys | undefined;
  readonly records: RecordsPort;
  /** The model that a goal was last sent to by this process, and when; undefined when that is long ago. */
  readonly lastModel: (goal: string) => { readonly model: string; readonly atMs: number } | undefined;
  /** Whether the files' configuration is in force, for `/healthz`. */
  readonly configStatus: () => ConfigStatus;
  readonly metricsText: () => Promise<string>;
  /** Where there are several workers: they answer as one gateway. */
  readonly workers?: WorkersView | undefined;
  /** Present where requests are traced. */
  readonly traces?: RequestTraces | undefined;
  /** Answers everything under `/dashboard`, all methods. */
  readonly dashboard?: (connection: ServerConnection) => Handler;
  readonly onRejected: (request: RejectedRequest) => void;
  /** Called with each decision of the dry run. */
  readonly onDryRun: (decision: RoutingDecision, durationMs: number) => void;
  /** Called with an unexpected error; the request is answered 500. */
  readonly onCrash: (error: unknown, requestId: string) => void;
  /** A connection without a request, or whose request does not arrive, is closed after so long. Default 10. */
  readonly idleSeconds?: number | undefined;
}
