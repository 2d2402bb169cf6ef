import type { z } from "zod";
import type { Operator } from "#dashboard/access/access.ts";
import type { AnswerOf, DashboardApi, DashboardEndpoint } from "#dashboard/api-schema.ts";
import type { ErrorCode } from "#domain/codes/error-codes.ts";
import type { HttpError } from "#http/errors.ts";
import type { EventStream } from "./event-stream.ts";

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

/** One endpoint. Where it has events it writes them into the stream, and returns how to stop when the caller goes. */
export type ApiHandler<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly events: z.ZodType }
  ? (call: ApiCall<E>, stream: EventStream<AnswerOf<E>>) => () => void
  : (call: ApiCall<E>) => AnswerOf<E> | Promise<AnswerOf<E>>;

export type ApiHandlers<E extends DashboardEndpoint = DashboardEndpoint> = { readonly [K in E]: ApiHandler<K> };

/** Thrown by a handler: the error that the call is answered with. */
export class ApiProblem extends Error {
  readonly error: HttpError;

  constructor(status: number, detail: string, code: ErrorCode = "invalid_request") {
    super(detail);
    this.error = { status, detail, code, ...(status === 503 ? { headers: { "retry-after": "1" } } : {}) };
  }
}

/** The same object, whose promises reject with a 503: a driver's message may hold the database's address. */
export function answering<T extends object>(source: T, detail: string, code: ErrorCode): T {
  return new Proxy(source, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        if (!(result instanceof Promise)) return result;
        return result.catch(() => {
          throw new ApiProblem(503, detail, code);
        });
      };
    },
  });
}
