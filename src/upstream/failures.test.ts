import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "#domain/chat.ts";
import { cleanMessage, errorIn, messageOfBody, transportFailure } from "./failures.ts";

describe("a transport error", () => {
  const thrown = (code: unknown) => Object.assign(new TypeError("http://user:word@host/ failed"), { code });
  const unsent = [
    "ECONNREFUSED",
    "ENOTFOUND",
    "EHOSTUNREACH",
    "EMFILE",
    "EPROTO",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "CERT_HAS_EXPIRED",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_TLS_CERT_ALTNAME_INVALID",
  ];
  for (const code of unsent) {
    test(`${code} before an answer proves that nothing was sent; afterwards it proves nothing`, () => {
      expect(transportFailure(thrown(code), false)).toMatchObject({ kind: "unreachable", dispatched: false });
      expect(transportFailure(thrown(code), true).dispatched).toBe(true);
    });
  }

  const sent: [unknown, string][] = [
    ["ECONNRESET", "cut_off"],
    ["EPIPE", "cut_off"],
    ["ETIMEDOUT", "timed_out"],
    ["Malformed_HTTP_Response", "garbage"],
    ["InvalidHTTPResponse", "garbage"],
    ["ResponseHeadersTooLarge", "garbage"],
    ["ZlibError", "garbage"],
    ["SOMETHING_NEW", "cut_off"],
    [23, "cut_off"],
    [undefined, "cut_off"],
  ];
  for (const [code, kind] of sent) {
    test(`${code} is ${kind}, and the request may have been sent`, () => {
      for (const answered of [false, true]) {
        const failure = transportFailure(thrown(code), answered);
        expect([failure.kind as string, failure.dispatched]).toEqual([kind, true]);
      }
    });
  }

  test("is told by its code: its text, which may name the URL, goes nowhere", () => {
    for (const code of [...unsent, ...sent.map(([code]) => code)]) {
      expect(transportFailure(thrown(code), false).message).not.toContain("word");
    }
  });
});

describe("a message", () => {
  test("is found in the usual places", () => {
    const bodies: [Json, string][] = [
      [{ error: { message: "m", code: 1 } }, "m"],
      [{ error: { message: null, type: "t" } }, "t"],
      [{ error: "m" }, "m"],
      [{ message: "m" }, "m"],
      [{ detail: "m" }, "m"],
      [{ detail: [{ msg: "x" }] }, ""],
      ["m", "m"],
      [[1], ""],
    ];
    for (const [body, message] of bodies) expect(messageOfBody(JSON.stringify(body))).toBe(message);
    expect(messageOfBody("plain")).toBe("plain");
    expect(cleanMessage(messageOfBody("<style>a{}</style><p>Bad</p>gateway<script>x"))).toBe("Bad gateway");
  });

  test("is short, on one line and well formed, whatever comes", () => {
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

test("an error object is judged, whatever it holds", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (error) => {
      // fast-check's JSON value is ours, with a wider name.
      const failure = errorIn({ error: error as Json });
      if (error === null || error === false || error === "") expect(failure).toBeUndefined();
      else expect(failure?.status).toBeWithin(400, 600);
    }),
  );
});
