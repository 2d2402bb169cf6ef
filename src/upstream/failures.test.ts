import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json, JsonObject } from "#domain/chat.ts";
import { ConnectionError } from "#http-client/connection-error.ts";
import { HttpSyntaxError } from "#http-client/response/response-head.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { cleanMessage, errorAnswerFailure, errorBodyOf, errorIn, transportFailure } from "./failures.ts";

describe("a transport error", () => {
  const unsent: [string, string][] = [
    ["ECONNREFUSED", "connection refused"],
    ["ENOTFOUND", "host name not found"],
    ["EMFILE", "too many open files"],
    ["PROXY_REFUSED", "the proxy did not connect us"],
    ["ECONNRESET", "the connection was closed"],
    ["EUNKNOWN", "no connection"],
  ];
  for (const [code, what] of unsent) {
    test(`${code} before anything was sent: unreachable, ${what}`, () => {
      const message = `${what} (${code})`;
      const failure = transportFailure(new ConnectionError(code, false), false);
      expect(failure).toEqual({ kind: "unreachable", message, dispatched: false });
    });
  }

  const staged: [ConnectionError, string][] = [
    [
      new ConnectionError("CERT_HAS_EXPIRED", false, "handshake"),
      "TLS handshake failed: the certificate has expired (CERT_HAS_EXPIRED)",
    ],
    [new ConnectionError("EPROTO", false, "handshake"), "TLS handshake failed (EPROTO)"],
    [new ConnectionError("ECONNREFUSED", false, "connect_proxy"), "the proxy: connection refused (ECONNREFUSED)"],
    [
      new ConnectionError("PROXY_REFUSED", false, "tunnel", 403),
      "the proxy did not connect us (PROXY_REFUSED, status 403)",
    ],
  ];
  for (const [error, message] of staged) {
    test(`in the stage ${error.stage}: ${message}`, () => {
      expect(transportFailure(error, false)).toEqual({ kind: "unreachable", message, dispatched: false });
    });
  }

  const sent: [string, string][] = [
    ["ECONNRESET", "cut_off"],
    ["CLOSED", "cut_off"],
    ["EPIPE", "cut_off"],
    ["ETIMEDOUT", "timed_out"],
  ];
  for (const [code, kind] of sent) {
    test(`${code} after the request began to be sent is ${kind}`, () => {
      for (const answered of [false, true]) {
        const failure = transportFailure(new ConnectionError(code, true), answered);
        expect([failure.kind as string, failure.dispatched]).toEqual([kind, true]);
      }
    });
  }

  test("that does not come from the connection is garbage, and only its code is reported, because its text may contain the URL", () => {
    const thrown = (code: unknown) => Object.assign(new TypeError("http://user:word@host/ failed"), { code });
    for (const code of ["Z_DATA_ERROR", 23, undefined]) {
      const failure = transportFailure(thrown(code), true);
      expect(failure).toMatchObject({ kind: "garbage", dispatched: true });
      expect(failure.message).not.toContain("word");
    }
    expect(transportFailure(new HttpSyntaxError("its headers are too large"), false)).toMatchObject({
      kind: "garbage",
      message: "the upstream's answer is not valid HTTP: its headers are too large",
    });
  });
});

describe("the reason of a refusal", () => {
  const bodies = jsonLines<[seenAt: string, body: Json, reason: string]>(
    import.meta.dir,
    "fixtures/error-reasons.jsonl",
  );
  test.each(bodies)("%s", (_, body, reason) => {
    const { message } = errorBodyOf(typeof body === "string" ? body : JSON.stringify(body));
    expect(cleanMessage(message)).toBe(reason);
  });
  test("is found in any nesting, in time that grows with the text, and any JSON may be an error", () => {
    let nested: Json = { msg: "innermost" };
    for (const name of ["message", "error", "detail"]) nested = { [name]: name === "error" ? [nested] : nested };
    expect(errorBodyOf(JSON.stringify(nested)).message).toBe("innermost");
    for (const unit of ['{"error":', '["', "<script>", '"message":"\\', "data: {", "\\"]) {
      expect(errorBodyOf(unit.repeat(65_536 / unit.length)).message.length).toBeLessThan(70_000);
    }
    fc.assert(fc.property(fc.jsonValue(), (value) => typeof errorBodyOf(JSON.stringify(value)).message === "string"));
  });
  test.each<[event: JsonObject, kind: string | undefined]>([
    [{ object: "error", message: "m", code: 400 }, "rejected"],
    [{ type: "error", error: { type: "overloaded_error", message: "m" } }, "upstream_error"],
    [{ error: "m" }, "upstream_error"],
    [{ error: [{ message: "m" }] }, "upstream_error"],
    [{ error: {}, choices: [] }, undefined],
    [{ error: [], choices: [] }, undefined],
    [{ error: { message: null, code: "", details: [{}] }, choices: [] }, undefined],
  ])("in an event or an answer: %j", (event, kind) => {
    const failure = errorIn(event);
    expect(failure?.kind as string | undefined).toBe(kind);
    if (kind !== undefined) expect(failure?.message).toBe("m");
  });
  test("a page in the place of an answer refuses the request, and not our key", () => {
    const kindOf = (status: number, body: string) => errorAnswerFailure(status, errorBodyOf(body), undefined).kind;
    expect(kindOf(403, "<html>blocked</html>")).toBe("rejected");
    expect(kindOf(403, "error code: 1020")).toBe("rejected");
    expect(kindOf(403, '{"error":{"message":"Key limit exceeded"}}')).toBe("unauthorized");
    expect(kindOf(403, "")).toBe("unauthorized");
    expect(kindOf(401, "<html>log in</html>")).toBe("unauthorized");
  });
});

describe("a message", () => {
  test("is short, on one line and well formed, for any input", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2_000 }), (text) => {
        const message = cleanMessage(text);
        expect(message.length).toBeLessThanOrEqual(300);
        expect(message).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
        expect(message.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe("a 404 that says constraint_filtered", () => {
  const availability = { code: "constraint_filtered" };
  test.each<Json>([
    { code: 404, message: "m", availability },
    { code: 404, message: "m", metadata: { availability } },
  ])("is a separate kind: %p", (error) => {
    expect(errorIn({ error })).toMatchObject({ kind: "constraint_filtered", status: 404, message: "m" });
  });
});

describe("a refusal of the request's length or content", () => {
  const refusals = jsonLines<[kind: string, error: Json]>(import.meta.dir, "fixtures/length-and-content.jsonl");
  test.each(refusals)("%s: %j", (kind, error) => {
    expect(errorIn({ error })?.kind as string).toBe(kind);
  });

  const bodies = jsonLines<[host: string, status: number, body: Json]>(
    import.meta.dir,
    "fixtures/context-length-bodies.jsonl",
  );
  test.each(bodies)("%s, status %d: %j", (_, status, body) => {
    const text = body === "" ? "" : JSON.stringify(body);
    expect(errorAnswerFailure(status, errorBodyOf(text), undefined).kind).toBe("context_length_exceeded");
  });
});
