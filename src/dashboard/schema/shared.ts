import { z } from "zod";
import { healthStates } from "#health/health.ts";
import { DecisionRecord } from "#records/decision-record.ts";

/** What several answers of the dashboard's API are made of. Times are milliseconds since the epoch, money is whole nano-USD. */

/** What a model is for, as callers name it. */
export const Tier = DecisionRecord.shape.tier.unwrap();
export const AtMs = z.number().describe("Milliseconds since the Unix epoch.");
export const NanoUsd = z.number().describe("Whole nano-US-dollars: 1 USD is 1,000,000,000.");
export const Count = z.int().min(0);
export const Ms = z.number().min(0).describe("Milliseconds.");
export const Text = z.string();
export const HealthState = z.enum(healthStates);

/** Several fields of one type. */
export function fields<T extends z.ZodType, Name extends string>(type: T, ...names: readonly Name[]): Record<Name, T> {
  // Each name has the type.
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, T>;
}

/** What an endpoint takes and answers; `events` are server-sent. */
export interface EndpointSchema {
  readonly about: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly answer?: z.ZodType;
  readonly events?: z.ZodType;
}
export type EndpointSchemas = Readonly<Record<string, EndpointSchema>>;

/** Ranges that the pages offer. All begin at a full UTC hour (`today`: at UTC midnight), so that roll-ups hold them whole. */
export const rangeKeys = ["1h", "6h", "24h", "today", "7d", "30d"] as const;
const RangeKey = z.enum(rangeKeys);

/** The time that an answer is about: `from_ms` is in it, `to_ms` is not. A list with the same two has the same requests. */
export const Range = z.object({ key: RangeKey.nullable(), ...fields(AtMs, "from_ms", "to_ms") });
export type Range = z.infer<typeof Range>;

/** The time of an answer as callers write it: a named range, or both ends. */
export const RangeQuery = z.object({
  range: RangeKey.optional(),
  ...fields(z.coerce.number().int().min(0).optional(), "from_ms", "to_ms"),
});

/** How a filter names records whose field is empty: refused before there was a decision, and so without a cause. */
export const noValue = "none";

/**
 * Where a list of decisions is limited: the query parameters of `GET decisions`, and of every link to it. All that are given
 * must hold; a comma separates alternatives of one.
 */
export const DecisionFilter = RangeQuery.extend({
  ...fields(Text.optional(), "goal", "session", "cause", "rule", "kind", "alias", "tier", "outcome", "refused_by"),
  ...fields(Text.optional(), "error_class", "cost_state", "action", "request_id"),
  model: Text.optional().describe("Key of the model that was chosen or that served."),
  status: Text.optional().describe("A status, or a class of them: `502`, `5xx`."),
});
export type DecisionFilter = z.infer<typeof DecisionFilter>;

/** A number with the list of decisions that makes it: `GET decisions` with this filter has so many rows of this cost. */
export const Counted = z.object({
  requests: Count,
  cost_nano_usd: NanoUsd.describe("Known cost of these requests."),
  filter: DecisionFilter,
});
export type Counted = z.infer<typeof Counted>;

/** One cap of a goal or a day, and what of it is used. */
export const CapUse = z.object({
  account: Text.describe("`day/2026-01-31` or `goal/session/name`."),
  kind: z.enum(["day", "goal"]),
  name: Text.describe("The day, or the goal as callers name it."),
  ...fields(NanoUsd, "spent_nano_usd", "held_nano_usd", "overrun_nano_usd"),
  ...fields(NanoUsd.nullable(), "soft_nano_usd", "left_nano_usd"),
  hard_nano_usd: NanoUsd.nullable().describe("The hard cap in force; null before the first request of the account."),
  cap_from: z.enum(["policy", "operator"]),
  used_share: Ms.nullable().describe("Spent and held as a share of the hard cap; above 1 after an overrun."),
});
export type CapUse = z.infer<typeof CapUse>;

/** How fast money goes, and where that leads. */
export const Pace = z.object({
  window_ms: Ms.describe("The time over which the pace was measured."),
  nano_usd_per_hour: NanoUsd,
  runs_out_at_ms: AtMs.nullable().describe("When the hard cap is reached at this pace; null: not before the day ends."),
  day_ends_at_ms: AtMs,
  forecast_nano_usd: NanoUsd.describe("Spending at the end of the UTC day at this pace."),
});
export type Pace = z.infer<typeof Pace>;

/** A problem with a file or a field, as `policy check` prints it. */
export const FileProblem = z.object({
  ...fields(Text, "file", "path", "message"),
  line: z.int().optional(),
  suggestion: Text.optional(),
});
