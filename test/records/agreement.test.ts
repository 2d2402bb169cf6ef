import { afterAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { completes, fails } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { type Answer, authorization, eventually, start } from "../harness/gateway.ts";

/** Headers, explanation, record, log, metrics and dashboard say the same of one request. */

interface Scenario {
  readonly name: string;
  readonly policy?: object;
  readonly upstream?: readonly Behaviour[];
  readonly body?: JsonObject;
  readonly headers?: Record<string, string>;
  readonly expected: { readonly action: string; readonly cause: string; readonly tier: string | null };
}

// Every score is in the gray zone.
const gray = { routing: { flash_below: 0, pro_from: 100 } };
const open = { model: "smart-router", metadata: { sensitive: false } };
const token = ["ghp", "Ab3".repeat(12)].join("_");
const broken = streams({ events: [chunk({ role: "assistant", content: "a" })], end: "rst" });

const scenarios: readonly Scenario[] = [
  {
    name: "answered by the model of the score",
    body: { model: "smart-router", metadata: { session_id: "s/1", goal_id: "g", task_id: "t" } },
    expected: { action: "ROUTE", cause: "score_flash", tier: "flash" },
  },
  {
    name: "with a hard rule, a credential in a message and one in a tool definition",
    body: {
      model: "smart-router",
      messages: [{ role: "user", content: `the key is ${token}` }],
      tools: [{ type: "function", function: { name: "f", description: `uses ${token}` } }],
      metadata: { risk_level: "CRITICAL" },
    },
    expected: { action: "ROUTE", cause: "hard_pro_rule", tier: "pro" },
  },
  {
    name: "refused for privacy",
    body: { model: "smart-router-free" },
    expected: { action: "DENY", cause: "privacy_free_denied", tier: null },
  },
  {
    name: "refused by a hard cap",
    policy: { budget: { per_goal_hard_usd: 0.000001 } },
    expected: { action: "DENY", cause: "budget_hard_cap_exceeded", tier: null },
  },
  {
    name: "answered by a fallback model",
    body: { model: "smart-router-pro" },
    upstream: [fails(500), fails(500)],
    expected: { action: "ROUTE", cause: "explicit_pro", tier: "flash" },
  },
  {
    name: "failed",
    body: { model: "smart-router-pro" },
    upstream: [fails(400)],
    expected: { action: "ROUTE", cause: "explicit_pro", tier: "pro" },
  },
  {
    name: "whose stream breaks off",
    body: { stream: true },
    upstream: [broken],
    expected: { action: "ROUTE", cause: "explicit_flash", tier: "flash" },
  },
  {
    name: "of a scout that chose pro",
    policy: gray,
    body: open,
    upstream: [completes({ text: "PRO" })],
    expected: { action: "SCOUT", cause: "gray_zone_scout", tier: "pro" },
  },
  {
    name: "of a scout that chose pro above the soft cap",
    policy: { ...gray, budget: { per_goal_soft_usd: 0.000001 } },
    body: open,
    upstream: [completes({ text: "PRO" })],
    expected: { action: "SCOUT", cause: "budget_soft_cap", tier: "flash" },
  },
  {
    name: "of a scout that chose a model that fails",
    policy: gray,
    body: open,
    upstream: [completes({ text: "PRO" }), fails(400)],
    expected: { action: "SCOUT", cause: "gray_zone_scout", tier: "pro" },
  },
  {
    name: "of a failed scout, answered as a stream by a fallback model",
    policy: gray,
    body: { ...open, stream: true },
    upstream: [fails(500), fails(500), fails(500)],
    headers: { "X-Scout": "true" },
    expected: { action: "SCOUT", cause: "scout_requested", tier: "pro" },
  },
];

describe("a request", () => {
  for (const { name, policy = {}, upstream = [], body, headers, expected } of scenarios)
    test(`${name} is reported alike everywhere`, async () => {
      await using gateway = await start({ policy });
      gateway.upstream.next(...upstream);
      const response = await gateway.chat(body, { ...headers, "X-Smart-Gateway-Explain": "true" });
      const explained = explanationIn(await response.text());
      const header = (word: string) => response.headers.get(`x-smart-gateway-${word}`);
      const id = header("decision-id");
      const finished = () => gateway.log.find(({ event }) => event === "request_finished")?.fields;
      let record: Answer;
      await eventually(async () => {
        const found = await gateway.get(`/v1/route/decisions/${id}`, authorization);
        if (found.status === 200) record = await found.json();
        return found.status === 200 && finished() !== undefined;
      });
      const metrics = samplesIn(await (await gateway.get("/metrics")).text());
      const { rows }: Answer = await (await gateway.get("/dashboard/api/decisions")).json();
      const row = rows.find(({ decision_id }: Answer) => decision_id === id);

      const { action, cause, tier } = record;
      expect({ action, cause, tier }).toEqual(expected);
      const decided = { action, cause, score: record.score };
      expect({ action: header("action"), cause: header("cause"), score: Number(header("score")) }).toEqual(decided);
      expect(finished()).toMatchObject({ ...decided, model: record.served_by, attempts: record.attempts.length });
      expect(row).toMatchObject({ action, cause, tier, goal: record.goal, session: record.session });
      expect(header("kind")).toBe(record.kind);
      expect(header("rule")).toBe(record.rule ?? "");
      expect(explained).toMatchObject({
        ...decided,
        tier,
        model: record.model,
        goal: record.goal,
        session: record.session,
        evidence: record.evidence,
      });
      expect(metrics.labels("smart_gateway_requests_total")).toEqual([
        { alias: record.alias, tier: tier ?? "none", cause, status: String(record.status) },
      ]);

      const costUsd = record.cost_nano_usd / 1e9;
      expect(Number(finished()?.["cost_usd"])).toBeCloseTo(costUsd, 9);
      expect(metrics.sum("smart_gateway_cost_usd_total")).toBeCloseTo(costUsd, 9);
      expect(row.cost_nano_usd).toBe(record.cost_nano_usd);
      const { prompt, completion } = record.tokens ?? { prompt: 0, completion: 0 };
      expect(finished()).toMatchObject({ input_tokens: prompt, output_tokens: completion });
      expect(metrics.sum("smart_gateway_tokens_total", 'kind="input"')).toBe(prompt);
      expect(metrics.sum("smart_gateway_tokens_total", 'kind="output"')).toBe(completion);
      const findings = record.redactions.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
      expect(finished()).toMatchObject({ redactions: findings });
      expect(row.redactions).toBe(findings);
      expect(metrics.sum("smart_gateway_redactions_total")).toBe(findings);
    });
});

describe("a decision", () => {
  const stated = {
    kind: "DEBUG",
    risk_level: "MEDIUM",
    blast_radius: "HIGH",
    reasoning_requirement: 0.9,
    ambiguity: 0.8,
    dependency_depth: 0.9,
    verification_difficulty: 0.95,
    estimated_tool_depth: 3,
    repo_context_present: false,
  };
  const gateway = start();
  afterAll(async () => (await gateway).stop());

  for (const changed of [
    {},
    { sensitive: false },
    { sensitive: false, repo_context_present: true, repo_free_opt_in: true },
    { kind: "PAYMENT", risk_level: "HIGH" },
    { blast_radius: "CRITICAL", explicit_route: "FLASH" },
    { explicit_route: "FREE_SCOUT" },
    { ambiguity: 0, reasoning_requirement: 0.1, verification_difficulty: 0.1, dependency_depth: 0 },
  ])
    test(`of a chat request is the dry run's in every field: ${JSON.stringify(changed)}`, async () => {
      const task = { ...stated, ...changed };
      const { upstream, chat, decide } = await gateway;
      const instruction = "mend the flaky test";
      upstream.next(completes({ text: "FLASH" }));
      const response = await chat(
        {
          model: "smart-router",
          max_tokens: 10,
          messages: [{ role: "user", content: instruction }],
          metadata: { ...task, task_id: `t${JSON.stringify(changed).length}` },
        },
        { "X-Smart-Gateway-Explain": "true" },
      );
      const explained = explanationIn(await response.text());
      const dry = await decide({ ...task, instruction });
      for (const field of ["action", "cause", "score", "sensitive_block_applied"])
        expect({ [field]: explained[field] }).toEqual({ [field]: dry[field] });
      // The dry run does not know what the scout will say.
      if (dry.action !== "SCOUT") expect(explained.confidence).toBe(dry.confidence);
      expect(explained.cause === "hard_pro_rule").toBe(dry.hard_rule);
      expect(response.headers.get("x-smart-gateway-model")).toBe(dry.model ?? "");
      const verdict = (entry: string) => entry.startsWith("scout_verdict=");
      expect(explained.evidence.filter((entry: string) => !verdict(entry))).toEqual(dry.evidence);
    });
});

/** The explanation in an answer, an error or a stream. */
function explanationIn(body: string): Answer {
  const comment = /^: smart-gateway (.*)$/m.exec(body)?.[1];
  return comment === undefined ? JSON.parse(body).smart_gateway : JSON.parse(comment);
}

/** The samples of `/metrics` that are not 0. */
function samplesIn(text: string) {
  const samples = text
    .split("\n")
    .flatMap((line) => {
      const [, name, labels, value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      return name === undefined ? [] : [{ name, labels: labels ?? "", value: Number(value) }];
    })
    .filter(({ value }) => value !== 0);
  const named = (name: string, label = "") => samples.filter((s) => s.name === name && s.labels.includes(label));
  return {
    sum: (name: string, label?: string) => named(name, label).reduce((sum, { value }) => sum + value, 0),
    labels: (name: string) =>
      named(name).map(({ labels }) =>
        Object.fromEntries(labels.split(",").map((pair) => pair.replaceAll('"', "").split("="))),
      ),
  };
}
