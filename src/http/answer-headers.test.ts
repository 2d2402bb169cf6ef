import { expect, test } from "bun:test";
import fc from "fast-check";
import { AnswerHeaders } from "./answer-headers.ts";

const values = fc.dictionary(
  fc.constantFrom("x-request-id", "connection", "content-type", "x-smart-gateway-rule", "x-smart-gateway-model"),
  fc.constantFrom("", "a", "b", "close"),
);

test("each answer has its own headers and none of earlier answers", () => {
  fc.assert(
    fc.property(fc.array(values, { maxLength: 12 }), (answers) => {
      const headers = new AnswerHeaders();
      const responses = answers.map((own) => new Response("", { headers: headers.of(own) }));
      const received = responses.map((response) => Object.fromEntries(response.headers));
      expect(received).toEqual(answers.map((own) => ({ ...own })));
    }),
  );
});

test("a value that is not valid in a header leaves nothing of its answer behind", () => {
  const headers = new AnswerHeaders();
  headers.of({ "x-request-id": "first", "x-smart-gateway-model": "a" });
  expect(() => headers.of({ "x-request-id": "second", "x-smart-gateway-model": "a\nb" })).toThrow();
  const next = new Response("", { headers: headers.of({ "x-request-id": "first", "x-smart-gateway-model": "a" }) });
  expect(Object.fromEntries(next.headers)).toEqual({ "x-request-id": "first", "x-smart-gateway-model": "a" });
});
