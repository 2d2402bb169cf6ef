import { z } from "zod";
import { restrictedFields } from "#domain/restricted-fields.ts";

/** Kinds of values in the policy, each with its default. */

export const int = (fallback: number, min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.int().min(min).max(max).default(fallback);
export const num = (fallback: number, min: number, max = Number.POSITIVE_INFINITY) =>
  (max === Number.POSITIVE_INFINITY ? z.number().min(min) : z.number().min(min).max(max)).default(fallback);
export const ms = (fallback: number, max = 86_400_000) => int(fallback, 0, max);
export const usd = (fallback: number) => num(fallback, 0, 1_000_000);
const share = (fallback: number) => num(fallback, 0, 1);
export const flag = (fallback: boolean) => z.boolean().default(fallback);
export const choice = <const T extends string>(options: readonly T[], fallback: NoInfer<T>) =>
  z.enum(options).default(fallback as never); // it is one of the options

/** An object all of whose keys have defaults: absent, it is its defaults. */
export function section<S extends z.ZodRawShape>(shape: S) {
  return z.strictObject(shape).prefault({} as never); // every key of every section has a default, so {} parses
}

export const Health = section({
  failures_in_a_row: int(5, 1).describe(
    "This many failures in a row make a model UNHEALTHY; so does half of four times as many answers or more within a minute. It is DEGRADED at three fifths of it, or at a tenth of these answers.",
  ),
  open_base_ms: ms(15_000).describe(
    "First pause of an UNHEALTHY model; failed probes double it, up to a quarter of the outage.",
  ),
  open_max_ms: ms(300_000).describe("Longest pause of an UNHEALTHY model."),
  shed_upwards: choice(["always", "not_housekeeping", "never"], "not_housekeeping").describe(
    "Whether a DEGRADED model's traffic may move to a more expensive tier (flash to pro): `not_housekeeping` keeps titles, commit messages and the like where they are. Fail-over after a failed attempt is not affected.",
  ),
  senior_fallback_chain: z
    .array(z.string())
    .min(1)
    .default(["vendor_v4_pro", "vendor_v4_flash", "vendor_emergency"])
    .describe(
      "Model keys, in the order in which they are tried as fallbacks for a model that cannot serve. Free models are never fallbacks.",
    ),
  free_fallback: z
    .enum(["paid", "none"])
    .default("paid")
    .describe(
      "What answers when a free model was asked for and cannot serve: `paid`: a model of the fallback chain, which costs money; `none`: nobody, the request is refused.",
    ),
}).describe("When a model is trusted, and which models are its fallbacks.");

const fieldActions = z.enum(["forward", "refuse", "drop"]);

/** An action, or an action with what a forwarded field may cost. */
const FieldAction = z.union([
  fieldActions,
  z.strictObject({
    action: fieldActions,
    fee_usd: usd(0),
    price_factor: num(1, 1, 1_000),
  }),
]);

/** Fields that the gateway itself sets or reads; a rule for them would break every request. */
const ownFields = ["model", "messages", "stream", "metadata", "max_tokens", "max_completion_tokens", "n"];

const Fields = z
  .object(
    Object.fromEntries(
      Object.entries(restrictedFields).map(([name, { about }]) => [
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
  max_attempts: int(3, 1, 10).describe("Most calls to the upstream per request, retries and fail-overs included."),
  max_attempts_per_model: int(2, 1, 10).describe("Most calls to one model per request."),
  backoff_base_ms: ms(100).describe(
    "The pause before retry k is random: from 0 to this × 2^k, at most backoff_max_ms (full jitter).",
  ),
  backoff_max_ms: ms(2_000).describe("Longest pause between two calls."),
  retry_after_max_ms: ms(5_000).describe(
    "If Retry-After asks for a longer pause, the request fails over to the next model at once.",
  ),
  retry_budget_share: share(0.1).describe("Retries allowed, as a share of recent requests."),
  retry_budget_per_second: num(3, 0).describe("Retries always allowed per second, whatever the traffic."),
  billing_stops_on_cancel: flag(false).describe(
    "True if the aggregator stops billing as soon as a stream is cancelled; a cancelled stream is then charged for what had been received. An answer that is not streamed is charged its hold.",
  ),
  failed_calls_billed: choice(["auto", "always", "never"], "auto").describe(
    "Whether the aggregator bills a call that it answers with an error status and an error object, without usage or output. If so (or if nobody knows: `always`), its hold stays until the cost is known; else it is released at once. `auto`: `never` at OpenRouter, `always` elsewhere.",
  ),
  price_limit: choice(["auto", "on", "off"], "auto").describe(
    "Send the model's prices as a price limit per token (`provider.max_price`), so that no more expensive host serves the call. `auto`: at OpenRouter only. It is never sent for a model whose price is not confirmed.",
  ),
  fields: Fields,
  price_book: choice(["auto", "on", "off"], "auto").describe(
    "Read prices from the aggregator's list (`GET /models`, without the key) at start and daily. `auto`: at OpenRouter only. Prices in the operator's own registry file take precedence.",
  ),
  price_book_wait_ms: ms(2_000, 60_000).describe(
    "How long the start waits for that list; a list that arrives later takes effect when it arrives.",
  ),
  generation_lookup: choice(["auto", "on", "off"], "auto").describe(
    "Ask the aggregator what it has billed for a call whose outcome is unknown (`GET /generation?id=`), and settle with that amount. `auto`: at OpenRouter only.",
  ),
  key_usage: choice(["auto", "on", "off"], "auto").describe(
    "About once an hour, ask the aggregator what it has counted for the key today (`GET /key`), and compare that with the ledger (log, metrics, `budgets reconcile`). `auto`: at OpenRouter only.",
  ),
  queue_ms: ms(5_000).describe(
    "How long a request waits for a model that has as many calls as its max_in_flight allows, before the next model is tried.",
  ),
  slow_first_event: section({
    p95_multiple: num(4, 0, 1_000).describe(
      "Times the 95th percentile of the model's own latest first events. 0: never.",
    ),
    least_ms: ms(8_000).describe("At least this long, however fast the model has been."),
    unknown_ms: ms(12_000).describe("This long while fewer than 20 first events of the model are known."),
    reasoning_factor: num(5, 1, 1_000).describe(
      "How many times longer the two waits above are for models marked `reasoning`.",
    ),
    per_1000_tokens_ms: ms(50).describe("Longer by this for each 1,000 tokens of the prompt."),
  }).describe(
    "When a stream stops waiting for its first event and moves to the next model, if there is one. Not for models with a first_event timeout of their own.",
  ),
  timeouts_ms: section({
    connect: ms(5_000).describe("Time until the connection is established."),
    headers: ms(30_000).describe("Time until the response headers have arrived."),
    first_event: ms(60_000).describe("Time until the first event with content; comments do not count."),
    first_event_reasoning: ms(180_000).describe("The same for models marked `reasoning`."),
    idle: ms(30_000).describe("Longest time without any byte; comments count as bytes."),
    idle_data: ms(120_000).describe("Longest time without a data event; comments do not count."),
    total: ms(600_000).describe("Time for the whole call."),
  }).describe("Timeouts of one call; a model's own timeouts_ms take precedence."),
}).describe("How the aggregator is called.");
