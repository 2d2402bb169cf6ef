import { z } from "zod";
import { type Caps, lowerCap, type NanoUsd, usdToNano } from "#domain/money/money.ts";
import { type TaskKind, taskKinds } from "#domain/routing.ts";
import { withoutRemovedKeys } from "./removed-keys.ts";

/**
 * The routing policy: one schema is the validator, the type, the JSON Schema for editors and the reference page.
 * Every key has a default, so that a file with one key is a whole policy. Money is in USD here and nowhere else.
 */

const int = (fallback: number, min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.int().min(min).max(max).default(fallback);
const num = (fallback: number, min: number, max: number) => z.number().min(min).max(max).default(fallback);
const ms = (fallback: number) => int(fallback, 0, 86_400_000);
const usd = (fallback: number) => num(fallback, 0, 1_000_000);
const flag = (fallback: boolean) => z.boolean().default(fallback);
const choice = <const T extends string>(options: readonly T[], fallback: NoInfer<T>) =>
  z.enum(options).default(fallback as never); // it is one of the options

/** `auto`: only where the aggregator is known to have it. */
const automatic = () => choice(["auto", "on", "off"], "auto");

/** An object all of whose keys have defaults: absent, it is its defaults. */
function section<S extends z.ZodRawShape>(shape: S) {
  return z.strictObject(shape).prefault({} as never); // every key of every section has a default, so {} parses
}

const weight = (fallback: number) => num(fallback, 0, 100);

const Weights = section({
  reasoning_requirement: weight(25).describe("At reasoning_requirement = 1."),
  ambiguity: weight(15).describe("At ambiguity = 1."),
  dependency_depth: weight(15).describe("At dependency_depth = 1."),
  verification_difficulty: weight(20).describe("At verification_difficulty = 1."),
  risk_level: weight(10).describe("At risk_level CRITICAL; HIGH gives two thirds, MEDIUM one third."),
  blast_radius: weight(6).describe("At blast_radius CRITICAL; HIGH gives two thirds, MEDIUM one third."),
  tool_depth: weight(5).describe("At a tool depth of hard_rules.tool_depth."),
  runtime_trouble: weight(12).describe("At most, for repeated errors, failed tests and earlier attempts."),
}).describe("Points of the score that each feature can give.");

/** Of the kinds that are not named here, 0. */
const kindBias: { readonly [K in TaskKind]?: number } = {
  SECURITY: 10,
  AUTH: 8,
  PAYMENT: 8,
  DESTRUCTIVE_MIGRATION: 10,
};

const bias = (kind: TaskKind) => num(kindBias[kind] ?? 0, -50, 50);

const words = z
  .array(
    z
      .string()
      .trim()
      .min(2)
      .max(60)
      .regex(/^[^\s*]+(?: [^\s*]+){0,2}\*?$/, "must be one to three words, with `*` at the end only"),
  )
  .max(200)
  .default([]);

const Routing = section({
  flash_below: num(90, 0, 100).describe("Scores below this go to flash. A score is the percentage of easier asks."),
  pro_from: num(97, 0, 100).describe("Scores from this on go to pro. Between, the scout or the midpoint decides."),
  weights: Weights,
  kind_bias: section(
    Object.fromEntries(taskKinds.map((kind) => [kind, bias(kind)])) as Record<TaskKind, ReturnType<typeof bias>>,
  ).describe("Points added, or subtracted, for the kind of work."),
  run_prose_chars: int(20_000, 0, 10_000_000).describe(
    "A run goes to pro when its model has written more characters of prose in eight calls in a row; 0: never. See `policy learn`.",
  ),
  high_risk_words: section({ security: words, auth: words, payment: words, destructive_migration: words }).describe(
    "Your own terms of high-risk topics: one to three words, `*` for any ending. An ask to change what they name goes to pro.",
  ),
}).describe("The score and its thresholds.");

const HardRules = section({
  same_error_count: int(2, 1).describe("Occurrences of the same error."),
  flash_attempts: int(2, 1).describe("Attempts by flash."),
  files_touched: int(20, 1).describe("Files touched."),
  tool_depth: int(16, 1).describe("runtime.tool_depth + task.estimated_tool_depth."),
}).describe("From these counts on a task goes to the senior model, whatever its score.");

const Limits = section({
  max_attempts: int(8, 1).describe("From this many reported attempts on, a task stops for a human."),
}).describe("Limits per task.");

const Scout = section({
  timeout_ms: ms(4_000).describe("How long a request in the gray zone waits for the scout."),
}).describe("The question to the scout.");

const Privacy = section({
  redact: flag(true).describe("Replace credentials in everything the upstream would read."),
  restore: choice(["off", "text"], "off").describe("Put replaced values back into the text of answers."),
  personal_data: flag(false).describe("Also replace e-mail addresses, phone and card numbers and the like."),
  disabled_rules: z.array(z.string()).default([]).describe("Rules switched off by name; logged at start."),
  allow: z.array(z.string().min(1).max(512)).max(1_000).default([]).describe("Exact values that are never replaced."),
  custom_rules: z
    .array(
      z.strictObject({
        id: z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,63}$/)
          .describe("Its name in placeholders and records."),
        pattern: z
          .string()
          .min(1)
          .max(512)
          .describe("What is replaced: a regular expression without look-ahead and back-references."),
      }),
    )
    .max(100)
    .default([])
    .describe("Rules of your own, run by RE2 in linear time."),
}).describe("The privacy gate.");

const Budget = section({
  per_goal_soft_usd: usd(2).describe("Above this, a goal's pro requests go to flash if they need not be pro."),
  per_goal_hard_usd: usd(5).describe("A goal never spends more; the request that would is denied."),
  per_day_soft_usd: usd(20).describe("The same for a UTC day, all goals together."),
  per_day_hard_usd: usd(50).describe("The same for a UTC day, all goals together."),
  expect_ledger: flag(false).describe("Log an error (`ledger_missing`) if the ledger is empty at start."),
}).describe("Caps. A soft cap above its hard cap counts as equal to it.");

const Health = section({
  failures_in_a_row: int(5, 1).describe(
    "Failures in a row that make a model UNHEALTHY, as does half of four times as many answers within a minute; DEGRADED at three fifths, or at a tenth of these answers.",
  ),
  open_base_ms: ms(15_000).describe("First pause of an UNHEALTHY model; failed probes double it."),
  open_max_ms: ms(300_000).describe("Its longest pause."),
  shed_upwards: choice(["always", "not_housekeeping", "never"], "not_housekeeping").describe(
    "Whether traffic of a DEGRADED model may move to a more expensive tier. Housekeeping: titles, commit messages and the like.",
  ),
  senior_fallback_chain: z
    .array(z.string())
    .min(1)
    .default(["vendor_v4_pro", "vendor_v4_flash", "vendor_emergency"])
    .describe("Models tried in this order for one that cannot serve; none of them free."),
  free_fallback: choice(["paid", "none"], "paid").describe(
    "Who answers for a free model that cannot serve: a model of the chain, or nobody.",
  ),
}).describe("When a model is trusted, and its fallbacks.");

const fieldActions = z.enum(["forward", "refuse", "drop"]);

/** An action, or an action with what a forwarded field may cost. */
const FieldAction = z.union([
  fieldActions,
  z.strictObject({ action: fieldActions, fee_usd: usd(0), price_factor: num(1, 1, 1_000) }),
]);

/** Fields that the gateway itself sets or reads; a rule for them would break every request. */
const ownFields = ["model", "messages", "stream", "metadata", "max_tokens", "max_completion_tokens", "n"];

const Fields = z
  .record(z.string(), FieldAction)
  .refine((fields) => ownFields.every((name) => !Object.hasOwn(fields, name)), {
    message: `fields that the gateway itself sets or reads cannot stand here: ${ownFields.join(", ")}`,
  })
  .default({})
  .describe(
    "What happens to request fields that may change model, terms or price, by name: `refuse` (422), the default of those below; `drop`; `forward`, or `{action: forward, fee_usd: 0.02, price_factor: 2}` to hold a fee per call and a multiple of the price too.",
  );

const Upstream = section({
  max_attempts: int(3, 1, 10).describe("Calls per request, retries and fail-overs included; two per model."),
  backoff_base_ms: ms(100).describe("Longest random pause before the first retry; then doubled, up to two seconds."),
  retry_budget_per_second: num(3, 0, 1_000_000).describe("Retries a second, beside a tenth of the requests."),
  billing_stops_on_cancel: flag(false).describe("Of a cancelled stream, only what came is billed."),
  failed_calls_billed: choice(["auto", "always", "never"], "auto").describe(
    "Whether calls answered with an error are billed: their holds then stay until the cost is known. `auto`: `never` at OpenRouter, `always` elsewhere.",
  ),
  price_limit: automatic().describe("Send the confirmed price as a limit. `auto`, here and below: at OpenRouter only."),
  fields: Fields,
  price_book: automatic().describe("Read prices (`GET /models`) daily; those of your registry file come first."),
  generation_lookup: automatic().describe("Ask what calls of unknown outcome cost (`GET /generation`)."),
  key_usage: automatic().describe("Compare with the key's count hourly (`GET /key`)."),
  queue_ms: ms(5_000).describe("How long a request waits for a model at its max_in_flight before the next is tried."),
  timeouts_ms: section({
    connect: ms(5_000).describe("Until the connection is established."),
    headers: ms(30_000).describe("Until the response headers have come."),
    first_event: ms(60_000).describe("Until the first event with content; three times this for `reasoning` models."),
    idle: ms(30_000).describe("Without any byte; four times this with nothing but comments."),
    total: ms(600_000).describe("For the whole call."),
  }).describe("Timeouts of one call; a model's own timeouts_ms take precedence."),
}).describe("How the aggregator is called.");

const Stream = section({
  reasoning: choice(["field", "content", "live"], "field").describe(
    "Reasoning before a stream's first content: sent as that delta's `reasoning`, put before its text (never with a response_format), or passed on as it comes.",
  ),
  keepalive_ms: ms(10_000).describe("A comment goes to the caller after this long without an event; 0: none."),
  write_stall_ms: ms(30_000).describe("A caller that reads nothing for this long is disconnected."),
}).describe("Streams to callers.");

const Records = section({
  enabled: flag(true).describe("Whether decision records are kept."),
  retention_days: int(30, 1, 3_650).describe("Days after which records and closed reservations are deleted."),
  max_bytes: int(1_000_000_000, 1_000_000, 1_000_000_000_000).describe("Bytes in the database; the oldest go first."),
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
  records: Records,
});
export type Policy = z.infer<typeof Policy>;

/** A policy as a record has kept it: keys may have been removed since. Throws where this release cannot read it. */
export function keptPolicy(written: object): Policy {
  return Policy.parse(withoutRemovedKeys(written).value);
}

/**
 * The caps of a policy. Rounded down: a cap below one nano-dollar is zero, and nothing may be spent. A soft cap above
 * its hard cap counts as equal to it, so that a file which only lowers a hard cap is a whole policy.
 */
export function capsOf({ budget }: Pick<Policy, "budget">): Caps {
  const goalHard = nano(budget.per_goal_hard_usd);
  const dayHard = nano(budget.per_day_hard_usd);
  return {
    goalSoft: lowerCap(nano(budget.per_goal_soft_usd), goalHard),
    goalHard,
    daySoft: lowerCap(nano(budget.per_day_soft_usd), dayHard),
    dayHard,
  };
}

function nano(usd: number): NanoUsd {
  const amount = usdToNano(usd, "down");
  // The schema admits 0 to a million dollars, all of which can be held.
  if (amount === undefined) throw new RangeError(`not an amount in USD: ${usd}`);
  return amount;
}
