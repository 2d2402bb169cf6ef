import { z } from "zod";
import { type Caps, lowerCap, type NanoUsd, usdToNano } from "#domain/money/money.ts";
import { type TaskKind, taskKinds } from "#domain/routing.ts";
import { choice, flag, Health, int, ms, num, section, Upstream, usd } from "./policy-sections.ts";
import { withoutRemovedKeys } from "./removed-keys.ts";

/**
 * The routing policy: one schema is the validator, the type, the JSON Schema for editors and the reference page.
 * Every key has a default, so that a file with one key is a whole policy. Money is in USD here and nowhere else.
 */

const weight = (fallback: number) => num(fallback, 0, 100);
const bias = (fallback: number) => num(fallback, -50, 50);

const kindBias: Record<TaskKind, number> = {
  CODING: 0,
  DEBUG: 0,
  ARCHITECTURE: 0,
  SECURITY: 10,
  AUTH: 8,
  PAYMENT: 8,
  DESTRUCTIVE_MIGRATION: 10,
  TEST: 0,
  SUMMARIZE: 0,
  CLASSIFY: 0,
  PUBLIC_REVIEW: 0,
  RESEARCH: 0,
  OTHER: 0,
};

const Weights = section({
  reasoning_requirement: weight(25).describe("Points at reasoning_requirement = 1."),
  ambiguity: weight(15).describe("Points at ambiguity = 1."),
  dependency_depth: weight(15).describe("Points at dependency_depth = 1."),
  verification_difficulty: weight(20).describe("Points at verification_difficulty = 1."),
  risk_level: weight(10).describe("Points at risk_level CRITICAL; HIGH and MEDIUM give two thirds and one third."),
  blast_radius: weight(6).describe("Points at blast_radius CRITICAL; HIGH and MEDIUM give two thirds and one third."),
  tool_depth: weight(5).describe("Points when the combined tool depth reaches its hard trigger."),
  runtime_trouble: weight(12).describe(
    "Points for a task in trouble: repeated errors, failed tests, earlier attempts.",
  ),
}).describe("How many of the 100 points each feature can give.");

const guardedWords = z
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

const GuardedWords = section({
  security: guardedWords.describe("Words of asks of kind SECURITY."),
  auth: guardedWords.describe("Words of asks of kind AUTH."),
  payment: guardedWords.describe("Words of asks of kind PAYMENT."),
  destructive_migration: guardedWords.describe("Words of asks of kind DESTRUCTIVE_MIGRATION."),
}).describe(
  "Your own words of guarded topics, beside the shipped ones: one to three words each; `*` at the end stands for any ending. An ask that names one early goes to the senior model, unless it only reads, lists, tests or documents.",
);

const Affinity = section({
  horizon_turns: int(12, 0, 1_000).describe(
    "Number of future turns over which leaving a more expensive model must save more than it costs to read the context without a cache.",
  ),
  turn_input_tokens: int(2_210, 0, 1_000_000).describe("Average number of new input tokens per turn."),
  turn_output_tokens: int(250, 0, 1_000_000).describe("Average number of output tokens per turn."),
  remembered: int(20_000, 0, 1_000_000).describe("Number of conversations whose model is remembered."),
  remembered_ms: ms(1_800_000).describe("How long after its last answer a conversation's context counts as cached."),
}).describe("Keeps a conversation on the model that has its context in the prompt cache.");

const Routing = section({
  flash_below: num(90, 0, 100).describe(
    "Scores below this go to the flash tier: as shipped, 90 % of asks. A score is the share of asks, in percent, that are easier.",
  ),
  pro_from: num(97, 0, 100).describe(
    "Scores from this on go to the pro tier: as shipped, the top 3 % of asks. Scores between the two are the gray zone: the scout is asked if it may see the task, else the midpoint decides (as shipped 93.5, the top 6.5 %). With 85 for both, the top 15 % go to pro.",
  ),
  weights: Weights,
  kind_bias: section(
    Object.fromEntries(taskKinds.map((kind) => [kind, bias(kindBias[kind])])) as Record<
      TaskKind,
      ReturnType<typeof bias>
    >,
  ).describe("Points added, or subtracted, for the kind of work."),
  run_prose_chars: int(20_000, 0, 10_000_000).describe(
    "An agent's run is in trouble when its model has written more characters of its own prose than this in run_prose_calls calls in a row: from there to the next ask its score is at least pro_from. Prose is the text outside code fences and tool calls, and reasoning that the caller sends back. 0: never. `smart-gateway policy learn` measures what an installation's own models write.",
  ),
  run_prose_calls: int(8, 1, 1_000).describe("Over how many calls in a row the model's prose is summed up."),
  guarded_words: GuardedWords,
  affinity: Affinity,
}).describe("The score and its thresholds.");

const HardRules = section({
  guarded_kinds: z
    .array(z.enum(taskKinds))
    .default(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"])
    .describe("Kinds that go to the senior model when the risk is at least guarded_kinds_from_risk."),
  guarded_kinds_from_risk: choice(["LOW", "MEDIUM", "HIGH", "CRITICAL"], "HIGH").describe(
    "The risk level from which guarded_kinds apply.",
  ),
  same_error_count: int(2, 1).describe("This many occurrences of the same error."),
  flash_attempts: int(2, 1).describe("This many attempts by the flash tier."),
  files_touched: int(20, 1).describe("This many files touched."),
  tool_depth: int(16, 1).describe("A tool depth of this much: runtime.tool_depth + task.estimated_tool_depth."),
}).describe("Triggers that send a task to the senior model, whatever its score.");

const Limits = section({
  max_attempts: int(8, 1).describe("From this many reported attempts on, a task stops for a human."),
}).describe("Limits per task.");

const Scout = section({
  timeout_ms: ms(4_000).describe("How long a gray-zone request waits for the scout's verdict."),
  max_output_tokens: int(64, 1).describe("The longest verdict, in tokens."),
  max_prompt_bytes: int(6_000, 256).describe("Most bytes of the ask that the scout receives."),
}).describe("The call to the scout that decides gray-zone requests.");

const Stream = section({
  reasoning: choice(["field", "content", "live"], "field").describe(
    "What happens to the reasoning before a stream's first content. `field`: it is held back and sent as that delta's `reasoning`. `content`: it is put before the text, with a blank line between (never with a response_format). `live`: it is passed on as it arrives.",
  ),
  keepalive_ms: ms(10_000).describe(
    "A comment goes to the caller after this long without an event; 0: none. Before the first event it does not end the fail-over to other models.",
  ),
  write_stall_ms: ms(30_000).describe("A caller that reads nothing for this long is disconnected."),
  max_buffered_bytes: int(262_144, 4_096).describe(
    "Bytes buffered per caller before reading from the upstream pauses.",
  ),
  max_event_bytes: int(16_777_216, 4_096).describe("Largest single event of a stream."),
  max_answer_bytes: int(33_554_432, 4_096).describe("Largest non-streaming answer that is buffered."),
  max_answer_values: int(500_000, 1_000).describe(
    "Most JSON values (objects, arrays, texts, numbers) in an answer or in one event of a stream.",
  ),
}).describe("Streams to callers.");

const Budget = section({
  per_goal_soft_usd: usd(2).describe(
    "Above this, a goal's requests step down from pro to flash unless a hard rule or the caller requires pro.",
  ),
  per_goal_hard_usd: usd(5).describe("A goal never spends more than this; the request that would is denied."),
  per_day_soft_usd: usd(20).describe("The soft cap of a UTC day, all goals together."),
  per_day_hard_usd: usd(50).describe("The hard cap of a UTC day, all goals together."),
  expect_ledger: flag(false).describe(
    "True states that the ledger has been used before. A start with an empty ledger, in which all spending is lost, is then logged as an error (`ledger_missing`).",
  ),
}).describe("Caps per goal and per UTC day. A soft cap above its hard cap counts as equal to it.");

const Privacy = section({
  redact: flag(true).describe("Replace credentials in everything the upstream would read."),
  restore: choice(["off", "text"], "off").describe(
    "Put redacted values back into answer text (never into tool calls).",
  ),
  personal_data: flag(false).describe("Also replace e-mail addresses, phone and card numbers and the like."),
  disabled_rules: z.array(z.string()).default([]).describe("Rules switched off by name; logged at start."),
  allow: z.array(z.string().min(1).max(512)).max(1_000).default([]).describe("Exact values that are never redacted."),
  custom_rules: z
    .array(
      z.strictObject({
        id: z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,63}$/)
          .describe("Name of the rule, as placeholders and records show it."),
        pattern: z
          .string()
          .min(1)
          .max(512)
          .describe("What is replaced: a regular expression without look-ahead and back-references."),
      }),
    )
    .max(100)
    .default([])
    .describe("Rules of your own: a name and a regular expression, run by RE2 in linear time."),
  scan_memory_bytes: int(16_777_216, 0, 4_294_967_296).describe(
    "Memory for the results of earlier scans (positions and names of rules, never text), in bytes, so that an agent's history is not scanned anew at every turn; 0: nothing is remembered.",
  ),
}).describe("The privacy gate.");

const Tasks = section({
  remembered: int(10_000, 1).describe("Tasks (X-Task-Id) whose runtime state is kept in memory."),
  remembered_ms: ms(86_400_000).describe("How long a task is remembered after its last request."),
}).describe("Runtime state kept per task between requests.");

const Records = section({
  enabled: flag(true).describe("Whether decision records are kept."),
  retention_days: int(30, 1, 3_650).describe("Days after which decision records and closed reservations are deleted."),
  max_bytes: int(1_000_000_000, 1_000_000, 1_000_000_000_000).describe(
    "Most bytes that decision records take in the database; the oldest are deleted first.",
  ),
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
