import { z } from "zod";
import { roles } from "#domain/model.ts";

/** The model registry file: one map `models:`, key → record. Prices in USD per million tokens; sizes in tokens. */

const pricePerMTok = z.number().min(0).max(100_000);

export const ModelRecord = z.strictObject({
  role: z.enum(roles).describe("scout (free tier), worker (flash tier), senior (pro tier) or emergency."),
  upstream_id: z.string().min(1).describe("The id the aggregator knows the model by."),
  prices: z
    .strictObject({
      input: pricePerMTok.describe("USD per million input tokens."),
      cached_input: pricePerMTok
        .optional()
        .describe("USD per million cached input tokens; the input price when absent."),
      output: pricePerMTok.describe("USD per million output tokens."),
    })
    .optional()
    .describe("Required unless `free`: a model without a price cannot be held to a budget."),
  context_tokens: z.int().min(1).default(131_072).describe("Input and output together, at most."),
  max_output_tokens: z.int().min(1).default(65_536).describe("The longest answer."),
  default_output_tokens: z
    .int()
    .min(1)
    .default(32_768)
    .describe("Output bound sent upstream when the caller sets none."),
  free: z.boolean().default(false).describe("Free models never see sensitive requests."),
  enabled: z.boolean().default(true).describe("False takes the model out of service."),
  reasoning: z
    .boolean()
    .default(false)
    .describe("Thinks before its first token: allowed the longer first-event timeout."),
  timeouts_ms: z
    .strictObject({
      connect: z.int().min(1).optional().describe("Until the connection stands."),
      headers: z.int().min(1).optional().describe("Until the answer's head has come."),
      first_event: z.int().min(1).optional().describe("First event with content."),
      idle: z.int().min(1).optional().describe("No byte at all."),
      total: z.int().min(1).optional().describe("The whole call."),
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

/** What a file of one's own may hold: it is merged over the shipped one, so a known key may name only what it changes. */
export const ModelRegistryOverlay = z.strictObject({
  ...ModelRegistryFile.shape,
  models: z.record(modelKey, ModelRecord.extend({ prices: ModelRecord.shape.prices.unwrap().partial() }).partial()),
});
