import { type ApiCall, type ApiHandlers, ApiProblem } from "#dashboard/api/endpoint.ts";
import type { EndpointSources } from "#dashboard/api/endpoint-sources.ts";
import { isObject } from "#domain/chat.ts";
import { goalIdOf } from "#domain/goal.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import type { Spend } from "#ledger/ledger.ts";
import { contributionsOf, conversationDryRun, evidenceOf, expectedCostOf } from "#pipeline/dry-run.ts";
import { CredentialNotReplaceable, findingsIn } from "#privacy/redaction.ts";
import { explainDryRun } from "#records/explain/explain.ts";

/** Values that a body of the playground may have; chat's own limit is a setting. */
const maxValues = 100_000;

/** Where a chat request would go and why, with this gateway's health, and the spend of the day and the goal. */
export function playgroundEndpoints(sources: EndpointSources): ApiHandlers<"POST route"> {
  return {
    "POST route": async ({ body }) => {
      const { text, goal, session } = body;
      const request = chatRequest(body, sources.clock.now());
      const spend = await sources.ledger.read(
        goalIdOf({
          ...(goal === undefined ? {} : { goalId: goal }),
          ...(session === undefined ? {} : { sessionId: session }),
        }),
      );
      const { decision, task, runtime, size, snapshot, redacted, redactions } = dryRun(sources, request, spend);
      const { policy, privacy, registry } = sources.config();
      const tier = decision.model === null ? null : sources.tierOf(decision.model);
      const explanation = explainDryRun(decision, tier, { task, runtime, snapshot }, redactions);
      const { instruction: _, ...shown } = task;
      const cost = expectedCostOf(decision, size, registry);
      return {
        decision,
        action: decision.action,
        cause: decision.cause,
        tier,
        sentence: explanation.sentence,
        stages: explanation.stages,
        contributions: contributionsOf(decision).map(([name, value]) => ({ name, value })),
        thresholds: { flash_below: policy.routing.flash_below, pro_from: policy.routing.pro_from },
        hard_rules: evidenceOf(decision, "hard_rule"),
        task: shown,
        runtime,
        findings:
          text === undefined ? [] : privacy.placesIn(text).map(({ rule, start, end }) => ({ rule, start, end })),
        findings_elsewhere: text === undefined ? countByRule(findingsIn(redacted)) : [],
        redactions,
        would_change: explanation.would_change,
        cost:
          cost === undefined
            ? null
            : {
                model: cost.model,
                estimate_nano_usd: cost.estimate,
                hold_nano_usd: cost.hold,
                other_model: cost.otherModel,
                other_estimate_nano_usd: cost.otherEstimate,
              },
        caps: {
          goal_hard_nano_usd: snapshot.caps.goalHard,
          day_hard_nano_usd: snapshot.caps.dayHard,
          goal_spent_nano_usd: snapshot.spend.goal.spent,
          day_spent_nano_usd: snapshot.spend.day.spent,
        },
      };
    },
  };
}

/** The request as the chat endpoint would read it. */
function chatRequest({ text, body, alias, sensitive }: ApiCall<"POST route">["body"], receivedAtMs: number) {
  if ((text === undefined) === (body === undefined)) throw new ApiProblem(422, "Say either `text` or `body`.");
  const metadata = isObject(body?.["metadata"]) ? body["metadata"] : {};
  const chat = JSON.stringify({
    model: "smart-router",
    ...(body ?? { messages: [{ role: "user", content: text }] }),
    ...(alias === undefined ? {} : { model: alias }),
    ...(sensitive === undefined ? {} : { metadata: { ...metadata, sensitive } }),
  });
  const bytes = Buffer.from(chat);
  const headers = new Headers();
  const parsed = parseChatRequest({ bytes, maxValues, headers, requestId: "playground", receivedAtMs });
  if (parsed.kind === "refused") throw new ApiProblem(422, `chat answers ${parsed.status}: ${parsed.detail}`);
  return parsed.request;
}

function dryRun(
  { config, health, clock }: EndpointSources,
  request: ReturnType<typeof chatRequest>,
  spend: Spend | undefined,
) {
  const options = { configuration: config(), health: health.view(), nowMs: clock.now() };
  let run: ReturnType<ReturnType<typeof conversationDryRun>>;
  try {
    run = conversationDryRun({ ...options, ...(spend === undefined ? {} : { spend }) })(request);
  } catch (error) {
    // What the gate throws may quote the text, but for this one.
    if (!(error instanceof CredentialNotReplaceable)) {
      throw new ApiProblem(422, "The privacy gate would refuse this request.", "privacy_gate_failed");
    }
    const detail = `The privacy gate would refuse this request at ${error.path} (${error.rule}).`;
    throw new ApiProblem(422, detail, "credential_not_replaceable");
  }
  if (run.kind === "refusal") throw new ApiProblem(422, `chat answers ${run.status}: ${run.detail}`, run.code);
  return run;
}

function countByRule(findings: readonly { readonly rule: string; readonly count: number }[]) {
  const counts = new Map<string, number>();
  for (const { rule, count } of findings) counts.set(rule, (counts.get(rule) ?? 0) + count);
  return [...counts].map(([rule, count]) => ({ rule, count }));
}
