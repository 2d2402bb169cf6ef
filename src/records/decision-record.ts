import { z } from "zod";
import { Action, Alias, Cause, RoutingTask, RuntimeState, TaskKind } from "#domain/routing.ts";
import { requestOutcomes } from "./record.ts";

/**
 * A decision record: what was asked, decided, answered and paid, once per request and per refusal. The JSON of the API,
 * of the command line and of the database alike. Money is whole nano-USD, times are milliseconds since the epoch
 * (`at_ms`), durations end in `_ms`. Numbers, enum words, model keys, ids and why calls failed; never text of a prompt
 * or an answer, never a secret.
 */

const nanoUsd = z.int().min(0);
const count = z.int().min(0);
const ms = z.number().min(0);
const text = z.string();
const textOrNull = (description: string) => text.nullable().describe(description);

/** Which answer the caller got when it was one of ours: the gateway refused, or the upstream failed. */
export const refusers = ["gateway", "upstream"] as const;
const RefusedBy = z.enum(refusers);
export type RefusedBy = z.infer<typeof RefusedBy>;

export const tiers = ["free", "flash", "pro", "emergency"] as const;
const Tier = z.enum(tiers);
export type Tier = z.infer<typeof Tier>;

export const costStates = ["known", "estimated", "unknown"] as const;
const CostState = z.enum(costStates).describe("estimated: the hold or a lower bound was charged; unknown: still open.");
export type CostState = z.infer<typeof CostState>;

const DecisionTokens = z.object({
  prompt: count,
  cached: count.describe("Of the prompt, read from the upstream's cache."),
  cache_write: count.describe("Of the prompt, written to the upstream's cache."),
  completion: count,
  reasoning: count.describe("Of the completion."),
});
export type DecisionTokens = z.infer<typeof DecisionTokens>;

export const DecisionAttempt = z.object({
  number: z.int().describe("In the id of its reservation, `decision_id.number`, from 1."),
  model: text,
  purpose: z.enum(["EXECUTE", "SCOUT"]),
  outcome: text.describe("answered, or the kind of failure."),
  upstream_status: z.int().nullable(),
  reason: textOrNull("Why it failed, in the upstream's words where it had any: redacted, at most 300 characters."),
  started_ms: ms.describe("Since the request was received."),
  first_token_ms: ms.nullable().describe("Since the attempt started."),
  duration_ms: ms,
  hold_nano_usd: nanoUsd,
  cost_nano_usd: nanoUsd.nullable().describe("null: not known yet."),
  cost_source: text.nullable(),
  tokens: DecisionTokens.nullable(),
  other_model: textOrNull("The upstream's name of the model that answered, where it is another than asked."),
  generation_id: text.nullable(),
  host: textOrNull("The provider that served, as the upstream names it."),
});
export type DecisionAttempt = z.infer<typeof DecisionAttempt>;

const Account = z.object({ spent: nanoUsd, held: nanoUsd });
const Spend = z.object({
  goal: Account,
  day: Account,
  key: Account.extend({ hard: nanoUsd }).optional().describe("Of the caller's key, where it has a cap of its own."),
});

/** What `decide` looked at beside policy and model registry: enough to decide again. The instruction is not in it. */
export const DecisionInputs = z.object({
  task: RoutingTask.omit({ task_id: true, goal_id: true, kind: true, instruction: true, metadata: true }).extend({
    hint: z.enum(["auto", "pro", "flash", "free"]),
    scout: z.boolean(),
    pro: z.boolean(),
  }),
  runtime: RuntimeState.omit({ error_signature: true }),
  size: z.object({
    input_tokens_bound: z.number(),
    input_tokens_estimate: z.number(),
    requested_output_tokens: z.number().nullable(),
    other_output_tokens: z.number().optional(),
    reasoning_tokens: z.number().optional(),
    predicted_tokens: z.number().optional(),
    choices: z.number(),
    writes_cache: z.boolean().optional(),
    surcharge: z.object({ fee: nanoUsd, factor: z.number(), fields: z.array(text) }).optional(),
  }),
  spend: Spend.describe("As the decision saw it, in nano-USD."),
  ledger_spend: Spend.nullable().describe("As the ledger saw it, where it refused the hold."),
  own_caps: z
    .object({ goal_hard: nanoUsd.optional(), day_hard: nanoUsd.optional() })
    .describe("Hard caps that an operator has set for the goal and the day, in nano-USD."),
  scale: z.enum(["declared", "chat", "agent"]),
  run_evidence: z.array(text),
  prose: count.describe("Characters of its own prose that the model wrote in a few calls of the run."),
  continuation: z.boolean().describe("A further turn of an ask."),
  reported_failure: z.boolean().describe("The caller has reported a failure with the request."),
  affinity: z.object({ model: text, continuation: z.boolean() }).nullable(),
  verdict: z.enum(["flash", "pro", "none"]).nullable().describe("The scout's, once it was asked."),
  unroutable: z.array(text).describe("Models that could not be sent traffic, whatever their state."),
});
export type DecisionInputs = z.infer<typeof DecisionInputs>;

export const DecisionRecord = z.object({
  seq: z.int().describe("Orders records by when they count, and breaks ties; pass it as `before` or `after`."),
  at_ms: z.number().describe("When the request was received."),
  recorded_ms: z.number().describe("When it counts: its end, within the UTC day that the ledger booked it on."),
  decision_id: text,
  request_id: text,
  session: text.nullable(),
  goal: textOrNull("The budget's goal: `session/goal`, the goal alone, or `adhoc`."),
  task: text.nullable(),
  conversation: textOrNull("Salted hash that calls of one conversation share."),
  generation_ids: z.array(text).describe("The aggregator's ids of the calls."),
  label: textOrNull("The label of the caller's token, where it has one."),
  route: text.describe("The endpoint: chat_completions, route_outcome …"),
  alias: Alias.nullable(),
  stream: z.boolean(),
  action: Action.nullable().describe("null where the request was refused before a decision."),
  model: textOrNull("Key of the chosen model; where a scout was asked, of the one that its verdict chose."),
  served_by: textOrNull("Key of the model that answered."),
  upstream_model: textOrNull("The model that answered, as the upstream names it."),
  upstream_host: textOrNull("The provider that served, where the upstream names it."),
  status: z.int(),
  outcome: z.enum(requestOutcomes),
  refused_by: RefusedBy.nullable(),
  error_class: textOrNull("The error's code, or the last attempt's failure."),
  error_param: textOrNull("The field or header at fault, where the request was refused before a decision."),
  asked_model: textOrNull("What stood in `model` then."),
  cause: Cause.nullable(),
  rule: textOrNull("Names of the hard rules that fired, comma-separated."),
  kind: TaskKind.nullable(),
  tier: Tier.nullable().describe("Of the model that answered, else of the one chosen."),
  score: z.number().nullable(),
  confidence: z.number().nullable(),
  sensitive_block_applied: z.boolean(),
  contributions: z.array(z.object({ name: text, value: z.number() })).describe("Points of each feature."),
  points: z.number().nullable().describe("Their sum, before the scale makes a score of it."),
  thresholds: z.object({ flash_below: z.number(), pro_from: z.number() }).nullable(),
  inputs: DecisionInputs.nullable(),
  housekeeping: text.nullable(),
  features: z.record(text, z.number()),
  evidence: z.array(text),
  attempts: z.array(DecisionAttempt),
  timings: z.object({
    gate_ms: ms.nullable().describe("Privacy gate."),
    decision_ms: ms.nullable().describe("From the request's last byte to the decision, the gate included."),
    ledger_ms: ms.nullable().describe("Waiting for reservations."),
    first_token_ms: ms.nullable(),
    total_ms: ms,
  }),
  tokens: DecisionTokens.nullable().describe("Of all attempts."),
  hold_nano_usd: nanoUsd.describe("Held for all attempts."),
  cost_nano_usd: nanoUsd.describe("Of all attempts, as far as known; corrected when the ledger learns more."),
  cost_state: CostState,
  cost_source: textOrNull("upstream_cost, usage, at_least, hold … of the last attempt."),
  baseline_nano_usd: nanoUsd.nullable().describe("The same tokens, with the same share cached, on the senior model."),
  switched: z
    .object({ from: text, cost_nano_usd: z.number() })
    .nullable()
    .describe("From which model the conversation came, and what that has cost more than staying, its context cached."),
  price_band: text.nullable(),
  price_version: text.nullable(),
  is_byok: z.boolean().nullable(),
  forwarded_fields: z.array(text),
  redactions: z
    .array(z.object({ rule: text, count }))
    .describe("What the privacy gate has found; also in tool definitions, which are forwarded."),
  health: z.record(text, text).describe("State of each model that was not HEALTHY."),
  policy_hash: textOrNull("Names policy and models with prices; not the configuration hash."),
  reported: z
    .object({ outcome: z.enum(["solved", "failed"]), score: z.number().nullable() })
    .nullable()
    .describe("The outcome that the caller has reported (POST /v1/route/outcome)."),
  repeated: z.int().min(1).describe("Above 1: stands for so many refusals of one kind."),
});
export type DecisionRecord = z.infer<typeof DecisionRecord>;

/** What one stage of the pipeline made of the task. */
export const DecisionStage = z.object({
  stage: z.enum(["privacy", "score", "rules", "budget", "health"]),
  verdict: text.describe("The stage's result: `pass`, `flash`, `hard_rule same_error_count`, `denied` …"),
  decided: z.boolean().describe("Whether this stage has decided where the task went."),
  would: textOrNull("For stages after the deciding one: what this stage would have decided."),
  evidence: z.array(text),
});
export type DecisionStage = z.infer<typeof DecisionStage>;

/** A change of what the caller controls that would have changed the decision. */
export const Counterfactual = z.object({
  input: text.describe("What changes: `risk_level`, `same_error_count`, `sensitive` …"),
  from: text,
  to: text,
  leads_to: text.describe("What would have been decided: a tier, `refused`, or `scout`: it would have been asked."),
  cause: Cause,
  sentence: text,
});
export type Counterfactual = z.infer<typeof Counterfactual>;

const DecisionExplanation = z.object({
  sentence: text,
  given: z.array(z.object({ name: text, value: text })).describe("The model asked for, goal, stated levels, the run."),
  findings: textOrNull("What the privacy gate has found, as a sentence."),
  stages: z.array(DecisionStage),
  would_change: z.array(Counterfactual),
});
export type DecisionExplanation = z.infer<typeof DecisionExplanation>;

/** What `GET /v1/route/decisions/{id}` answers. */
export const ExplainedDecision = DecisionRecord.extend({
  explanation: DecisionExplanation.describe("Only the sentence where there was no decision, or its policy is gone."),
});
export type ExplainedDecision = z.infer<typeof ExplainedDecision>;
