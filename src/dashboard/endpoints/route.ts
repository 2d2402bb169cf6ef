import { type ApiCall, type ApiHandler, ApiProblem } from "#dashboard/api/handlers.ts";
import { modelTier } from "#dashboard/api/model-tier.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import { isObject } from "#domain/chat.ts";
import { goalIdOf } from "#domain/goal.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import type { Spend } from "#ledger/ledger.ts";
import { contributionsOf, conversationDryRun, type DryRun, evidenceOf, expectedCostOf } from "#pipeline/dry-run.ts";
import type { Refusal } from "#pipeline/respond/reply.ts";
import { CredentialNotReplaceable, findingsIn } from "#privacy/redaction.ts";
import { explainDryRun } from "#records/explain/explain.ts";

/** Values that a body of the playground may have; chat's own limit is a setting. */
const maxValues = 100_000;

/** `POST route`: where a chat request would go and why, with this gateway's health, and the spend of the day and the goal. */
export function routeHandler(sources: DashboardSources): ApiHandler<"POST route"> {
  return async ({ body }) => {
    const request = chatRequestOf(body, sources.clock.now());
    const spend = await sources.ledger.read(
      goalIdOf({ ...(body.goal === undefined ? {} : { goalId: body.goal }), ...sessionOf(body) }),
    );
    const run = dryRunOf(request, spend, sources);
    const { decision, task, runtime, size, snapshot, redacted, redactions } = run;
    const { policy, privacy, registry } = sources.config();
    const tier = decision.model === null ? null : modelTier(sources, decision.model);
    const explanation = explainDryRun(decision, tier, { task, runtime, snapshot }, redactions);
    const { instruction: _, ...shown } = task;
    const cost = expectedCostOf(decision, size, registry);
    const places = body.text === undefined ? [] : privacy.placesIn(body.text);
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
      findings: places.map(({ rule, start, end }) => ({ rule, start, end })),
      findings_elsewhere: body.text === undefined ? countsOf(findingsIn(redacted)) : [],
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
  };
}

type RouteBody = ApiCall<"POST route">["body"];

function sessionOf({ session }: RouteBody) {
  return session === undefined ? {} : { sessionId: session };
}

/** The request as the chat endpoint would read it. */
function chatRequestOf({ text, body, alias, sensitive }: RouteBody, nowMs: number) {
  if ((text === undefined) === (body === undefined)) {
    throw new ApiProblem(422, "Say either `text` or `body`.", "invalid_request");
  }
  const chat = {
    model: alias ?? "smart-router",
    ...(body ?? { messages: [{ role: "user", content: text }] }),
    ...(alias === undefined ? {} : { model: alias }),
    ...(sensitive === undefined ? {} : { metadata: { ...metadataOf(body), sensitive } }),
  };
  const json = JSON.stringify(chat);
  const headers = new Headers();
  const bytes = Buffer.byteLength(json);
  const parsed = parseChatRequest({
    text: json,
    bytes,
    maxValues,
    headers,
    requestId: "playground",
    receivedAtMs: nowMs,
  });
  if (parsed.kind === "refused")
    throw new ApiProblem(422, `chat answers ${parsed.status}: ${parsed.detail}`, "invalid_request");
  return parsed.request;
}

function metadataOf(body: RouteBody["body"]) {
  return isObject(body?.["metadata"]) ? body["metadata"] : {};
}

function dryRunOf(
  request: ReturnType<typeof chatRequestOf>,
  spend: Spend | undefined,
  { config, health, clock }: DashboardSources,
): DryRun {
  const options = { configuration: config(), health: health.view(), nowMs: clock.now() };
  let run: DryRun | Refusal;
  try {
    run = conversationDryRun({ ...options, ...(spend === undefined ? {} : { spend }) })(request);
  } catch (error) {
    // What the gate throws may quote the text, but for this one.
    const where = error instanceof CredentialNotReplaceable ? ` at ${error.path} (${error.rule})` : "";
    const code = where === "" ? "privacy_gate_failed" : "credential_not_replaceable";
    throw new ApiProblem(422, `The privacy gate would refuse this request${where}.`, code);
  }
  if (run.kind === "refusal") throw new ApiProblem(422, `chat answers ${run.status}: ${run.detail}`, run.code);
  return run;
}

function countsOf(findings: readonly { readonly rule: string; readonly count: number }[]) {
  const counts = new Map<string, number>();
  for (const { rule, count } of findings) counts.set(rule, (counts.get(rule) ?? 0) + count);
  return [...counts].map(([rule, count]) => ({ rule, count }));
}
