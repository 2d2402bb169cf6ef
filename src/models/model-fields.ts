import type { Model } from "#domain/model.ts";

/** A model by the keys of the registry file, without its key and its prices. */
export function modelFields(model: Omit<Model, "key" | "price">) {
  return {
    role: model.role,
    upstream_id: model.upstreamId,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    default_output_tokens: model.defaultOutputTokens,
    free: model.free,
    enabled: model.enabled,
    reasoning: model.reasoning,
    max_in_flight: model.maxInFlight ?? null,
    tool_turn_reasoning: model.toolTurnReasoning ?? "as_received",
    timeouts_ms: model.timeoutsMs,
  };
}
