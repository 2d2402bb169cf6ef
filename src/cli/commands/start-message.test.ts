import { describe, expect, test } from "bun:test";
import { startMessage } from "./start-message.ts";

const aggregator = { kind: "aggregator", baseUrl: "https://aggregator.example/v1" } as const;

function messageOf(url: string, settings: Partial<Parameters<typeof startMessage>[0]["settings"]> = {}): string {
  return startMessage({ version: "1.0.0", url, settings: { upstream: aggregator, ...settings } });
}

describe("what a gateway says when it has started", () => {
  test("the command to try it works as it stands where any token is accepted", () => {
    const message = messageOf("http://127.0.0.1:8080");
    expect(message).toContain(
      'curl -i http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer any-token-of-8-or-more"',
    );
    expect(message).not.toContain("DEMO MODE");
  });

  test("a gateway that accepts only listed tokens does not offer one that it would refuse", () => {
    const message = messageOf("http://127.0.0.1:8080", { authKeysFile: "/data/keys" });
    expect(message).toContain("with a token of AUTH_KEYS_FILE");
    expect(message).toContain('"Authorization: Bearer $TOKEN"');
    expect(message).not.toContain("any-token");
  });

  test.each([
    ["http://0.0.0.0:8080", "http://127.0.0.1:8080"],
    ["http://[::]:8080", "http://[::1]:8080"],
    ["http://192.0.2.7:8080", "http://192.0.2.7:8080"],
  ])("a gateway that listens on %s can be tried at %s", (url, base) => {
    const message = messageOf(url);
    expect(message).toContain(`listens on ${url}\n`);
    expect(message).toContain(`curl -i ${base}/v1/chat/completions`);
    expect(message).toContain(`Dashboard: ${base}/dashboard`);
  });

  test("it says who may open the dashboard", () => {
    expect(messageOf("http://[::1]:8080")).toContain("/dashboard\n");
    expect(messageOf("http://0.0.0.0:8080")).toContain(
      "/dashboard (from this machine only, until DASHBOARD_TOKEN is set)\n",
    );
    expect(messageOf("http://0.0.0.0:8080", { dashboardToken: "a-long-dashboard-token" })).toContain(
      "/dashboard (sign in with DASHBOARD_TOKEN)\n",
    );
  });

  test("without an upstream it says that answers are simulated", () => {
    expect(messageOf("http://127.0.0.1:8080", { upstream: { kind: "demo" } })).toContain("DEMO MODE");
  });
});
