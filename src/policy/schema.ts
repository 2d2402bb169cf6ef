import { z } from "zod";
import { type TaskKind, taskKinds } from "#domain/routing.ts";

/**
 * The routing policy: one schema is the validator, the type, the JSON Schema for editors and the reference page.
 * Every key has a default, so that a file with one key is a whole policy. Money is in USD here and nowhere else.
 */

const usd = z.number().min(0).max(1_000_000);
const ms = z.int().min(0).max(86_400_000);
const share = z.number().min(0).max(1);
const weight = z.number().min(0).max(100);
const bias = z.number().min(-50).max(50);

/** An object all of whose keys have defaults: absent, it is its defaults. */
function section<S extends z.ZodRawShape>(shape: S) {
  return z.strictObject(shape).prefault({} as never); // every key of every section has a default, so {} parses
}

const kindBias: Record<TaskKind, number> = {
  CODING: 0,
  DEBUG: 4,
  ARCHITECTURE: 10,
  SECURITY: 10,
  AUTH: 8,
  PAYMENT: 8,
  DESTRUCTIVE_MIGRATION: 10,
  TEST: -2,
  SUMMARIZE: -8,
  CLASSIFY: -10,
  PUBLIC_REVIEW: -2,
  RESEARCH: 2,
  OTHER: 0,
};

const Weights = section({
  reasoning_requirement: weight.default(25).describe("Points at reasoning_requirement = 1."),
  ambiguity: weight.default(15).describe("Points at ambiguity = 1."),
  dependency_depth: weight.default(15).describe("Points at dependency_depth = 1."),
  verification_difficulty: weight.default(20).describe("Points at verification_difficulty = 1."),
  risk_level: weight
    .default(10)
    .describe("Points at risk_level CRITICAL; HIGH and MEDIUM give two thirds and one third."),
  blast_radius: weight
    .default(6)
    .describe("Points at blast_radius CRITICAL; HIGH and MEDIUM give two thirds and one third."),
  tool_depth: weight.default(5).describe("Points when the combined tool depth reaches its hard trigger."),
  runtime_trouble: weight
    .default(12)
    .describe("Points for a task in trouble: repeated errors, failed tests, earlier attempts."),
}).describe("How many of the 100 points each feature can give.");

const Routing = section({
  flash_below: z.number().min(0).max(100).default(35).describe("Scores below this go to the flash tier."),
  pro_from: z
    .number()
    .min(0)
    .max(100)
    .default(60)
    .describe("Scores from this on go to the pro tier; between is the gray zone."),
  weights: Weights,
  kind_bias: section(
    Object.fromEntries(taskKinds.map((kind) => [kind, bias.default(kindBias[kind])])) as Record<
      TaskKind,
      z.ZodDefault<typeof bias>
    >,
  ).describe("Points added (or taken) for the kind of work."),
}).describe("The score and its thresholds.");

const HardRules = section({
  guarded_kinds: z
    .array(z.enum(taskKinds))
    .default(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"])
    .describe("Kinds that go to the senior model when the risk is at least guarded_kinds_from_risk."),
  guarded_kinds_from_risk: z.enum(["LOW", "MEDIUM", "HIGH", "CRITICAL"]).default("HIGH"),
  same_error_count: z.int().min(1).default(2),
  flash_attempts: z.int().min(1).default(2),
  files_touched: z.int().min(1).default(20),
  tool_depth: z.int().min(1).default(16).describe("Compared with runtime.tool_depth + task.estimated_tool_depth."),
}).describe("Triggers that send a task to the senior model whatever its score.");

const Limits = section({
  max_attempts: z.int().min(1).default(8).describe("From this many reported attempts on, a task stops for a human."),
}).describe("Limits per task.");

const Scout = section({
  timeout_ms: ms.default(4_000).describe("How long a gray-zone request waits for the scout's verdict."),
  max_output_tokens: z.int().min(1).default(64),
  max_prompt_bytes: z.int().min(256).default(6_000).describe("How much of the ask the scout is shown."),
}).describe("The scout call that settles gray-zone requests.");

const Upstream = section({
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe("Calls to the upstream per request, repeats and fail-over together."),
  max_attempts_per_model: z.int().min(1).max(10).default(2).describe("Calls to one model per request."),
  backoff_base_ms: ms.default(100).describe("Full jitter between 0 and min(backoff_max_ms, base x 2^k)."),
  backoff_max_ms: ms.default(2_000),
  retry_after_max_ms: ms.default(5_000).describe("A longer Retry-After means the next model now."),
  retry_budget_share: share.default(0.1).describe("Retries allowed per recent request."),
  retry_budget_per_second: z
    .number()
    .min(0)
    .default(3)
    .describe("Retries always allowed per second, whatever the traffic."),
  billing_stops_on_cancel: z
    .boolean()
    .default(false)
    .describe(
      "True when the aggregator stops billing the moment a call is cancelled; then an abort is charged what was seen.",
    ),
  timeouts_ms: section({
    connect: ms.default(5_000),
    headers: ms.default(30_000),
    first_event: ms.default(60_000).describe("First event with content; comments do not count."),
    first_event_reasoning: ms.default(180_000).describe("The same for models marked `reasoning`."),
    idle: ms.default(30_000).describe("No byte at all, comments included."),
    idle_data: ms.default(120_000).describe("No data event, comments not counted."),
    total: ms.default(600_000),
  }),
}).describe("How the aggregator is called.");

const Stream = section({
  keepalive_ms: ms.default(10_000).describe("A comment goes to the caller after this long without an event."),
  write_stall_ms: ms.default(30_000).describe("A caller that reads nothing for this long is cut off."),
  max_buffered_bytes: z
    .int()
    .min(4_096)
    .default(262_144)
    .describe("Buffered per caller before the upstream is paused."),
  max_event_bytes: z.int().min(4_096).default(16_777_216),
  max_answer_bytes: z.int().min(4_096).default(33_554_432).describe("Largest non-streaming answer that is buffered."),
}).describe("Streams to callers.");

const Health = section({
  window_ms: ms.default(60_000),
  degraded_failure_share: share.default(0.1),
  degraded_minimum: z.int().min(1).default(20),
  degraded_in_a_row: z.int().min(1).default(3),
  slow_share: share.default(0.5),
  slow_minimum: z.int().min(1).default(10),
  slow_floor_ms: ms
    .default(10_000)
    .describe("An answer is slow when its first token takes longer than max(3 x own p95, this)."),
  recovered_failure_share: share.default(0.05),
  recovered_slow_share: share.default(0.2),
  recovered_minimum: z.int().min(1).default(10),
  failures_in_a_row: z.int().min(1).default(5).describe("This many failures in a row make a model UNHEALTHY."),
  stale_failures_in_a_row: z.int().min(1).default(2),
  unhealthy_failure_share: share.default(0.5),
  unhealthy_minimum: z.int().min(1).default(20),
  open_base_ms: ms.default(15_000).describe("First pause of an UNHEALTHY model; doubles with each trip."),
  open_max_ms: ms.default(300_000),
  probes_to_recover: z.int().min(1).default(3),
  stale_after_ms: ms.default(900_000),
  garbage_in_a_row: z.int().min(1).default(3),
  garbage_share: share.default(0.2),
  garbage_minimum: z.int().min(1).default(10),
  trips_to_quarantine: z.int().min(1).default(4).describe("Trips within trips_window_ms that mean flapping."),
  trips_window_ms: ms.default(3_600_000),
  quarantine_base_ms: ms.default(1_800_000),
  quarantine_max_ms: ms.default(86_400_000),
  limited_default_ms: ms.default(30_000).describe("Pause after a 429 without Retry-After."),
  limited_max_ms: ms.default(900_000),
  shed_max: share.default(0.8).describe("Largest share of a DEGRADED model's traffic that is moved to the next model."),
  urgent_probe_every_ms: ms
    .default(5_000)
    .describe("With every model down, one request this often tries the most senior one."),
  aggregator_failures_in_a_row: z.int().min(1).default(5),
  aggregator_open_base_ms: ms.default(2_000),
  aggregator_open_max_ms: ms.default(30_000),
  senior_fallback_chain: z
    .array(z.string())
    .min(1)
    .default(["vendor_v4_pro", "vendor_v4_flash", "vendor_emergency"])
    .describe("Model keys, in the order in which they stand in for a model that cannot serve. Free models never do."),
}).describe("When a model is trusted, and who stands in for it.");

const Budget = section({
  per_goal_soft_usd: usd.default(2),
  per_goal_hard_usd: usd.default(5),
  per_day_soft_usd: usd.default(20),
  per_day_hard_usd: usd.default(50),
}).describe("Caps per goal and per UTC day. A soft cap above its hard cap counts as equal to it.");

const Privacy = section({
  redact: z.boolean().default(true).describe("Replace credentials in everything the upstream would read."),
  restore: z
    .enum(["off", "text"])
    .default("off")
    .describe("Put redacted values back into answer text (never into tool calls)."),
  personal_data: z
    .boolean()
    .default(false)
    .describe("Also replace e-mail addresses, phone and card numbers and the like."),
  disabled_rules: z.array(z.string()).default([]).describe("Rules switched off by name; logged at start."),
  allow: z.array(z.string().min(1).max(512)).max(1_000).default([]).describe("Exact values that are never redacted."),
  custom_rules: z
    .array(z.strictObject({ id: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/), pattern: z.string().min(1).max(512) }))
    .max(100)
    .default([])
    .describe("Rules of your own: a name and a regular expression, checked for linear time."),
}).describe("The privacy gate.");

const Tasks = section({
  remembered: z.int().min(1).default(10_000).describe("Tasks (X-Task-Id) whose runtime state is kept in memory."),
  remembered_ms: ms.default(86_400_000),
}).describe("Runtime state kept per task between requests.");

const Records = section({
  retention_days: z.int().min(1).max(3_650).default(30),
}).describe("Decision records and closed reservations.");

export const Policy = z.strictObject({
  $schema: z.string().optional(),
  routing: Routing,
  hard_rules: HardRules,
  limits: Limits,
  scout: Scout,
  privacy: Privacy,
  budget: Budget,
  health: Health,
  upstream: Upstream,
  stream: Stream,
  tasks: Tasks,
  records: Records,
});
export type Policy = z.infer<typeof Policy>;
