import type { Json } from "#domain/chat.ts";
import { type AggregatorQuery, getJson } from "./get-json.ts";

/** No key is sent: the list is public. */
export interface ModelListOptions extends Pick<AggregatorQuery, "baseUrl" | "clock" | "timers" | "signal"> {
  /** The whole exchange may take so long. Default 15 s. */
  readonly timeoutMs?: number;
  /** A larger list is not read. Default 32 MiB. */
  readonly maxBytes?: number;
}

export type ModelListReply =
  | { readonly kind: "ok"; readonly list: Json }
  /** `detail` is the gateway's own text: nothing that the server sent is in it. */
  | { readonly kind: "failed"; readonly detail: string };

/** The aggregator's public list of models (`GET /models`), as JSON that is not validated. Never rejects. */
export async function readModelList(options: ModelListOptions): Promise<ModelListReply> {
  const reply = await getJson({ timeoutMs: 15_000, maxBytes: 32 * 1_048_576, ...options }, "/models");
  if (reply.kind === "status") return { kind: "failed", detail: `it answered ${reply.status}` };
  return reply.kind === "ok" ? { kind: "ok", list: reply.value } : reply;
}
