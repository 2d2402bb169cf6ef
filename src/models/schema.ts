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
  context_tokens: z.int().min(1).default(131_072),
  max_output_tokens: z.int().min(1).default(65_536),
  default_output_tokens: z
    .int()
    .min(1)
    .default(32_768)
    .describe("Output bound sent upstream when the caller sets none."),
  free: z.boolean().default(false).describe("Free models never see sensitive requests."),
  enabled: z.boolean().default(true),
  reasoning: z
    .boolean()
    .default(false)
    .describe("Thinks before its first token: allowed the longer first-event timeout."),
  timeouts_ms: z
    .strictObject({
      connect: z.int().min(1).optional(),
      headers: z.int().min(1).optional(),
      first_event: z.int().min(1).optional(),
      idle: z.int().min(1).optional(),
      total: z.int().min(1).optional(),
    })
    .prefault({})
    .describe("Overrides of the policy's upstream.timeouts_ms for this model."),
});
export type ModelRecord = z.infer<typeof ModelRecord>;

export const ModelRegistryFile = z.strictObject({
  $schema: z.string().optional(),
  models: z.record(
    z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, "a key is lower-case letters, digits and _"),
    ModelRecord,
  ),
});
export type ModelRegistryFile = z.infer<typeof ModelRegistryFile>;
