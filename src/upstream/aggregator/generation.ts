import { isObject, type Json } from "#domain/chat.ts";
import { usageReport } from "#upstream/usage.ts";
import { type AggregatorQuery, getJson } from "./get-json.ts";

/** Asked at `{baseUrl}/generation?id=ID`. */
export interface GenerationLookupOptions extends Pick<AggregatorQuery, "baseUrl" | "apiKey" | "clock" | "timers"> {
  /** The whole exchange may take so long. Default 10 s. */
  readonly timeoutMs?: number;
}

export type GenerationReply =
  /** The whole cost of the call, in nano-USD. */
  | { readonly kind: "billed"; readonly costNanoUsd: number }
  /** Not known yet: the record appears some seconds after the call. */
  | { readonly kind: "not_found" }
  /** `detail` is the gateway's own text. */
  | { readonly kind: "failed"; readonly detail: string };

/** Asks the aggregator what it has billed for one call. Proxies as for calls, no redirects. Never rejects. */
export async function readGeneration(options: GenerationLookupOptions, id: string): Promise<GenerationReply> {
  // A record is some kilobytes.
  const query = { timeoutMs: 10_000, maxBytes: 65_536, ...options };
  const reply = await getJson(query, `/generation?id=${encodeURIComponent(id)}`);
  if (reply.kind === "failed") return reply;
  if (reply.kind === "ok") return billedIn(reply.value);
  return reply.status === 404 ? { kind: "not_found" } : failed(`it answered ${reply.status}`);
}

/** `data.total_cost`, and with a key of the operator's own at the host also what the host charges, as in a usage report. */
function billedIn(record: Json): GenerationReply {
  const data = isObject(record) ? record["data"] : undefined;
  if (!isObject(data)) return failed("its answer has no data");
  const { costNanoUsd } = usageReport({
    cost: data["total_cost"] ?? null,
    is_byok: data["is_byok"] ?? false,
    cost_details: { upstream_inference_cost: data["upstream_inference_cost"] ?? null },
  });
  // A record without its cost is not finished.
  return costNanoUsd === undefined ? { kind: "not_found" } : { kind: "billed", costNanoUsd };
}

function failed(detail: string): GenerationReply {
  return { kind: "failed", detail };
}
