import { z } from "zod";
import { endpoint, Refusal } from "#dashboard/endpoint.ts";
import { type DashboardSources, tierOf } from "#dashboard/sources.ts";
import { goalIdOf } from "#domain/goal.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import type { Spend } from "#ledger/ledger.ts";
import { contributionsOf, dryRun, expectedCost } from "#pipeline/dry-run.ts";
import { explainDryRun } from "#records/explain/explain.ts";

/** Values that a body of the playground may have; chat's own limit is a setting. */
const maxValues = 100_000;

const RouteBody = z.strictObject({
  text: z.string().max(1_048_576).describe("The ask, in words."),
  alias: z.string().optional(),
  sensitive: z.boolean().optional(),
  goal: z.string().max(512).optional().describe("With it, the goal's real spending and cap count."),
});

/** Where a chat request would go and why, with this gateway's health, and the spend of the day and the goal. */
export function playgroundEndpoints(sources: DashboardSources) {
  return {
    "POST route": endpoint({
      about: "Where a chat request would be routed and why; nothing is sent or written.",
      body: RouteBody,
      async answer({ body }) {
        const { text, goal } = body;
        const request = chatRequest(body, sources.clock.now());
        const spend = await sources.ledger.read(goalIdOf(goal === undefined ? {} : { goalId: goal }));
        const { decision, task, runtime, size, snapshot, redactions } = decided(sources, request, spend);
        const { policy, privacy, registry } = sources.config();
        const tier = decision.model === null ? null : tierOf(sources, decision.model);
        const explanation = explainDryRun(decision, tier, { task, runtime, snapshot }, redactions);
        return {
          decision,
          action: decision.action,
          cause: decision.cause,
          tier,
          sentence: explanation.sentence,
          stages: explanation.stages,
          contributions: contributionsOf(decision).map(([name, value]) => ({ name, value })),
          thresholds: { flash_below: policy.routing.flash_below, pro_from: policy.routing.pro_from },
          findings: privacy.placesIn(text).map(({ rule, start, end }) => ({ rule, start, end })),
          redactions,
          would_change: explanation.would_change,
          cost: expectedCost(decision, size, registry),
        };
      },
    }),
  };
}

/** The request as the chat endpoint would read it. */
function chatRequest({ text, alias, sensitive }: z.output<typeof RouteBody>, receivedAtMs: number) {
  const chat = JSON.stringify({
    model: alias ?? "smart-router",
    messages: [{ role: "user", content: text }],
    ...(sensitive === undefined ? {} : { metadata: { sensitive } }),
  });
  const bytes = Buffer.from(chat);
  const headers = new Headers();
  const parsed = parseChatRequest({ bytes, maxValues, headers, requestId: "playground", receivedAtMs });
  if (parsed.kind === "refused") throw new Refusal(422, `chat answers ${parsed.status}: ${parsed.detail}`);
  return parsed.request;
}

function decided(
  { config, health, clock }: DashboardSources,
  request: ReturnType<typeof chatRequest>,
  spend: Spend | undefined,
) {
  const options = { configuration: config(), health: health.view(), nowMs: clock.now() };
  let run: ReturnType<typeof dryRun>;
  try {
    run = dryRun(request, { ...options, ...(spend === undefined ? {} : { spend }) });
  } catch {
    // What the gate throws may quote the text.
    throw new Refusal(422, "The privacy gate would refuse this request.", "privacy_gate_failed");
  }
  if (run.kind === "refusal") throw new Refusal(422, `chat answers ${run.status}: ${run.detail}`, run.code);
  return run;
}
