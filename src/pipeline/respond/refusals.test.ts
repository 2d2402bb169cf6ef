import { expect, test } from "bun:test";
import { errorMeanings } from "#domain/codes/error-codes.ts";
import { failureKinds } from "#upstream/upstream.ts";
import { failureAnswer } from "./failure-answer.ts";

test.each(failureKinds)("the failure %s has a documented code, with its status", (kind) => {
  const { code, status } = failureAnswer({ kind, message: "", dispatched: true });
  expect(Object.keys(errorMeanings)).toContain(code);
  const documented: { readonly status: readonly number[] } = errorMeanings[code as keyof typeof errorMeanings];
  expect(documented.status).toEqual([status]);
});
