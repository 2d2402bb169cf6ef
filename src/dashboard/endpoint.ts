import type { z } from "zod";
import type { ErrorCode } from "#domain/codes/error-codes.ts";
import type { HttpError } from "#http/errors.ts";
import type { EventStream } from "./event-stream.ts";

/** Who uses the dashboard: the name for the audit log, and how they came in (`loopback`: a program of this machine, no token is set). */
export interface Operator {
  readonly name: string;
  readonly by: "loopback" | "session" | "token";
}

/** What an endpoint is called with: query and body have passed its schemas. */
export interface Call<Query = unknown, Body = unknown> {
  readonly operator: Operator;
  /** The values of `{…}` in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** `Last-Event-ID` of a stream that the caller resumes. */
  readonly lastEventId: string | undefined;
}

interface Taken<Q extends z.ZodObject, B extends z.ZodType> {
  /** For the reference page. */
  readonly about: string;
  readonly query?: Q;
  readonly body?: B;
}

/** An endpoint under `/dashboard/api/`. The page's client takes the type of the answer from what `answer` returns. */
export interface Endpoint<Q extends z.ZodObject, B extends z.ZodType, A> extends Taken<Q, B> {
  answer(call: Call<z.output<Q>, z.output<B>>): A | Promise<A>;
}

/** An endpoint of server-sent events: writes them into the stream, and returns how to stop when the caller goes. */
export interface EventEndpoint<Q extends z.ZodObject, B extends z.ZodType, T> extends Taken<Q, B> {
  events(call: Call<z.output<Q>, z.output<B>>, stream: EventStream<T>): () => void;
}

/** Gives an endpoint the types of its schemas. */
export function endpoint<A, Q extends z.ZodObject, B extends z.ZodType>(given: Endpoint<Q, B, A>): Endpoint<Q, B, A> {
  return given;
}

export function eventEndpoint<T, Q extends z.ZodObject, B extends z.ZodType>(
  given: EventEndpoint<Q, B, T>,
): EventEndpoint<Q, B, T> {
  return given;
}

/** Thrown anywhere in the dashboard: the error that the call is answered with. */
export class Refusal extends Error {
  readonly error: HttpError;

  constructor(status: number, detail: string, code: ErrorCode = "invalid_request", headers = {}) {
    super(detail);
    this.error = { status, detail, code, headers: { ...(status === 503 ? { "retry-after": "1" } : {}), ...headers } };
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
          throw new Refusal(503, detail, code);
        });
      };
    },
  });
}
