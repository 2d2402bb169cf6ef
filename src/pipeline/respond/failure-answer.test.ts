import { expect, test } from "bun:test";
import { errorMeanings } from "#domain/codes/error-codes.ts";
import { failureKinds } from "#upstream/upstream.ts";
import { codeOf, statusOf } from "./failure-answer.ts";

test.each(failureKinds)("the failure %s has a documented code, with its status", (kind) => {
  const failure = { kind, message: "", dispatched: true };
  const code = codeOf(failure);
  expect(Object.keys(errorMeanings)).toContain(code);
  const { status }: { readonly status: readonly number[] } = errorMeanings[code as keyof typeof errorMeanings];
  expect(status).toEqual([statusOf(failure)]);
});
