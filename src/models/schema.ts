import { z } from "zod";
import { roles } from "#domain/model.ts";

/** The model registry file: one map `models:`, key → record. Prices in USD per million tokens; sizes in tokens. */

const pricePerMTok = z.number().min(0).max(100_000);
const optionalPrice = (description: string) => pricePerMTok.optional().describe(description);
const tokenCount = (otherwise: number, description: string) => z.int().min(1).default(otherwise).describe(description);
const timeout = (description: string) => z.int().min(1).optional().describe(description);

/** The prices that a record, a tier or a window can name. */
const rates = {
  input: pricePerMTok.describe("USD per million input tokens."),
  cached_input: optionalPrice("USD per million cached input tokens; the input price when absent."),
  cache_write: optionalPrice(
    "USD per million input tokens written to the prompt cache, at the highest rate that the provider charges; when absent, see docs/ledger.md.",
  ),
  output: pricePerMTok.describe("USD per million output tokens."),
  request: z.number().min(0).max(1_000).optional().describe("USD per call, beside its tokens."),
};
/** In a band each is optional: what it does not name stays as it is. */
const bandRates = {
  input: optionalPrice("USD per million input tokens."),
  cached_input: optionalPrice(
    "USD per million cached input tokens; follows this input price where the record names no cached one.",
  ),
  cache_write: optionalPrice("USD per million input tokens written to the prompt cache."),
  output: optionalPrice("USD per million output tokens."),
  request: rates.request,
};

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a UTC time of day in quotes, like "16:30"');

const Tier = z.strictObject({
  from_input_tokens: z.int().min(1).describe("Prompt tokens from which these prices apply."),
  ...bandRates,
});
const Window = z.strictObject({
  from: timeOfDay.describe('Start, UTC: "16:30".'),
  to: timeOfDay.describe('End, UTC, not included; at or before `from` it is on the next day: "00:30".'),
  ...bandRates,
});

export const ModelRecord = z.strictObject({
  role: z.enum(roles).describe("scout (free tier), worker (flash tier), senior (pro tier) or emergency."),
  upstream_id: z.string().min(1).describe("The model's id at the aggregator."),
  prices: z
    .strictObject({
      ...rates,
      tiers: z
        .array(Tier)
        .max(16)
        .optional()
        .describe("Prices for long prompts: the highest tier that is reached replaces the prices that it names."),
      windows: z
        .array(Window)
        .max(16)
        .optional()
        .describe("Prices at certain hours (UTC): an open window replaces the prices that it names."),
    })
    .optional()
    .describe("Required unless `free`: a model without a price cannot be held to a budget."),
  context_tokens: tokenCount(131_072, "Most tokens of input and output together."),
  max_output_tokens: tokenCount(65_536, "Most tokens of an answer."),
  default_output_tokens: tokenCount(32_768, "Most output tokens, sent upstream when the caller sets no limit."),
  output_limit: z
    .enum(["both", "max_tokens", "max_completion_tokens"])
    .default("both")
    .describe(
      "The name by which the host takes the output limit. `both`: `max_tokens` is always sent, also beside a `max_completion_tokens`. Else only this one is sent, because the host refuses the other.",
    ),
  free: z.boolean().default(false).describe("Free models never see sensitive requests."),
  enabled: z.boolean().default(true).describe("False takes the model out of service."),
  reasoning: z
    .boolean()
    .default(false)
    .describe("True for a model that reasons before its first token; it gets the longer first-event timeout."),
  max_in_flight: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe(
      "Most calls at a time, of one gateway process; more wait up to upstream.queue_ms, then the next model answers. Absent: no limit.",
    ),
  tool_turn_reasoning: z
    .enum(["as_received", "auto", "required", "refused"])
    .default("as_received")
    .describe(
      "What happens to `reasoning_content` of assistant messages in runs with tools. `required`: it is added where it is missing, with the text of `reasoning` or empty, because the host answers 400 without it. `auto`: the same, at OpenRouter and at DeepSeek only. `refused`: all reasoning is taken out of the messages.",
    ),
  stream_options: z
    .enum(["include_usage", "refused"])
    .default("include_usage")
    .describe(
      "What goes out as `stream_options` of streams. `include_usage`: the usage is asked for, beside the caller's own. `refused`: nothing, because the host (Mistral's own) answers 4xx to the field.",
    ),
  timeouts_ms: z
    .strictObject({
      connect: timeout("Time until the connection is established."),
      headers: timeout("Time until the response headers have arrived."),
      first_event: timeout("Time until the first event with content."),
      idle: timeout("Longest time without any byte."),
      total: timeout("Time for the whole call."),
    })
    .prefault({})
    .describe("Overrides of the policy's upstream.timeouts_ms for this model."),
});
export type ModelRecord = z.infer<typeof ModelRecord>;

const modelKey = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, "a key is lower-case letters, digits and _");

export const ModelRegistryFile = z.strictObject({
  $schema: z.string().optional().describe("Where editors find the JSON Schema; the gateway ignores it."),
  models: z.record(modelKey, ModelRecord),
});
export type ModelRegistryFile = z.infer<typeof ModelRegistryFile>;

/** An operator's file: it is merged over the shipped registry, so a known key needs only the fields that it changes. */
export const ModelRegistryOverlay = z.strictObject({
  ...ModelRegistryFile.shape,
  models: z.record(modelKey, ModelRecord.extend({ prices: ModelRecord.shape.prices.unwrap().partial() }).partial()),
});
