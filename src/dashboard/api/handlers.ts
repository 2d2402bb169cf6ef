import type { z } from "zod";
import type { Operator } from "#dashboard/access/access.ts";
import type { AnswerOf, DashboardApi, DashboardEndpoint } from "#dashboard/api-schema.ts";
import type { EventStream } from "#dashboard/live/event-stream.ts";
import type { ErrorCode } from "#domain/codes/error-codes.ts";
import type { HttpError } from "#http/errors.ts";

/** What a handler is called with: everything has been checked against the endpoint's schemas. */
export interface ApiCall<E extends DashboardEndpoint> {
  readonly operator: Operator;
  /** The values of `{…}` in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: DashboardApi[E] extends { readonly query: infer S extends z.ZodType } ? z.output<S> : undefined;
  readonly body: DashboardApi[E] extends { readonly body: infer S extends z.ZodType } ? z.output<S> : undefined;
  /** `Last-Event-ID` of a stream that the caller resumes. */
  readonly lastEventId: string | undefined;
}

type EventsOf<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly events: infer S extends z.ZodType }
  ? z.output<S>
  : never;

/** One endpoint. Where it has events it writes them into the stream, and returns how to stop when the caller goes. */
export type ApiHandler<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly events: z.ZodType }
  ? (call: ApiCall<E>, stream: EventStream<EventsOf<E>>) => () => void
  : (call: ApiCall<E>) => AnswerOf<E> | Promise<AnswerOf<E>>;

export type ApiHandlers = { readonly [E in DashboardEndpoint]: ApiHandler<E> };

/** Thrown by a handler: an answer with this status, message and code. */
export class ApiProblem extends Error {
  readonly error: HttpError;

  constructor(error: HttpError);
  constructor(status: number, detail: string, code: ErrorCode);
  constructor(error: HttpError | number, detail = "", code: ErrorCode = "invalid_request") {
    const whole: HttpError =
      typeof error === "object"
        ? error
        : { status: error, detail, code, ...(error === 503 ? { headers: { "retry-after": "1" } } : {}) };
    super(whole.detail);
    this.error = whole;
  }
}
