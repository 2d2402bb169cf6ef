import type { ErrorCode } from "#domain/errors.ts";

/** Why something that an operator asked cannot be done. Commands end with it, the dashboard's API answers it. */
export class OperatorProblem extends Error {
  readonly kind: "invalid" | "not_found" | "conflict" | "unavailable";
  readonly code: ErrorCode | undefined;

  constructor(kind: OperatorProblem["kind"], detail: string, code?: ErrorCode) {
    super(detail);
    this.kind = kind;
    this.code = code;
  }
}

/** A bug of ours, which nobody who asked can do anything about. */
export function isDefect(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError].some((type) => error instanceof type);
}

/** What was given is not what it must be. */
export function invalidInput(detail: string): OperatorProblem {
  return new OperatorProblem("invalid", detail);
}

/** What was asked for cannot be had now. */
export function unavailable(detail: string): OperatorProblem {
  return new OperatorProblem("unavailable", detail);
}
