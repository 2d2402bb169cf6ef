import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAuthKeys } from "#config/auth-keys.ts";
import { formatProblems } from "#config/problem.ts";
import { parseSettings } from "#config/settings.ts";
import { nanoUsd } from "#domain/money/money.ts";

function settingsOf(env: Record<string, string>) {
  const parsed = parseSettings(env);
  if (parsed.kind === "invalid") throw new Error(formatProblems(parsed.problems));
  return parsed;
}

function problemsOf(env: Record<string, string>) {
  const parsed = parseSettings(env);
  return parsed.kind === "invalid" ? parsed.problems : [];
}

describe("settings", () => {
  test("an empty environment gives a demo gateway on loopback", () => {
    const { settings, warnings } = settingsOf({});
    expect(settings).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      upstream: { kind: "demo" },
      databaseUrl: "sqlite:./data/gateway.db",
      authMinTokenLength: 8,
      maxRequestBytes: 16_777_216,
      workers: 1,
      logLevel: "info",
      logFormat: "auto",
      drainAcceptMs: 5_000,
      drainStreamsMs: 600_000,
    });
    expect(settings.nodeId).toEndWith(`-${process.pid}`);
    expect(warnings).toEqual([]);
  });

  test("a secret may be read from a file, and never stands in both places", () => {
    const path = join(mkdtempSync(join(tmpdir(), "smart-gateway-secret-")), "key");
    writeFileSync(path, "key-for-a-test\n");
    const { upstream } = settingsOf({ UPSTREAM_API_KEY_FILE: path }).settings;
    // A key alone means the aggregator at its usual address.
    const baseUrl = "https://openrouter.ai/api/v1";
    expect(upstream).toMatchObject({ kind: "aggregator", baseUrl, apiKey: "key-for-a-test" });
    expect(settingsOf({ DASHBOARD_TOKEN_FILE: path }).settings.dashboardToken).toBe("key-for-a-test");
    const refused = [
      { UPSTREAM_API_KEY_FILE: path, UPSTREAM_API_KEY: "another" },
      { DATABASE_URL_FILE: `${path}-missing` },
    ].map((env) => problemsOf(env).map((problem) => problem.path || problem.file));
    expect(refused).toEqual([["UPSTREAM_API_KEY_FILE"], [`${path}-missing`]]);
  });

  test.each([
    ["UPSTREAM_API_KEY", '"key-for-a-test"'],
    ["DATABASE_URL", "'sqlite:./x.db'"],
    ["PORT", '"8080"'],
    ["ROUTING_POLICY_PATH", '"policy.yaml"'],
  ])("%s=%s, with the quotes that an env file has left on, is refused with what to do", (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems.map(({ path, suggestion }) => [path, suggestion])).toEqual([
      [name, expect.stringContaining("remove them")],
    ]);
    expect(formatProblems(problems)).not.toContain("key-for-a-test");
  });

  test("warns of a key that would be sent unencrypted, of a misspelt name, and of one that was removed", () => {
    const { warnings } = settingsOf({
      UPSTREAM_BASE_URL: "http://models.example.com/v1",
      UPSTREAM_API_KEY: "key-for-a-test",
      DATABASE_ULR: "sqlite:./other.db",
      MAX_REQUEST_VALUES: "5",
      HOSTNAME: "harmless",
      DATABASE_PASSWORD: "harmless",
    });
    expect(warnings).toHaveLength(3);
    expect(warnings.join("\n")).toContain("unencrypted");
    expect(warnings.join("\n")).toContain("DATABASE_ULR is no setting of the gateway; did you mean DATABASE_URL?");
    expect(warnings.join("\n")).toContain("MAX_REQUEST_VALUES has no effect any more: ");
  });

  test.each(["0.0.0.0", "::", "192.168.0.1", "gateway.example"])("warns that HOST=%s lets every token in", (HOST) => {
    expect(settingsOf({ HOST }).warnings).toEqual([expect.stringContaining("AUTH_KEYS_FILE")]);
    expect(settingsOf({ HOST, AUTH_KEYS_FILE: "keys" }).warnings).toEqual([]);
  });

  test.each(["gateway.example:8080", "https://gateway.example", "a,,b", "*.example", "a b", ","])(
    "ALLOWED_HOSTS=%j is refused",
    (ALLOWED_HOSTS) => {
      expect(problemsOf({ ALLOWED_HOSTS }).map(({ path }) => path)).toEqual(["ALLOWED_HOSTS"]);
    },
  );

  test("never prints the value of a secret setting", () => {
    const secret = ["pa", "ss w0rd"].join("");
    const text = formatProblems(
      problemsOf({ UPSTREAM_API_KEY: secret, DASHBOARD_TOKEN: secret, DATABASE_URL: `postgres:/admin:${secret}@db` }),
    );
    expect(text).toContain("UPSTREAM_API_KEY");
    expect(text).not.toContain("w0rd");
  });

  test("refuses credentials in the base URL, because they have a separate setting", () => {
    expect(problemsOf({ UPSTREAM_BASE_URL: "https://user:pw@models.example.com/v1" })).toHaveLength(1);
  });

  test("several workers cannot use an in-memory store or a random port", () => {
    const problems = problemsOf({ WORKERS: "2", DATABASE_URL: "sqlite::memory:", PORT: "0" });
    expect(problems.map(({ path }) => path)).toEqual(["WORKERS", "PORT"]);
  });
});

describe("NODE_EXTRA_CA_CERTS", () => {
  const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-ca-"));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  const file = (text: string) => {
    const path = join(scratch, createHash("sha256").update(text).digest("hex"));
    writeFileSync(path, text);
    return path;
  };
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

  for (const [what, path, message] of [
    ["a file that is not there", join(scratch, "nothing.pem"), "its file cannot be read: ENOENT"],
    ["a folder", scratch, "its file cannot be read: EISDIR"],
    ["a file without a certificate", file("# none\n"), "its file holds no certificate"],
    ["a certificate that cannot be read", file(broken), "certificate 1 of its file cannot be read"],
  ] as const) {
    test(`that names ${what} stops the start`, () => {
      expect(problemsOf({ NODE_EXTRA_CA_CERTS: path })).toMatchObject([{ path: "NODE_EXTRA_CA_CERTS", message }]);
    });
  }
});

describe("the keys file", () => {
  const digestOf = (token: string) => createHash("sha256").update(token).digest("hex");
  const digest = digestOf("token-for-a-test");

  test("contains digests with optional labels and caps, comments and blank lines", () => {
    const lines = [
      "# team\r\n\r",
      `${digest}  ci runner day_hard_usd=2.5 # nightly`,
      `${digestOf("b").toUpperCase()}`,
      `${digestOf("c")} # alice`,
      `${digestOf("d")} ci-runner day_hard_usd=2.5`,
    ];
    const parsed = parseAuthKeys(lines.join("\n"), "keys");
    expect(parsed.kind === "ok" && [...parsed.value]).toEqual([
      [digest, { label: "ci-runner", dayHard: nanoUsd(2_500_000_000) }],
      [digestOf("b"), null],
      [digestOf("c"), { label: "alice" }],
      [digestOf("d"), { label: "ci-runner", dayHard: nanoUsd(2_500_000_000) }],
    ]);
  });

  test("a key may have a rate and an end", () => {
    const parsed = parseAuthKeys(`${digest} ci rpm=60 expires=2027-02-28 day_hard_usd=1`, "keys");
    expect(parsed.kind === "ok" && parsed.value.get(digest)).toEqual({
      label: "ci",
      ...{ dayHard: nanoUsd(1_000_000_000), rpm: 60, expiresMs: Date.parse("2027-03-01T00:00:00Z") },
    });
  });

  // A mistyped cap must never become a part of the label: the key would have no cap.
  test.each([
    ["ci day_hard_uds=1", "day_hard_usd"],
    ["ci day-hard-usd=1", "day_hard_usd"],
    ["ci day_hard_usd = 1", "day_hard_usd"],
    ["ci day_hard_usd: 1", "day_hard_usd"],
    ["ci day_hard_us 1", "day_hard_usd"],
    ["ci DAY_HARD_USD=1", "day_hard_usd"],
    ["day_hard_uds=1 ci", "day_hard_usd"],
    ["ci rmp=5", "rpm"],
    ["ci limit=5", "known are"],
    ["ci rpm=0", "rpm"],
    ["ci rpm=many", "rpm"],
    ["ci expires=2027-02-30", "expires"],
    ["ci expires=tomorrow", "expires"],
    ["ci day_hard_usd=1 day_hard_usd=2", "twice"],
    ["ci day_hard_usd=much", "an amount"],
    ["day_hard_usd=5", "needs a label"],
    ["rpm=5", "needs a label"],
  ])("a line with %j is refused, with its number", (words, says) => {
    const parsed = parseAuthKeys(`${digestOf("a")} alice\n${digest} ${words}\n`, "keys");
    if (parsed.kind === "ok") throw new Error(`accepted as ${JSON.stringify([...parsed.value])}`);
    expect(parsed.problems.map(({ line }) => line)).toEqual([2]);
    expect(formatProblems(parsed.problems)).toContain(says);
  });

  test.each(["express", "team:ci", "day", "expired-laptop"])("%j is a label", (label) => {
    const parsed = parseAuthKeys(`${digest} ${label}`, "keys");
    expect(parsed.kind === "ok" && parsed.value.get(digest)).toEqual({ label });
  });

  test("has an error for each invalid line, which does not repeat a token; keys of a label share one cap", () => {
    const token = ["sk", "live", "1234567890"].join("-");
    const lines = [
      ...[digest, token, digest, `${digestOf("b")} token=${token}`],
      ...[`${digestOf("d")} eve day_hard_usd=5`, `${digestOf("e")} eve day_hard_usd=6`, `${digestOf("f")} eve`],
    ];
    const parsed = parseAuthKeys(lines.join("\n"), "keys");
    if (parsed.kind === "ok") throw new Error("accepted");
    expect(parsed.problems.map(({ line }) => line)).toEqual([2, 3, 4, 6, 7]);
    expect(formatProblems(parsed.problems)).not.toContain(token);
  });

  test("without a digest is refused, because it would exclude every caller", () => {
    expect(parseAuthKeys("# nothing yet\n", "keys").kind).toBe("invalid");
  });
});
