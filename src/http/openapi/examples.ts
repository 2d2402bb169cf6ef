/** The examples of the published reference. A test holds each to its schema, and the decisions to what `decide` decides. */

export const outcomeReport = { decision_id: "0198f5a0-6c5e-7c11-9d2e-0c5a7d1f2b3c", outcome: "solved", score: 0.9 };

const hello = [{ role: "user", content: "Say hello." }];

export const chatRequests = {
  automatic: { summary: "Automatic routing", value: { model: "smart-router", messages: hello } },
  streaming: {
    summary: "Streaming, with the usage chunk",
    value: { model: "smart-router", messages: hello, stream: true, stream_options: { include_usage: true } },
  },
  free: {
    summary: "The free tier, for what is not private",
    value: { model: "smart-router-free", messages: hello, metadata: { sensitive: false } },
  },
};

export const completion = {
  id: "gen-0123456789",
  object: "chat.completion",
  created: 1_787_443_200,
  model: "deepseek/deepseek-v4-flash",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
};

const chunk = (delta: object, finish_reason: string | null) =>
  JSON.stringify({
    id: completion.id,
    object: "chat.completion.chunk",
    created: completion.created,
    model: completion.model,
    choices: [{ index: 0, delta, finish_reason }],
  });

export const stream = [
  `data: ${chunk({ role: "assistant", content: "Hel" }, null)}`,
  `data: ${chunk({ content: "lo!" }, null)}`,
  `data: ${chunk({}, "stop")}`,
  "data: [DONE]",
  "",
].join("\n\n");

export const decisionRequests = {
  least: { summary: "The least there can be", value: { task: { task_id: "t-1", instruction: "Rename a variable." } } },
  denied: {
    summary: "Denied by the privacy gate",
    value: { task: { task_id: "t-3", instruction: "Summarize this.", explicit_route: "FREE_SCOUT" } },
  },
};

const decision = {
  action: "ROUTE",
  model: "vendor_v4_flash",
  purpose: "EXECUTE",
  cause: "score_flash",
  score: 22.5,
  confidence: 0.875,
  hard_rule: false,
  sensitive_block_applied: false,
  evidence: [
    "kind=OTHER",
    "risk_level=LOW",
    "sensitive=true",
    "points_reasoning_requirement=7.5",
    "points_ambiguity=4.5",
    "points_dependency_depth=4.5",
    "points_verification_difficulty=6",
    "points=22.5",
    "score_scale=declared",
    "score=22.5",
  ],
  policy_version: "1",
};
const denied = { action: "DENY", model: null, purpose: "NONE", cause: "privacy_free_denied", confidence: 1 };

/** What the dry run answers to the requests above, by the same names. */
export const decisions = {
  least: { value: { ...decision, task_id: "t-1" } },
  denied: { value: { ...decision, ...denied, task_id: "t-3", sensitive_block_applied: true } },
};

export const routeStatus = {
  goal: { id: "team/release", spent_usd: "0.42", held_usd: "0.01", hard_cap_usd: "5", left_usd: "4.57" },
  day: { id: "2026-08-23", spent_usd: "3.1", held_usd: "0.01", hard_cap_usd: "50", left_usd: "46.89" },
  model: { key: "vendor_v4_flash", upstream_id: "deepseek/deepseek-v4-flash", at_ms: 1_787_443_200_000 },
};

export const modelList = {
  object: "list",
  data: ["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"].map((id) => ({
    id,
    object: "model",
    created: 1_787_443_200,
    owned_by: "smart-gateway",
    context_length: id === "smart-router-free" ? 131_072 : 1_048_576,
    max_output_tokens: id === "smart-router-free" ? 32_768 : 65_535,
  })),
};

export const health = {
  status: "ok",
  version: "1.0.0",
  policy_version: "1",
  uptime_s: 3_600,
  database: { kind: "sqlite", ok: true },
  models: {
    vendor_free_scout: { state: "STALE" },
    vendor_v4_flash: { state: "HEALTHY" },
    vendor_v4_pro: { state: "HEALTHY" },
    vendor_emergency: { state: "STALE" },
  },
};
