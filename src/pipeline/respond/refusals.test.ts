import { expect, test } from "bun:test";
import { errorCodes } from "#domain/error-codes.ts";
import { failureKinds } from "#upstream/upstream.ts";
import { failureAnswer } from "./failure-answer.ts";

test.each(failureKinds)("the failure %s has a documented code, with its status", (kind) => {
  const { code, status } = failureAnswer({ kind, message: "", dispatched: true });
  expect(errorCodes[status as keyof typeof errorCodes] as readonly string[]).toContain(code);
});
