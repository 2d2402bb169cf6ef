import { z } from "zod";
import { guardedFields } from "#domain/guarded-fields.ts";
import { ms, section, share, usd } from "./section.ts";

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
    "Request fields that may change the model, the provider's terms or the price, so that the hold could be too small; and what " +
      "happens to a value that is not harmless. `refuse` answers 422. `drop` leaves the field out. `forward` sends it; " +
      "`{action: forward, fee_usd: 0.02, price_factor: 2}` also adds a fee per call and a multiple of the token prices to " +
      "the hold. Further fields may be added by name.",
  );

export const Upstream = section({
  max_attempts: z
    .int()
    .min(1)
    .max(10)
    .default(3)
    .describe("Most calls to the upstream per request, retries and fail-overs included."),
  max_attempts_per_model: z.int().min(1).max(10).default(2).describe("Most calls to one model per request."),
  backoff_base_ms: ms
    .default(100)
    .describe("The pause before retry k is random: from 0 to this × 2^k, at most backoff_max_ms (full jitter)."),
  backoff_max_ms: ms.default(2_000).describe("Longest pause between two calls."),
  retry_after_max_ms: ms
    .default(5_000)
    .describe("If Retry-After asks for a longer pause, the request fails over to the next model at once."),
  retry_budget_share: share.default(0.1).describe("Retries allowed, as a share of recent requests."),
  retry_budget_per_second: z
    .number()
    .min(0)
    .default(3)
    .describe("Retries always allowed per second, whatever the traffic."),
  billing_stops_on_cancel: z
    .boolean()
    .default(false)
    .describe(
      "True if the aggregator stops billing as soon as a call is cancelled; a cancelled call is then charged for what had been received.",
    ),
  price_limit: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Send the model's prices as a price limit per token (`provider.max_price`), so that no more expensive host serves the call. `auto`: at OpenRouter only. It is never sent for a model whose price is not confirmed.",
    ),
  fields: Fields,
  price_book: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Read prices from the aggregator's list (`GET /models`, without the key) at start and daily. `auto`: at OpenRouter only. Prices in the operator's own registry file take precedence.",
    ),
  price_book_wait_ms: ms
    .max(60_000)
    .default(2_000)
    .describe("How long the start waits for that list; a list that arrives later takes effect when it arrives."),
  generation_lookup: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "Ask the aggregator what it has billed for a call whose outcome is unknown (`GET /generation?id=`), and settle with that amount. `auto`: at OpenRouter only.",
    ),
  key_usage: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .describe(
      "About once an hour, ask the aggregator what it has counted for the key today (`GET /key`), and compare that with the ledger (log, metrics, `budgets reconcile`). `auto`: at OpenRouter only.",
    ),
  timeouts_ms: section({
    connect: ms.default(5_000).describe("Time until the connection is established."),
    headers: ms.default(30_000).describe("Time until the response headers have arrived."),
    first_event: ms.default(60_000).describe("Time until the first event with content; comments do not count."),
    first_event_reasoning: ms.default(180_000).describe("The same for models marked `reasoning`."),
    idle: ms.default(30_000).describe("Longest time without any byte; comments count as bytes."),
    idle_data: ms.default(120_000).describe("Longest time without a data event; comments do not count."),
    total: ms.default(600_000).describe("Time for the whole call."),
  }).describe("Timeouts of one call; a model's own timeouts_ms take precedence."),
}).describe("How the aggregator is called.");
