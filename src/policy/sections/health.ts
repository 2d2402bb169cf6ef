import { z } from "zod";
import { ms, section, share } from "./section.ts";

export const Health = section({
  window_ms: ms.default(60_000).describe("The window over which shares of failures are counted."),
  degraded_failure_share: share
    .default(0.1)
    .describe("A HEALTHY model becomes DEGRADED at this share of failures in the window."),
  degraded_minimum: z.int().min(1).default(20).describe("Verdicts in the window that degraded_failure_share needs."),
  degraded_in_a_row: z
    .int()
    .min(1)
    .default(3)
    .describe("A HEALTHY model also becomes DEGRADED after this many failures in a row."),
  slow_share: share
    .default(0.5)
    .describe("A HEALTHY model becomes DEGRADED at this share of slow answers in the window."),
  slow_minimum: z.int().min(1).default(10).describe("Answers in the window that slow_share needs."),
  slow_floor_ms: ms
    .default(10_000)
    .describe(
      "An answer is slow when its first token takes longer than this and longer than three times the model's own 95th percentile.",
    ),
  recovered_failure_share: share
    .default(0.05)
    .describe(
      "A DEGRADED model recovers after two windows in a row with a smaller share of failures than this and fewer slow answers than recovered_slow_share.",
    ),
  recovered_slow_share: share.default(0.2).describe("Share of slow answers that both windows must stay below."),
  recovered_minimum: z.int().min(1).default(10).describe("Verdicts that each of the two windows needs."),
  failures_in_a_row: z.int().min(1).default(5).describe("This many failures in a row make a model UNHEALTHY."),
  stale_failures_in_a_row: z
    .int()
    .min(1)
    .default(2)
    .describe("This many failures in a row make a STALE model UNHEALTHY."),
  unhealthy_failure_share: share
    .default(0.5)
    .describe("A model becomes UNHEALTHY at this share of failures in the window."),
  unhealthy_minimum: z.int().min(1).default(20).describe("Verdicts in the window that unhealthy_failure_share needs."),
  open_base_ms: ms.default(15_000).describe("First pause of an UNHEALTHY model; doubles with each trip."),
  open_max_ms: ms.default(300_000).describe("Longest pause of an UNHEALTHY model."),
  probes_to_recover: z
    .int()
    .min(1)
    .default(3)
    .describe("Probes that must succeed in a row before a HALF_OPEN model serves again."),
  stale_after_ms: ms
    .default(900_000)
    .describe(
      "A model without a verdict for this long is STALE: it still serves, but fewer failures take it out of service.",
    ),
  garbage_in_a_row: z.int().min(1).default(3).describe("This many garbage answers in a row put a model in QUARANTINE."),
  garbage_share: share.default(0.2).describe("This share of garbage answers in the window puts a model in QUARANTINE."),
  garbage_minimum: z.int().min(1).default(10).describe("Verdicts in the window that garbage_share needs."),
  price_breaches_to_quarantine: z
    .int()
    .min(1)
    .default(3)
    .describe(
      "This many answers that cost more than their hold, within price_breach_window_ms, put a model in QUARANTINE.",
    ),
  price_breach_window_ms: ms.default(21_600_000).describe("The time over which answers above their hold are counted."),
  trips_to_quarantine: z
    .int()
    .min(1)
    .default(4)
    .describe("This many trips within trips_window_ms count as flapping and put a model in QUARANTINE."),
  trips_window_ms: ms.default(3_600_000).describe("The time over which trips are counted."),
  quarantine_base_ms: ms.default(1_800_000).describe("First stay in QUARANTINE; doubles with each further one."),
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
    .describe("When no model is in service, one request in this time tries the most senior model."),
  aggregator_failures_in_a_row: z
    .int()
    .min(1)
    .default(5)
    .describe("This many failures in a row to reach the aggregator, over at least two models, pause all calls."),
  aggregator_open_base_ms: ms.default(2_000).describe("First pause of all calls; doubles each time."),
  aggregator_open_max_ms: ms.default(30_000).describe("Longest pause of all calls."),
  senior_fallback_chain: z
    .array(z.string())
    .min(1)
    .default(["vendor_v4_pro", "vendor_v4_flash", "vendor_emergency"])
    .describe(
      "Model keys, in the order in which they are tried as fallbacks for a model that cannot serve. Free models are never fallbacks.",
    ),
}).describe("When a model is trusted, and which models are its fallbacks.");
