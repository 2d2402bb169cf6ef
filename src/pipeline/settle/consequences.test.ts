import { describe, expect, test } from "bun:test";
import { chargeOf, verdictOf } from "./consequences.ts";

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
  ])("%d that does not is a refusal: %s", (status, message) => expect(of(status, message)).toBe("refused"));

  test.each([401, 402, 403])("%d is about the account or the request, and is never held against a model", (status) =>
    expect(of(status, "", "unauthorized")).toBe("refused"),
  );

  test("a web page in the place of an answer is a firewall's or a proxy's", () => {
    const garbage = { kind: "garbage", message: "", dispatched: true } as const;
    expect(verdictOf(garbage, id).kind).toBe("garbage");
    expect(verdictOf({ ...garbage, isPage: true }, id).kind).toBe("refused");
    expect(verdictOf({ ...garbage, kind: "upstream_error", status: 502, isPage: true }, id).kind).toBe("failure");
  });
});

test("only what an upstream provably does not bill costs nothing", () => {
  const failure = { kind: "rejected", message: "", dispatched: true } as const;
  for (const status of [400, 404, 413, 422]) expect(chargeOf({ ...failure, status })).toBe("nothing");
  expect(chargeOf({ ...failure, status: 418 })).toBe("unknown");
  expect(chargeOf({ ...failure, status: 400, begun: true })).toBe("unknown");
  expect(chargeOf({ kind: "timed_out", message: "", dispatched: true })).toBe("unknown");
  expect(chargeOf({ kind: "timed_out", message: "", dispatched: false })).toBe("nothing");
});
