import { capsOf, Policy } from "#config/policy.ts";
import type { ChatMessage, ChatRequest, JsonObject } from "#domain/chat.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { type Assessment, assess } from "#pipeline/assess/assess.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { scoreOf } from "#pipeline/decide/rules/score.ts";
import type { Affinity } from "#pipeline/decide/snapshot.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";
import { inMemoryTaskMemory } from "#pipeline/task/task-memory.ts";

type Body = JsonObject & { messages: ChatMessage[] };
export type Tier = "flash" | "pro";

/** The shipped policy. */
export const benchPolicy = Policy.parse({});
const loaded = loadRegistry(undefined);
if (loaded.kind !== "ok") throw new Error("the shipped registry is invalid");
const { registry } = loaded;
const configuration = { policy: benchPolicy, registry, caps: capsOf(benchPolicy) };

/** The assessment of a body, with an empty task memory. */
export function assessedBody(body: Body, bodyBytes = 1_000): Assessment {
  const limit = body["max_tokens"];
  const request: ChatRequest = {
    requestId: "bench",
    alias: "smart-router",
    stream: false,
    caller: 0,
    body,
    bodyBytes,
    requestedOutputTokens: typeof limit === "number" ? limit : null,
    choices: 1,
    wantsUsage: false,
    routing: { forcePro: false, scoutFirst: false, taskFields: {} },
    receivedAtMs: 0,
  };
  const memory = inMemoryTaskMemory();
  return assess(request, body, memory, { now: 0, policy: benchPolicy, redactions: 0 });
}

/** The assessment of a prompt as the only message, with these tools offered. */
export function assessedPrompt({ prompt, tools }: { prompt: string; tools?: readonly string[] }): Assessment {
  return assessedBody({
    messages: [{ role: "user", content: prompt }],
    ...(tools && { tools: tools.map((name) => ({ type: "function", function: { name } })) }),
  });
}

/** The score of a chat request. */
export function scoreOfAssessed({ task, runtime, scale }: Assessment): number {
  return scoreOf(task, runtime, benchPolicy, [], scale);
}

/** The decision on a chat request, and the tier that it goes to. */
export function routed(
  { task, runtime, size, scale, prose }: Assessment,
  affinity?: Affinity,
): { readonly decision: RoutingDecision; readonly tier: Tier } {
  const snapshot = { ...takeSnapshot(configuration as never, {}, size), scale, prose }; // the fields that a snapshot reads
  const decision = decide(task, runtime, affinity === undefined ? snapshot : { ...snapshot, affinity });
  return { decision, tier: registry.models.get(decision.model ?? "")?.role === "worker" ? "flash" : "pro" };
}
