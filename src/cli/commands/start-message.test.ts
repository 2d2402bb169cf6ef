import { expect, test } from "bun:test";
import { startMessage } from "./start-message.ts";

const aggregator = { kind: "aggregator", baseUrl: "https://aggregator.example/v1" } as const;
const own = "http://127.0.0.1:8080";

test.each([
  [
    "the command to try it",
    own,
    {},
    `curl -i ${own}/v1/chat/completions -H "Authorization: Bearer any-token-of-8-or-more"`,
  ],
  ["no token that it would refuse", own, { authKeysFile: "/data/keys" }, '"Authorization: Bearer $TOKEN"'],
  ["where it can be tried", "http://0.0.0.0:8080", {}, `curl -i ${own}/v1/chat/completions`],
  ["where it can be tried", "http://[::]:8080", {}, "curl -i http://[::1]:8080/v1/chat/completions"],
  ["where it can be tried", "http://192.0.2.7:8080", {}, "curl -i http://192.0.2.7:8080/v1/chat/completions"],
  ["who may open the dashboard", "http://[::1]:8080", {}, "/dashboard\n"],
  ["who may open the dashboard", "http://0.0.0.0:8080", {}, "/dashboard (from this machine only, until"],
  [
    "who may open the dashboard",
    own,
    { dashboardToken: "a-long-token" },
    "/dashboard (sign in with DASHBOARD_TOKEN)\n",
  ],
  ["that answers are simulated", own, { upstream: { kind: "demo" } as const }, "DEMO MODE"],
])("a gateway says when it has started %s: at %s with %j", (_, url, settings, said) => {
  const message = startMessage({ version: "1.0.0", url, settings: { upstream: aggregator, ...settings } });
  expect(message).toContain(`listens on ${url}\n`);
  expect(message).toContain(said);
  expect(message.includes("DEMO MODE")).toBe("upstream" in settings);
});
