import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "#config/load-config.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { capsOf, Policy } from "#config/policy.ts";
import { formatProblems } from "#config/problem.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { processorMs } from "#platform/testing/running-time.ts";

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-policy-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(text: string | Uint8Array, extension = "yaml"): string {
  const path = join(folder, `${++files}.${extension}`);
  writeFileSync(path, text);
  return path;
}

function policyOf(text: string, extension?: string) {
  const loaded = loadPolicy(file(text, extension));
  if (loaded.kind === "invalid") throw new Error(formatProblems(loaded.problems));
  return loaded.policy;
}

async function problemsOf(policy: string, models?: string) {
  const loaded = loadConfig({
    policyPath: file(policy),
    registryPath: models === undefined ? undefined : file(models),
  });
  return loaded.kind === "ok" ? [] : loaded.problems;
}

/** `line path message`, and the suggestion. */
async function brief(policy: string, models?: string) {
  const problems = await problemsOf(policy, models);
  return problems.map(({ line, path, message, suggestion }) => [line, path, message, suggestion] as const);
}

describe("a policy file", () => {
  test("may have a single key", () => {
    const policy = policyOf("budget:\n  per_goal_hard_usd: 0.01\n");
    expect(policy).toEqual({ ...Policy.parse({}), budget: { ...Policy.parse({}).budget, per_goal_hard_usd: 0.01 } });
  });

  test("may be JSON, indented with tabs, and may be empty", () => {
    expect(policyOf('{\n\t"limits": {\n\t\t"max_attempts": 3\n\t}\n}', "json").limits.max_attempts).toBe(3);
    expect(policyOf("")).toEqual(Policy.parse({}));
    expect(policyOf("# nothing yet\n")).toEqual(Policy.parse({}));
  });

  test("of an earlier release may have keys that were removed: each is a warning with its line, whatever its value", () => {
    const text = `health:
  window_ms: 60000
  failures_in_a_row: 7
  degraded_in_a_row: "three"
  aggregator_open_max_ms:
tasks: { remembered: 100 }
upstream:
  timeouts_ms: { idle_data: 1 }
  slow_first_event: { p95_multiple: 0 }
`;
    const loaded = loadConfig({ policyPath: file(text) });
    if (loaded.kind === "invalid") throw new Error(formatProblems(loaded.problems));
    expect(loaded.config.policy).toEqual(policyOf("health: {failures_in_a_row: 7}"));
    expect(loaded.warnings.map(({ line, path, message }) => [line, path, message])).toEqual([
      [2, "health.window_ms", "has no effect any more: it is a fixed number now (docs/health.md)"],
      [4, "health.degraded_in_a_row", "has no effect any more: health.failures_in_a_row sets it now"],
      [5, "health.aggregator_open_max_ms", "has no effect any more: it is a fixed number now (docs/health.md)"],
      [6, "tasks", expect.stringContaining("10,000 tasks")],
      [8, "upstream.timeouts_ms.idle_data", expect.stringContaining("four times upstream.timeouts_ms.idle")],
      [9, "upstream.slow_first_event", expect.stringContaining("first_event, in the registry")],
    ]);
    // A key that no release had stays a mistake, and hides no other.
    expect(loadPolicy(file("health: {window_ms: 1, window: 1}"))).toMatchObject({
      problems: [{ path: "health.window", message: "unknown key" }],
    });
  });

  test("with several mistakes lists them all, each with its line and a suggestion", async () => {
    const text = `routing:
  flash_bellow: 30
  weights:
    ambiguity: "15"
budgets:
  per_goal_hard_usd: 1
per_day_hard_usd: 3
health.open_base_ms: 5
health:
  free_fallback: payd
privacy:
  redact: yes
limits:
  max_attempts: 0
stream:
  keepalive_ms:
`;
    expect(await brief(text)).toEqual([
      [2, "routing.flash_bellow", "unknown key", "did you mean flash_below?"],
      [4, "routing.weights.ambiguity", expect.stringContaining('found the text "15"'), "write 15, without quotes"],
      [5, "budgets", "unknown key", "did you mean budget?"],
      [7, "per_day_hard_usd", "unknown key", "per_day_hard_usd belongs under budget"],
      [8, "health.open_base_ms", "unknown key", "open_base_ms belongs under health"],
      [10, "health.free_fallback", expect.stringContaining('found the text "payd"'), "did you mean paid?"],
      [12, "privacy.redact", expect.stringContaining('found the text "yes"'), "write true, without quotes"],
      [14, "limits.max_attempts", expect.stringMatching(/>=1; found 0/), undefined],
      [16, "stream.keepalive_ms", "has no value", "give it one, or remove the key to use the default"],
    ]);
  });

  test.each(jsonLines<[string, string, string]>(import.meta.dir, "fixtures/invalid-policies.jsonl"))(
    "is refused for %s",
    async (_, text, path) => {
      const problems = await problemsOf(text);
      expect(problems.map((problem) => problem.path)).toEqual([path]);
      expect(problems[0]?.line).toBeGreaterThan(1);
    },
  );

  test.each([
    ["pro_from: 85", 85],
    ["flash_below: 99", 99],
  ])("one threshold beyond the other's default sets both: %s", (text, both) => {
    expect(policyOf(`routing: { ${text} }`).routing).toMatchObject({ flash_below: both, pro_from: both });
  });

  test.each([
    ["a key twice", "budget:\n  per_goal_hard_usd: 1\n  per_goal_hard_usd: 2\n", 3, "twice: per_goal_hard_usd"],
    ["broken YAML", "budget: [1\n", undefined, "YAML"],
    ["two documents", "budget: {}\n---\nbudget: {}\n", 2, "second document"],
    ["a list instead of a map", "- budget\n", 1, "expected object"],
    ["an unknown tag", "budget: !!python/object {}\n", 1, "YAML"],
    ["text that is no UTF-8", Uint8Array.of(0xff, 0xfe, 0x41), undefined, "UTF-8"],
  ])("is refused for %s", (_, text, line, message) => {
    const loaded = loadPolicy(file(text));
    if (loaded.kind === "ok") throw new Error("accepted");
    if (line !== undefined) expect(loaded.problems[0]?.line).toBe(line);
    expect(formatProblems(loaded.problems)).toContain(message);
  });

  test.each([
    ["brackets", "[".repeat(500_000), "nests deeper than 64 levels"],
    ["braces", "{".repeat(500_000), "nests deeper than 64 levels"],
    ["dashes", "- ".repeat(500_000), "nests deeper than 64 levels"],
    ["keys on one line", "a: ".repeat(300_000), "nests deeper than 64 levels"],
    ["keys", Array.from({ length: 100_000 }, (_, i) => `a${i}: 1`).join("\n"), "more than 100000 YAML tokens"],
    ["documents", "---\n".repeat(250_000), "a second document begins here"],
  ])("of many %s is refused before it is parsed: it would block a running gateway", (_, text, message) => {
    const startMs = processorMs();
    const loaded = loadPolicy(file(text));
    // Parsed to their end these take from one to sixty seconds; the bounds, some tens of milliseconds.
    expect(processorMs() - startMs).toBeLessThan(5_000);
    if (loaded.kind === "ok") throw new Error("accepted");
    expect(formatProblems(loaded.problems)).toContain(message);
  });
});

describe("caps", () => {
  const caps = (budget: string) => capsOf(policyOf(`budget: ${budget}`));

  test("are converted from US dollars exactly", () => {
    expect(caps("{}")).toEqual({ goalSoft: 2e9, goalHard: 5e9, daySoft: 20e9, dayHard: 50e9 } as never);
    expect(caps("{ per_goal_hard_usd: 0.1 }").goalHard as number).toBe(100_000_000);
  });
});

describe("a model registry file", () => {
  const registryOf = (text: string) => {
    const loaded = loadRegistry(file(text));
    if (loaded.kind === "invalid") throw new Error(formatProblems(loaded.problems));
    return loaded.registry;
  };
  const ownWorker = "{ role: worker, upstream_id: own/model, prices: { input: 1, output: 2 } }";

  test("is optional: the shipped one has a model for each role, at the documented prices", () => {
    const loaded = loadRegistry(undefined);
    if (loaded.kind === "invalid") throw new Error(formatProblems(loaded.problems));
    const { byRole } = loaded.registry;
    expect(byRole.worker).toMatchObject({
      key: "vendor_v4_flash",
      upstreamId: "deepseek/deepseek-v4-flash",
      price: { input: 140_000_000, cachedInput: 2_800_000, output: 280_000_000 },
      defaultOutputTokens: 32_768,
    });
    expect(byRole.senior).toMatchObject({
      key: "vendor_v4_pro",
      upstreamId: "deepseek/deepseek-v4-pro",
      price: { input: 435_000_000, cachedInput: 3_625_000, output: 870_000_000 },
    });
    expect(byRole.scout).toMatchObject({ key: "vendor_free_scout", free: true, price: { input: 0, output: 0 } });
    expect(byRole.emergency).toMatchObject({ key: "vendor_emergency", free: false });
  });

  test("may have prices of cache writes, of each call, of long prompts and of certain hours", () => {
    const { models } = registryOf(`models:
  vendor_v4_flash:
    prices:
      cache_write: 0.175
      request: 0.001
      tiers: [{ from_input_tokens: 500000, output: 3 }, { from_input_tokens: 200000, input: 0.28, output: 2 }]
      windows: [{ from: "16:30", to: "00:30", input: 0.07 }]
`);
    expect(models.get("vendor_v4_flash")?.price as unknown).toEqual({
      input: 140_000_000,
      cachedInput: 2_800_000,
      cacheWrite: 175_000_000,
      output: 280_000_000,
      request: 1_000_000,
      bands: [
        { window: { fromMinute: 990, toMinute: 30 }, rates: { input: 70_000_000 } },
        { fromInputTokens: 200_000, rates: { input: 280_000_000, output: 2_000_000_000 } },
        { fromInputTokens: 500_000, rates: { output: 3_000_000_000 } },
      ],
    });
  });

  test("adds models, which take precedence over the shipped ones of their role", () => {
    const { models, byRole } = registryOf(`models:\n  own_flash: ${ownWorker}\n`);
    expect(models.size).toBe(5);
    expect(byRole.worker).toMatchObject({ key: "own_flash", price: { cachedInput: 1_000_000_000 } });
  });

  test.each(jsonLines<[string, string, string, string]>(import.meta.dir, "fixtures/invalid-registries.jsonl"))(
    "is refused for %s",
    (_, record, path, message) => {
      const loaded = loadRegistry(file(`models:\n  ${record}\n`));
      if (loaded.kind === "ok") throw new Error("accepted");
      expect(loaded.problems.map((problem) => problem.path)).toContain(path);
      expect(formatProblems(loaded.problems)).toContain(message);
      expect(loaded.problems[0]?.line).toBe(path === "models" ? 1 : 2);
    },
  );
});
