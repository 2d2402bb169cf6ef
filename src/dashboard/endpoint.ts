import type { z } from "zod";
import { type ErrorName, errorOf } from "#domain/errors.ts";
import type { HttpError } from "#http/errors.ts";
import type { Operator } from "#operator/audit.ts";
import { OperatorProblem } from "#operator/problem.ts";
import type { EventStream } from "./event-stream.ts";

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

/**
 * An endpoint under `/dashboard/api/`: the page's client takes the type of the answer from what `answer` returns, or
 * from the events that `events` writes into the stream. `events` returns how to stop when the caller goes.
 */
export interface Endpoint<Q extends z.ZodObject, B extends z.ZodType, A> {
  /** For the reference page. */
  readonly about: string;
  readonly query?: Q;
  readonly body?: B;
  answer?(call: Call<z.output<Q>, z.output<B>>): A | Promise<A>;
  events?(call: Call<z.output<Q>, z.output<B>>, stream: EventStream<A>): () => void;
}

/** Gives an endpoint the types of its schemas. */
export function endpoint<A, Q extends z.ZodObject, B extends z.ZodType>(given: Endpoint<Q, B, A>): Endpoint<Q, B, A> {
  return given;
}

/** Thrown anywhere in the dashboard: the error that the call is answered with. */
export class Refusal extends Error {
  readonly error: HttpError;

  constructor(error: HttpError) {
    super(error.detail);
    this.error = error;
  }
}

const answers = {
  invalid: "invalid_request.fields",
  not_found: "not_found.dashboard",
  conflict: "invalid_request.conflict",
  unavailable: "store_unavailable.operation",
} as const satisfies Record<OperatorProblem["kind"], ErrorName>;

/** The answer to what was thrown; undefined for what is no refusal. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof OperatorProblem)) return error instanceof Refusal ? error : undefined;
  const answer = errorOf(answers[error.kind], { problem: error.message });
  return new Refusal({ ...answer, code: error.code ?? answer.code });
}

export function wrongMethod(taker: string, method: string, taken: readonly string[]): Refusal {
  const allow = taken.join(", ");
  return new Refusal({ ...errorOf("method_not_allowed", { taker, method, allow }), headers: { allow } });
}
