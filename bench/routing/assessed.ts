import { Policy } from "#config/policy.ts";
import type { ChatMessage, ChatRequest, JsonObject } from "#domain/chat.ts";
import { type Assessment, assess } from "#pipeline/assess/assess.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { scoreOf } from "#pipeline/decide/rules/score.ts";

/** The shipped policy. */
export const benchPolicy = Policy.parse({});

/** A chat request with that body, as the HTTP layer passes it to the pipeline. */
export function requestWith(body: JsonObject & { messages: ChatMessage[] }, bodyBytes = 1_000): ChatRequest {
  return {
    requestId: "bench",
    alias: "smart-router",
    stream: false,
    caller: 0,
    body,
    bodyBytes,
    requestedOutputTokens: null,
    choices: 1,
    wantsUsage: false,
    routing: { forcePro: false, scoutFirst: false, taskFields: {} },
    receivedAtMs: 0,
  };
}

/** The assessment of a body, with an empty task memory. */
export function assessedBody(body: JsonObject & { messages: ChatMessage[] }, bodyBytes?: number): Assessment {
  const memory = inMemoryTaskMemory(() => benchPolicy.tasks);
  return assess(requestWith(body, bodyBytes), body, memory, { now: 0, policy: benchPolicy, redactions: 0 });
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
