import { z } from "zod";
import { endpoint } from "#dashboard/endpoint.ts";
import { goalIdOf } from "#domain/goal.ts";
import { dryRunOfChat, routedRecord } from "#operator/dry-run.ts";
import { type OperatorSources, tierOf } from "#operator/sources.ts";
import { explainDryRun } from "#records/explain/explain.ts";

const RouteBody = z.strictObject({
  text: z.string().max(1_048_576).describe("The ask, in words."),
  alias: z.string().default("smart-router"),
  sensitive: z.boolean().optional(),
  goal: z.string().max(512).optional().describe("With it, the goal's real spending and cap count."),
});

/** Where a chat request would go and why, with this gateway's health, and the spend of the day and the goal. */
export function playgroundEndpoints(sources: OperatorSources) {
  return {
    "POST route": endpoint({
      about: "Where a chat request would be routed and why; nothing is sent or written.",
      body: RouteBody,
      async answer({ body: { text, alias, sensitive, goal } }) {
        const spend = await sources.ledger.read(goalIdOf(goal === undefined ? {} : { goalId: goal }));
        const chat = {
          model: alias,
          messages: [{ role: "user", content: text }],
          ...(sensitive === undefined ? {} : { metadata: { sensitive } }),
        };
        const configuration = sources.config();
        const options = { configuration, health: sources.health.view(), nowMs: sources.clock.now() };
        const run = dryRunOfChat(chat, { ...options, ...(spend === undefined ? {} : { spend }) });
        const { policy, privacy, registry } = configuration;
        const { contributions, cost } = routedRecord(run, registry);
        const tier = run.decision.model === null ? null : tierOf(sources, run.decision.model);
        const { sentence, stages, would_change } = explainDryRun(run.decision, tier, run, run.redactions);
        return {
          ...{ decision: run.decision, action: run.decision.action, cause: run.decision.cause, tier },
          ...{ sentence, stages, would_change, cost, redactions: run.redactions },
          contributions: Object.entries(contributions).map(([name, value]) => ({ name, value })),
          thresholds: { flash_below: policy.routing.flash_below, pro_from: policy.routing.pro_from },
          findings: privacy.placesIn(text).map(({ rule, start, end }) => ({ rule, start, end })),
        };
      },
    }),
  };
}
