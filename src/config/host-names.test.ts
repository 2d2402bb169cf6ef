import { expect, test } from "bun:test";
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

test.each([
  "",
  ".",
  " ",
  "a b",
  "a/b",
  "http://a",
  "a:80",
  "[::1]:80",
  "a@b",
  "a?b",
  "a#b",
  "*",
  "256.256.256.256",
  "[::1",
])("%j is not a host", (given) => {
  expect(canonicalHost(given)).toBeUndefined();
});

test.each(["localhost", "LOCALHOST.", "127.0.0.1", "127.255.0.3", "::1", "[::1]", "::ffff:127.0.0.1", "127.1"])(
  "%s is loopback",
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each([
  "0.0.0.0",
  "::",
  "[::]",
  "10.0.0.1",
  "::ffff:10.0.0.1",
  "127.example.com",
  "localhost.example",
  "128.0.0.1",
])("%s is not", (host) => {
  expect(isLoopback(host)).toBe(false);
});
