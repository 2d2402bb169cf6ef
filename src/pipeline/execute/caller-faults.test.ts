import { describe, expect, test } from "bun:test";
import type { Permit, Verdict } from "#health/health.ts";
import { aModel } from "#pipeline/decide/fixtures.ts";
import { chargeOf, verdictOf } from "#pipeline/settle/consequences.ts";
import { ignoreCallerFaults, isOrdinary } from "./caller-faults.ts";

const messages = [{ role: "user", content: "hello" }];
const model = aModel({ key: "m", role: "worker", contextTokens: 1_000 });

function verdictFrom(verdict: Verdict, body: object, inputTokensEstimate = 10): Verdict["kind"] | undefined {
  let seen: Verdict | undefined;
  const permit: Permit = {
    model: "m",
    epoch: 7,
    probe: true,
    answering() {},
    report(reported) {
      seen = reported;
    },
  };
  const size = { inputTokensBound: 10_000, inputTokensEstimate, requestedOutputTokens: null, choices: 1 };
  const fair = ignoreCallerFaults(permit, model, { body: { messages, ...body }, size });
  expect([fair.model, fair.epoch, fair.probe]).toEqual(["m", 7, true]);
  fair.report(verdict);
  return seen?.kind;
}

describe("a request itself can cause an answer that is empty, unreadable or expensive", () => {
  test.each<object>([
    { max_tokens: 1 },
    { max_completion_tokens: 255 },
    { stop: ["e"] },
    { logit_bias: { "1": 100 } },
    { n: 2 },
    { temperature: 2 },
    { response_format: { type: "json_object" } },
    { top_logprobs: 20, logprobs: true },
    { models: ["x"] },
    { anything_unknown: 1 },
    { messages: [...messages, { role: "assistant", content: "hello" }] },
  ])("%j", (body) => {
    expect(isOrdinary({ messages, ...body })).toBe(false);
    expect(verdictFrom({ kind: "garbage", reason: "empty answer" }, body)).toBe("ignored");
    expect(verdictFrom({ kind: "price_breach" }, body)).toBe("ignored");
    expect(verdictFrom({ kind: "failure", reason: "upstream_error 500" }, body)).toBe("failure");
    expect(verdictFrom({ kind: "success", firstTokenMs: 1 }, body)).toBe("success");
  });
});

test("the evidence of an ordinary request counts in full", () => {
  expect(verdictFrom({ kind: "garbage", reason: "empty answer" }, {})).toBe("garbage");
  expect(verdictFrom({ kind: "price_breach" }, {})).toBe("price_breach");
  expect(verdictFrom({ kind: "failure", reason: "timed_out" }, {})).toBe("failure");
});

test("a time-out of a prompt that fills the context window does not count; a 500 does", () => {
  expect(verdictFrom({ kind: "failure", reason: "timed_out" }, {}, 900)).toBe("ignored");
  expect(verdictFrom({ kind: "failure", reason: "upstream_error 500" }, {}, 900)).toBe("failure");
});

test("a time-out before anything was sent is about the way to the aggregator, not about the model", () => {
  const timedOut = { kind: "timed_out", message: "m" } as const;
  expect(verdictOf({ ...timedOut, dispatched: false }, "m").kind).toBe("aggregator_failure");
  expect(verdictOf({ ...timedOut, dispatched: true }, "m").kind).toBe("failure");
});

describe("a 4xx", () => {
  const id = "vendor/model-4.1";
  const of = (status: number, message: string, kind: "rejected" | "unauthorized" = "rejected") =>
    verdictOf({ kind, status, message, dispatched: true }, id).kind;

  test.each([
    [404, `No endpoints found for ${id}.`],
    [404, `The model \`${id}\` does not exist or you do not have access to it.`],
    [404, `model "${id}" not found, try pulling it first`],
    [400, `${id} is not a valid model ID`],
  ])("%d that names the model as unknown delists it: %s", (status, message) =>
    expect(of(status, message)).toBe("delisted"),
  );

  test.each([
    [404, "No endpoints found that support tool use. To learn more about provider routing, visit: …"],
    [404, "No endpoints found that support the provided 'tool_choice' value."],
    [404, "No endpoints found matching your data policy (Zero data retention)."],
    [404, `No endpoints found for ${id} that support image input`],
    [404, "No endpoints found for vendor/other."],
    [404, `No tool named ${id} is not a valid model ID`],
    [404, "Not Found"],
    [404, ""],
    [400, "other is not a valid model ID"],
    [422, `${id} is not a valid model ID`],
  ])("%d that does not is ignored: %s", (status, message) => expect(of(status, message)).toBe("ignored"));

  test("402 about this request is not a failure of the aggregator", () => {
    const message = "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens";
    expect(of(402, message, "unauthorized")).toBe("ignored");
  });

  test.each([
    [401, "No auth credentials found"],
    [402, "Insufficient credits"],
    [403, "Key limit exceeded"],
  ])("%d about our account is one: %s", (status, message) =>
    expect(of(status, message, "unauthorized")).toBe("aggregator_failure"),
  );
});

test("only what an upstream provably does not bill costs nothing", () => {
  const failure = { kind: "rejected", message: "", dispatched: true } as const;
  for (const status of [400, 404, 413, 422]) expect(chargeOf({ ...failure, status })).toBe("nothing");
  expect(chargeOf({ ...failure, status: 418 })).toBe("unknown");
  expect(chargeOf({ ...failure, status: 400, begun: true })).toBe("unknown");
  expect(chargeOf({ kind: "timed_out", message: "", dispatched: true })).toBe("unknown");
  expect(chargeOf({ kind: "timed_out", message: "", dispatched: false })).toBe("nothing");
});
