import { z } from "zod";
import { guardedFields } from "#domain/guarded-fields.ts";
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

const Affinity = section({
  horizon_turns: z
    .int()
    .min(0)
    .max(1_000)
    .default(12)
    .describe(
      "Future turns in which leaving a more expensive model must save more than reading the context without a cache costs.",
    ),
  turn_input_tokens: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(2_000)
    .describe("New input tokens of a turn, on the average."),
  turn_output_tokens: z.int().min(0).max(1_000_000).default(250).describe("Output tokens of a turn, on the average."),
  remembered: z.int().min(0).max(1_000_000).default(20_000).describe("Conversations whose model is remembered."),
  remembered_ms: ms
    .default(1_800_000)
    .describe("How long after its last answer a conversation's context counts as cached."),
}).describe("Keeps a conversation on the model that has its context in the prompt cache.");

const Learned = section({
  weights_file: z
    .string()
    .max(4_096)
    .default("")
    .describe(
      "File of learned weights, written by `smart-gateway policy learn --write`; relative to the policy file. Empty: the score is the shipped one.",
    ),
  min_rescue_trials: z
    .int()
    .min(20)
    .max(1_000_000)
    .default(60)
    .describe(
      "`smart-gateway policy learn` fits nothing with fewer failures of flash of which it is known whether pro solved them.",
    ),
}).describe("What was learned from the outcomes of this installation.");

const Routing = section({
  flash_below: z
    .number()
    .min(0)
    .max(100)
    .default(90)
    .describe(
      "Scores below this go to the flash tier: as shipped, 90 % of asks. A score is a percentage of asks that are easier.",
    ),
  pro_from: z
    .number()
    .min(0)
    .max(100)
    .default(97)
    .describe(
      "Scores from this on go to the pro tier: as shipped, the top 3 % of asks. Between is the gray zone: the scout is asked where it may be, else the midpoint decides (as shipped 93.5, the top 6.5 %). 85 in both is the top 15 %.",
    ),
  weights: Weights,
  kind_bias: section(
    Object.fromEntries(taskKinds.map((kind) => [kind, bias.default(kindBias[kind])])) as Record<
      TaskKind,
      z.ZodDefault<typeof bias>
    >,
  ).describe("Points added (or taken) for the kind of work."),
  affinity: Affinity,
  exploration: z
    .number()
    .min(0)
    .max(0.5)
    .default(0)
    .describe(
      "Share of new tasks that are sent, at random, to the other tier than their score has chosen (cause `exploration`), so that learning knows outcomes of both. 0: none.",
    ),
  learned: Learned,
}).describe("The score and its thresholds.");

const HardRules = section({
  guarded_kinds: z
    .array(z.enum(taskKinds))
    .default(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"])
    .describe("Kinds that go to the senior model when the risk is at least guarded_kinds_from_risk."),
  guarded_kinds_from_risk: z
    .enum(["LOW", "MEDIUM", "HIGH", "CRITICAL"])
    .default("HIGH")
    .describe("The risk level from which guarded_kinds apply."),
  same_error_count: z.int().min(1).default(2).describe("The same error this often."),
  flash_attempts: z.int().min(1).default(2).describe("This many attempts by the flash tier."),
  files_touched: z.int().min(1).default(20).describe("This many files touched."),
  tool_depth: z.int().min(1).default(16).describe("Compared with runtime.tool_depth + task.estimated_tool_depth."),
}).describe("Triggers that send a task to the senior model whatever its score.");

const Limits = section({
  max_attempts: z.int().min(1).default(8).describe("From this many reported attempts on, a task stops for a human."),
}).describe("Limits per task.");

const Scout = section({
  timeout_ms: ms.default(4_000).describe("How long a gray-zone request waits for the scout's verdict."),
  max_output_tokens: z.int().min(1).default(64).describe("The longest verdict, in tokens."),
  max_prompt_bytes: z.int().min(256).default(6_000).describe("How much of the ask the scout is shown."),
}).describe("The scout call that settles gray-zone requests.");

const fieldActions = z.enum(["forward", "refuse", "drop"]);

/** An action, or an action with what a forwarded field may cost. */
const FieldAction = z.union([
  fieldActions,
  z.strictObject({
    action: fieldActions,
    fee_usd: usd.default(0),
    price_factor: z.number().min(1).max(1_000).default(1),
  }),
]);

/** Fields that the gateway itself sets or reads; a rule for them would break every request. */
const ownFields = ["model", "messages", "stream", "metadata", "max_tokens", "max_completion_tokens", "n"];

const Fields = z
  .object(
    Object.fromEntries(
      Object.entries(guardedFields).map(([name, { about }]) => [
        name,
        FieldAction.default("refuse").describe(`${about.charAt(0).toUpperCase()}${about.slice(1)}.`),
      ]),
    ) as Record<string, z.ZodDefault<typeof FieldAction>>,
  )
  .catchall(FieldAction)
  .refine((fields) => ownFields.every((name) => !Object.hasOwn(fields, name)), {
    message: `fields that the gateway itself sets or reads cannot stand here: ${ownFields.join(", ")}`,
  })
  .prefault({})
  .describe(
    "Request fields that may change the model, the provider's terms or the price, and so pass the hold: what happens to a " +
      "value that is not harmless. refuse: 422. drop: it is left out. forward: it goes out; " +
      "{action: forward, fee_usd: 0.02, price_factor: 2} has the hold contain a fee per call and a multiple of the price " +
      "of tokens. Further fields may be added by name.",
  );

const Upstream = section({
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe("Calls to the upstream per request, repeats and fail-over together."),
  max_attempts_per_model: z.int().min(1).max(10).default(2).describe("Calls to one model per request."),
  backoff_base_ms: ms.default(100).describe("Full jitter between 0 and min(backoff_max_ms, base x 2^k)."),
  backoff_max_ms: ms.default(2_000).describe("Longest pause between two calls."),
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
  price_limit: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Send the model's prices as a price limit per token (`provider.max_price`), so that no more expensive host serves the call. `auto`: at OpenRouter only. Never sent for a model whose price nobody has confirmed.",
    ),
  fields: Fields,
  price_book: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Read prices from the aggregator's list (`GET /models`, without the key) at start and daily. `auto`: at OpenRouter only. Prices in the operator's own registry file stand above it.",
    ),
  price_book_wait_ms: ms
    .max(60_000)
    .default(2_000)
    .describe("How long a start waits for that list; when it comes later, it counts from then on."),
  generation_lookup: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Ask the aggregator what it has billed for a call whose outcome is unknown (`GET /generation?id=`), and settle by that. `auto`: at OpenRouter only.",
    ),
  key_usage: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Ask the aggregator about every hour what it has counted for the key today (`GET /key`), and compare that with the ledger (log, metrics, `budgets reconcile`). `auto`: at OpenRouter only.",
    ),
  timeouts_ms: section({
    connect: ms.default(5_000).describe("Until the connection is established."),
    headers: ms.default(30_000).describe("Until the answer's head has come."),
    first_event: ms.default(60_000).describe("First event with content; comments do not count."),
    first_event_reasoning: ms.default(180_000).describe("The same for models marked `reasoning`."),
    idle: ms.default(30_000).describe("No byte at all, comments included."),
    idle_data: ms.default(120_000).describe("No data event, comments not counted."),
    total: ms.default(600_000).describe("The whole call."),
  }).describe("Time-outs of one call; a model's own timeouts_ms beat them."),
}).describe("How the aggregator is called.");

const Stream = section({
  reasoning: z
    .enum(["field", "content", "live"])
    .default("field")
    .describe(
      "Reasoning before a stream's first content: field = held back and sent as that delta's `reasoning`; content = put in front of its text, a blank line between (never with a response_format); live = passed on as it comes.",
    ),
  keepalive_ms: ms.default(10_000).describe("A comment goes to the caller after this long without an event."),
  write_stall_ms: ms.default(30_000).describe("A caller that reads nothing for this long is cut off."),
  max_buffered_bytes: z
    .int()
    .min(4_096)
    .default(262_144)
    .describe("Buffered per caller before the upstream is paused."),
  max_event_bytes: z.int().min(4_096).default(16_777_216).describe("Largest single event of a stream."),
  max_answer_bytes: z.int().min(4_096).default(33_554_432).describe("Largest non-streaming answer that is buffered."),
  max_answer_values: z
    .int()
    .min(1_000)
    .default(500_000)
    .describe("Most JSON values (objects, arrays, texts, numbers) in an answer or in one event of a stream."),
}).describe("Streams to callers.");

const Health = section({
  window_ms: ms.default(60_000).describe("The window over which shares of failures are counted."),
  degraded_failure_share: share.default(0.1).describe("This share of failures makes a HEALTHY model DEGRADED …"),
  degraded_minimum: z.int().min(1).default(20).describe("… once there were this many verdicts in the window;"),
  degraded_in_a_row: z.int().min(1).default(3).describe("so do this many failures in a row."),
  slow_share: share.default(0.5).describe("This share of slow answers makes a model DEGRADED …"),
  slow_minimum: z.int().min(1).default(10).describe("… once there were this many answers in the window."),
  slow_floor_ms: ms
    .default(10_000)
    .describe("An answer is slow when its first token takes longer than max(3 x own p95, this)."),
  recovered_failure_share: share
    .default(0.05)
    .describe("A DEGRADED model recovers with fewer failures than this share …"),
  recovered_slow_share: share
    .default(0.2)
    .describe("… and fewer slow answers than this share, in two windows running …"),
  recovered_minimum: z.int().min(1).default(10).describe("… with at least this many verdicts."),
  failures_in_a_row: z.int().min(1).default(5).describe("This many failures in a row make a model UNHEALTHY."),
  stale_failures_in_a_row: z.int().min(1).default(2).describe("The same for a STALE model, of which little is known."),
  unhealthy_failure_share: share.default(0.5).describe("This share of failures makes a model UNHEALTHY …"),
  unhealthy_minimum: z.int().min(1).default(20).describe("… once there were this many verdicts in the window."),
  open_base_ms: ms.default(15_000).describe("First pause of an UNHEALTHY model; doubles with each trip."),
  open_max_ms: ms.default(300_000).describe("Longest pause of an UNHEALTHY model."),
  probes_to_recover: z
    .int()
    .min(1)
    .default(3)
    .describe("Probes that must succeed in a row before a HALF_OPEN model serves again."),
  stale_after_ms: ms
    .default(900_000)
    .describe("Without a verdict for this long, a model is STALE: still served, sooner distrusted."),
  garbage_in_a_row: z.int().min(1).default(3).describe("This many garbage answers in a row put a model in QUARANTINE;"),
  garbage_share: share.default(0.2).describe("so does this share of garbage …"),
  garbage_minimum: z.int().min(1).default(10).describe("… once there were this many verdicts in the window."),
  price_breaches_to_quarantine: z
    .int()
    .min(1)
    .default(3)
    .describe("So many answers that cost more than was held for them put a model in QUARANTINE …"),
  price_breach_window_ms: ms.default(21_600_000).describe("… when they come within this time."),
  trips_to_quarantine: z.int().min(1).default(4).describe("Trips within trips_window_ms that mean flapping."),
  trips_window_ms: ms.default(3_600_000).describe("The time over which trips are counted."),
  quarantine_base_ms: ms.default(1_800_000).describe("First stay in QUARANTINE; doubles with each."),
  quarantine_max_ms: ms.default(86_400_000).describe("Longest stay in QUARANTINE."),
  limited_default_ms: ms.default(30_000).describe("Pause after a 429 without Retry-After."),
  limited_max_ms: ms.default(900_000).describe("Longest pause that a Retry-After can ask for."),
  shed_max: share.default(0.8).describe("Largest share of a DEGRADED model's traffic that is moved to the next model."),
  shed_upwards: z
    .enum(["always", "not_housekeeping", "never"])
    .default("not_housekeeping")
    .describe(
      "Whether a DEGRADED model's traffic may move to a more expensive tier (flash to pro): `not_housekeeping` keeps titles, commit messages and the like where they are. Fail-over after a failed attempt is not affected.",
    ),
  urgent_probe_every_ms: ms
    .default(5_000)
    .describe("With every model down, one request this often tries the most senior one."),
  aggregator_failures_in_a_row: z
    .int()
    .min(1)
    .default(5)
    .describe("Failures to reach the aggregator in a row, over at least two models, that pause all calls."),
  aggregator_open_base_ms: ms.default(2_000).describe("First pause after that; doubles each time."),
  aggregator_open_max_ms: ms.default(30_000).describe("Longest such pause."),
  senior_fallback_chain: z
    .array(z.string())
    .min(1)
    .default(["vendor_v4_pro", "vendor_v4_flash", "vendor_emergency"])
    .describe(
      "Model keys, in the order in which they are tried as fallbacks for a model that cannot serve. Free models are never fallbacks.",
    ),
}).describe("When a model is trusted, and which models are its fallbacks.");

const Budget = section({
  per_goal_soft_usd: usd
    .default(2)
    .describe("Above this, a goal's requests step down from pro to flash unless they must have pro."),
  per_goal_hard_usd: usd.default(5).describe("A goal never spends more than this; the request that would is denied."),
  per_day_soft_usd: usd.default(20).describe("The soft cap of a UTC day, all goals together."),
  per_day_hard_usd: usd.default(50).describe("The hard cap of a UTC day, all goals together."),
  absurd_cost_factor: z
    .number()
    .min(1)
    .max(1_000_000)
    .default(20)
    .describe(
      "A cost above this many times its hold is not believed: the hold is charged, an error logged and counted. (A cost above its hold up to there is charged in full.)",
    ),
  expect_ledger: z
    .boolean()
    .default(false)
    .describe(
      "Say that the ledger has been used before: then a start on an empty one, which has forgotten all that was spent, is logged as an error (`ledger_missing`).",
    ),
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
  scan_memory_bytes: z
    .int()
    .min(0)
    .max(4_294_967_296)
    .default(16_777_216)
    .describe(
      "Memory for the results of earlier scans (positions and names of rules, never text), in bytes, so that an agent's history is not scanned anew at every turn; 0: nothing is remembered.",
    ),
}).describe("The privacy gate.");

const Tasks = section({
  remembered: z.int().min(1).default(10_000).describe("Tasks (X-Task-Id) whose runtime state is kept in memory."),
  remembered_ms: ms.default(86_400_000).describe("How long a task is remembered after its last request."),
}).describe("Runtime state kept per task between requests.");

const Records = section({
  enabled: z.boolean().default(true).describe("Whether decision records are kept."),
  retention_days: z.int().min(1).max(3_650).default(30).describe("Days after which they are deleted."),
  max_bytes: z
    .int()
    .min(1_000_000)
    .max(1_000_000_000_000)
    .default(1_000_000_000)
    .describe("Bytes that decision records take in the database at most; the oldest are deleted first."),
}).describe("Decision records and closed reservations.");

export const Policy = z.strictObject({
  $schema: z.string().optional().describe("Where editors find the JSON Schema; the gateway ignores it."),
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
