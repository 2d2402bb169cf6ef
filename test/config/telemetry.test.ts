import { describe, expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import type { RequestRecord } from "#records/record.ts";
import { createLog, type LogEvents, type LogOptions, loggedError, logId } from "#telemetry/log/log.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";

const attempt = (model: string, outcome: string, more: object = {}) => ({
  id: "dec-1.1",
  startedMs: 1,
  model,
  purpose: "EXECUTE",
  outcome,
  durationMs: 30,
  holdNanoUsd: nanoUsd(900),
  ...more,
});
const usage = { input: 1_000, cachedInput: 400, output: 200, reasoning: 50 };
const record = {
  requestId: "req-1",
  decisionId: "dec-1",
  atMs: 1_790_000_000_000,
  begunMs: 0,
  alias: "smart-router",
  stream: true,
  decision: { action: "ROUTE", model: "vendor_v4_flash", cause: "score_flash", sensitive_block_applied: true },
  status: 200,
  outcome: "answered",
  answeredBy: "vendor_v4_pro",
  attempts: [
    attempt("vendor_free_scout", "timed_out", { purpose: "SCOUT", durationMs: 4_000 }),
    attempt("vendor_v4_flash", "cut_off"),
    attempt("vendor_v4_flash", "rate_limited"),
    attempt("vendor_v4_pro", "answered", { durationMs: 1_200, costNanoUsd: nanoUsd(1_500_000), usage }),
  ],
  costNanoUsd: nanoUsd(1_500_000),
  redactions: [
    { rule: "github_token", count: 2 },
    { rule: "jwt", count: 1 },
  ],
  timings: { decisionMs: 0.1234567, firstTokenMs: 300, totalMs: 1_300 },
} as unknown as RequestRecord; // the fields that are read

/** One object per logged line. */
function capture(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    ...options,
    destination: { write: (line) => lines.push(line) },
  });
  return { log, lines, events: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe("the log", () => {
  test("has no field that could take text of a request", () => {
    // Does not compile once an event has a field of plain `string`; words of a union, ids and the operator's text are allowed.
    type PlainOf<T> = { [F in keyof T]-?: string extends T[F] ? F : never }[keyof T];
    type Plain = { [E in keyof LogEvents]: PlainOf<LogEvents[E]> }[keyof LogEvents];
    const none: [Plain] extends [never] ? true : false = true;
    expect(none).toBe(true);
  });

  test("has the name and location of an error, never its message, because parsers quote their input", () => {
    const secret = ["sk", "test", "0123456789abcdef"].join("-");
    let caught: unknown;
    try {
      JSON.parse(`{"key": ${secret}}`);
    } catch (error) {
      caught = Object.assign(new TypeError(`cannot read ${secret}\n    in ${secret}`, { cause: error }), {
        code: "ERR_X",
      });
    }
    const { log, lines, events } = capture();
    log("request_crashed", { request_id: logId("req-1"), ...loggedError(caught) });
    log("task_failed", { task: logId("prune"), ...loggedError(secret) });
    expect(events()[0]).toMatchObject({
      level: "error",
      error: "TypeError",
      code: "ERR_X",
      at: expect.stringContaining("telemetry.test.ts"),
    });
    expect(lines.join("")).not.toContain(secret);
  });
});

describe("metrics", () => {
  /** Sample line → value. */
  async function samples(metrics: ReturnType<typeof createMetrics>) {
    const lines = (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return new Map(
      lines.map((line): [string, number] => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
    );
  }

  const models = new Map([
    ["vendor_free_scout", { role: "scout" }],
    ["vendor_v4_flash", { role: "worker" }],
    ["vendor_v4_pro", { role: "senior" }],
  ] as const);

  test("count a finished request by alias, tier, cause and status, and sum the values of its record", async () => {
    const metrics = createMetrics();
    metrics.observe({ models: () => models });
    metrics.requestFinished(record);
    expect(Object.fromEntries(await samples(metrics))).toMatchObject({
      'smart_gateway_requests_total{alias="smart-router",tier="pro",cause="score_flash",status="200"}': 1,
      'smart_gateway_request_outcomes_total{outcome="answered",stream="true"}': 1,
      'smart_gateway_decision_duration_seconds_count{endpoint="chat_completions"}': 1,
      'smart_gateway_time_to_first_token_seconds_sum{model="vendor_v4_pro"}': 0.3,
      'smart_gateway_upstream_duration_seconds_count{model="vendor_v4_flash"}': 2,
      'smart_gateway_upstream_attempts_total{model="vendor_free_scout",purpose="SCOUT",outcome="timed_out"}': 1,
      'smart_gateway_retries_total{kind="repeat"}': 1,
      'smart_gateway_retries_total{kind="fail_over"}': 1,
      'smart_gateway_tokens_total{model="vendor_v4_pro",kind="input"}': 1_000,
      'smart_gateway_tokens_total{model="vendor_v4_pro",kind="cached_input"}': 400,
      'smart_gateway_tokens_total{model="vendor_v4_pro",kind="output"}': 200,
      'smart_gateway_tokens_total{model="vendor_v4_pro",kind="reasoning"}': 50,
      'smart_gateway_cost_usd_total{model="vendor_v4_pro"}': 0.0015,
      'smart_gateway_redactions_total{rule="github_token"}': 2,
      smart_gateway_sensitive_blocks_total: 1,
    });
  });

  test("have a bounded number of series, however many rules and models there are", async () => {
    const metrics = createMetrics();
    for (let i = 0; i < 1_000; i++)
      metrics.requestFinished({ ...record, redactions: [{ rule: `rule_${i}`, count: 1 }] });
    metrics.requestFinished({ ...record, redactions: [{ rule: 'x"} 1\ninjected{a="', count: 1 }] });
    const rules = [...(await samples(metrics)).keys()].filter((name) =>
      name.startsWith("smart_gateway_redactions_total"),
    );
    expect(rules.length).toBeLessThanOrEqual(257);
    expect(rules).toContain('smart_gateway_redactions_total{rule="other"}');
  });

  test("end in their unit, have a description, and belong to one gateway each", async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.requestFinished(record);
    expect(await other.text()).not.toContain("score_flash");
    const text = await one.text();
    const names = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = "", type]) => ({ name, type }));
    expect(names.map(({ name }) => name).toSorted()).toEqual(
      one
        .catalog()
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(names.length).toBeGreaterThan(25);
    for (const { name, type } of names) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, "m"));
      if (type === "counter") expect(name).toEndWith("_total");
      if (type === "histogram") expect(name).toEndWith("_seconds");
      expect(name).toMatch(/^(smart_gateway|process)_/);
    }
    expect(one.contentType).toStartWith("text/plain");
  });
});
