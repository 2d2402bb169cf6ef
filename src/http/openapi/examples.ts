/** The examples of the published reference. A test holds each to its schema, and the decisions to what `decide` decides. */

export const unauthorized = "Send `Authorization: Bearer <API_KEY>` with a token of at least 8 characters.";
export const tooLarge = "The request body is larger than the limit of 16777216 bytes.";
export const foreignHost =
  "The Host header names a host that this gateway does not answer to (protection from DNS rebinding). Use localhost, 127.0.0.1 or [::1], or add the name to ALLOWED_HOSTS.";
export const imagePart =
  "messages[0].content[1] is not a text part: only text content is supported (no images, audio or files).";
export const freeDenied =
  'A free model was asked for, but this request is sensitive, as every request is by default. Send "metadata": {"sensitive": false} if it holds nothing private, or use smart-router.';
export const negativeMaxTokens = "max_tokens must be a whole number from 0 to 2147483647.";
export const upstreamRefused = "The upstream refused the request (400): this field is not supported.";
export const unreachable = "The upstream could not be reached, also after repeated attempts.";
export const overloaded = "The gateway is overloaded. Try again shortly.";
export const timedOut = "The upstream took too long, also after repeated attempts.";
export const wrongOutcome = "outcome: must be one of solved, failed";
export const wrongStatus = "goal: must have 1 to 256 characters.";
export const unknownDecision =
  "No such decision is recorded: decision_id is X-Smart-Gateway-Decision-Id of an answer (not of housekeeping) within the retention (policy: records).";
export const unknownRecord =
  "No such decision is recorded: the id is X-Smart-Gateway-Decision-Id or X-Request-Id of an answer, at least a second old, within the retention (policy: records).";
export const outcomeReports = {
  solved: {
    summary: "The answer has done it",
    value: { decision_id: "0198f5a0-6c5e-7c11-9d2e-0c5a7d1f2b3c", outcome: "solved", score: 0.9 },
  },
  failed: { summary: "It has not", value: { decision_id: "0198f5a0-6c5e-7c11-9d2e-0c5a7d1f2b3c", outcome: "failed" } },
};
export const ambiguityTooLarge = "task.ambiguity: must be at most 1";

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
  tools: {
    summary: "Function calling, forwarded unchanged",
    value: {
      model: "smart-router",
      messages: [{ role: "user", content: "What is the weather in Bern?" }],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
          },
        },
      ],
      tool_choice: "auto",
    },
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
  hard_rule: {
    summary: "A hard rule",
    value: {
      task: { task_id: "t-2", instruction: "Rotate the signing keys.", kind: "AUTH", risk_level: "HIGH" },
      runtime: { same_error_count: 2 },
    },
  },
  denied: {
    summary: "Denied by the privacy gate",
    value: { task: { task_id: "t-3", instruction: "Summarize this.", explicit_route: "FREE_SCOUT" } },
  },
};

const dimensionPoints = [
  "points_reasoning_requirement=7.5",
  "points_ambiguity=4.5",
  "points_dependency_depth=4.5",
  "points_verification_difficulty=6",
];

/** What the dry run answers to the requests above, by the same names. */
export const decisions = {
  least: {
    value: {
      task_id: "t-1",
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
        ...dimensionPoints,
        "points=22.5",
        "score_scale=declared",
        "score=22.5",
      ],
      policy_version: "1",
    },
  },
  hard_rule: {
    value: {
      task_id: "t-2",
      action: "ROUTE",
      model: "vendor_v4_pro",
      purpose: "EXECUTE",
      cause: "hard_pro_rule",
      score: 93.97,
      confidence: 1,
      hard_rule: true,
      sensitive_block_applied: false,
      evidence: [
        "kind=AUTH",
        "risk_level=HIGH",
        "sensitive=true",
        ...dimensionPoints,
        "points_risk_level=6.67",
        "points_runtime_trouble=12",
        "points_kind_bias=8",
        "points=49.17",
        "score_scale=declared",
        "score=93.97",
        "hard_rule=guarded_kind",
        "hard_rule=same_error_count",
        "same_error_count=2",
      ],
      policy_version: "1",
    },
  },
  denied: {
    value: {
      task_id: "t-3",
      action: "DENY",
      model: null,
      purpose: "NONE",
      cause: "privacy_free_denied",
      score: 22.5,
      confidence: 1,
      hard_rule: false,
      sensitive_block_applied: true,
      evidence: [
        "kind=OTHER",
        "risk_level=LOW",
        "sensitive=true",
        ...dimensionPoints,
        "points=22.5",
        "score_scale=declared",
        "score=22.5",
      ],
      policy_version: "1",
    },
  },
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
