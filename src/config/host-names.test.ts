import { expect, test } from "bun:test";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { canonicalHost, isLoopback } from "./host-names.ts";

test.each([
  ["localhost", "localhost"],
  ["LocalHost.", "localhost"],
  ["::1", "[::1]"],
  ["[0:0::1]", "[::1]"],
  ["127.1", "127.0.0.1"],
  ["bücher.example", "xn--bcher-kva.example"],
])("%s is normalized to %s", (given, spelled) => {
  expect(canonicalHost(given)).toBe(spelled);
});

test.each(jsonLines<string>(import.meta.dir, "fixtures/no-hosts.jsonl"))("%j is not a host", (given) => {
  expect(canonicalHost(given)).toBeUndefined();
});

test.each(["localhost", "LOCALHOST.", "127.0.0.1", "127.255.0.3", "::1", "[::1]", "::ffff:127.0.0.1", "127.1"])(
  "%s is loopback",
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each(jsonLines<string>(import.meta.dir, "fixtures/not-loopback.jsonl"))("%s is not", (host) => {
  expect(isLoopback(host)).toBe(false);
});
