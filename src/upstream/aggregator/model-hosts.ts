import type { Json } from "#domain/chat.ts";
import { type AggregatorQuery, getJson } from "./get-json.ts";

export type ModelHostsOptions = Pick<AggregatorQuery, "baseUrl" | "apiKey" | "clock" | "timers" | "signal">;

export type ModelHostsReply =
  | { readonly kind: "ok"; readonly answer: Json }
  /** The aggregator has no such model. */
  | { readonly kind: "not_found" }
  | { readonly kind: "failed"; readonly detail: string };

/**
 * The hosts of one model (`GET /models/{author}/{slug}/endpoints`) with their prices and limits, as JSON that is not
 * validated. Never rejects.
 */
export async function readModelHosts(options: ModelHostsOptions, modelId: string): Promise<ModelHostsReply> {
  // A colon (`:free`) stands as it is in the aggregator's own links.
  const path = modelId.split("/").map((part) => encodeURIComponent(part).replaceAll("%3A", ":"));
  const reply = await getJson(
    { timeoutMs: 15_000, maxBytes: 4 * 1_048_576, ...options },
    `/models/${path.join("/")}/endpoints`,
  );
  if (reply.kind === "ok") return { kind: "ok", answer: reply.value };
  if (reply.kind === "failed") return reply;
  return reply.status === 404 ? { kind: "not_found" } : { kind: "failed", detail: `it answered ${reply.status}` };
}
